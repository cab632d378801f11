"""What a view says of itself on the first page stays short, whatever happens."""

import msgspec

from windlass.web.brief import LONGEST, MOST, Need, brief


def test_the_worst_is_named_first_and_the_rest_is_counted() -> None:
    needs = [Need(f"slow {number}", "warn") for number in range(9)] + [Need("broken", "bad")]
    told = brief("10 things", needs)
    assert [need.text for need in told["needs"]] == ["broken", *(f"slow {number}" for number in range(MOST - 1))]
    assert (told["tone"], told["more"]) == ("bad", 10 - MOST)


def test_without_needs_the_tone_is_that_of_the_view() -> None:
    assert brief("nothing here", tone="calm") == {"line": "nothing here", "tone": "calm", "needs": [], "more": 0}


def test_one_line_of_a_megabyte_is_shown_and_that_is_cut() -> None:
    told = brief("x" * 2**20, [Need(f"\n first  line {'y ' * 2**19}\nsecond line", "bad") for _ in range(100)])
    assert len(msgspec.json.encode(told)) < (MOST + 1) * (LONGEST + 80)
    assert told["needs"][0].text.startswith("first line y")
    assert "second line" not in told["needs"][0].text
