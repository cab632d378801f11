"""Texts cut to what the API admits."""

from hypothesis import given
from hypothesis import strategies as st

from windlass.kube.shorten import shortened

LIMIT = 64


def test_what_fits_is_left_as_it_is() -> None:
    assert shortened("x" * LIMIT, LIMIT) == "x" * LIMIT


def test_it_is_cut_at_a_word_and_says_what_is_left_out() -> None:
    text = "failed to convert the first field, the second field and the third field of the spec"
    assert shortened(text, LIMIT) == "failed to convert the first field, the … (45 more characters)"


def test_a_text_without_words_is_cut_anywhere() -> None:
    assert shortened("x" * 100, LIMIT) == "x" * 40 + " … (60 more characters)"


@given(st.text(alphabet="ab ", min_size=0, max_size=300))
def test_it_never_exceeds_the_limit_and_counts_right(text: str) -> None:
    cut = shortened(text, LIMIT)
    assert len(cut) <= LIMIT
    if cut != text:
        kept, _, rest = cut.rpartition(" … (")
        assert text.startswith(kept)
        assert int(rest.split()[0]) == len(text) - len(kept)
