"""What a program printed against what a page says it prints; and how sessions of pages are read and typed."""

from pathlib import Path

import pytest

from tests.answers import Answers
from tests.pages import Turn, session
from tests.shell import Shell

ONE, OTHER = "b789a6c43fa3", "e52f9aa65ae2"
HERE, THERE = "0" * 7 + "1" + "2" * 4, "0" * 7 + "3" + "4" * 4


@pytest.mark.parametrize(
    ("page", "said"),
    [
        pytest.param(["built"], ["built"], id="the-same"),
        pytest.param(["built", ""], ["built  ", "", ""], id="empty-lines-at-the-end"),
        pytest.param(["POOL   IMAGE", "worker -"], ["POOL IMAGE", "worker      -"], id="a-table-with-other-widths"),
        pytest.param(["failed for 4s"], ["failed for 12m"], id="an-age"),
        pytest.param(["failed for 4s"], ["failed for 3m14s"], id="an-age-of-two-numbers"),
        pytest.param(["… (265 more characters)"], ["… (7 more characters)"], id="a-number-of-characters"),
        pytest.param(["a", "...", "z"], ["a", "b", "c", "z"], id="any-lines"),
        pytest.param(["a", "...", "z"], ["a", "z"], id="no-lines"),
        pytest.param(["a", "..."], ["a", "b"], id="any-end"),
        pytest.param(["...", "z"], ["a", "z"], id="any-beginning"),
        pytest.param(["a", "...", "m", "n", "...", "z"], ["a", "m", "m", "n", "z"], id="the-second-like-it"),
        pytest.param(["os@sha256:..., of a"], ["os@sha256:12, of a"], id="any-text-in-a-line"),
        pytest.param([f"image {ONE}", f"again {ONE}"], [f"image {HERE}", f"again {HERE}"], id="the-same-digest-twice"),
        pytest.param([f"{ONE} {ONE}{'0' * 52}"], [f"{HERE} {HERE}{'f' * 52}"], id="a-digest-and-its-beginning"),
        pytest.param([ONE, OTHER], [HERE, THERE], id="two-digests"),
    ],
)
def test_an_answer_like_that_of_the_page_fits(page: list[str], said: list[str]) -> None:
    assert Answers().differ(page, said) == ""


@pytest.mark.parametrize(
    ("page", "said"),
    [
        pytest.param(["built"], ["failed"], id="another-word"),
        pytest.param(["built"], ["built", "more"], id="a-line-more"),
        pytest.param(["built", "more"], ["built"], id="a-line-less"),
        pytest.param(["a.b"], ["axb"], id="a-dot-is-a-dot"),
        pytest.param(["a", "...", "z"], ["a", "z", "b"], id="another-end"),
        pytest.param(["...", "m", "..."], ["a", "z"], id="a-line-that-is-missing"),
        pytest.param(["failed for 4s"], ["failed for ever"], id="no-age"),
        pytest.param([f"image {ONE}", f"again {ONE}"], [f"image {HERE}", f"again {THERE}"], id="two-for-one-digest"),
        pytest.param([ONE, OTHER], [HERE, HERE], id="one-for-two-digests"),
        pytest.param([ONE], [HERE[:-1]], id="a-digest-of-another-length"),
        pytest.param([ONE], ["-"], id="no-digest"),
    ],
)
def test_another_answer_does_not_fit(page: list[str], said: list[str]) -> None:
    assert Answers().differ(page, said)


def test_a_digest_is_known_by_later_answers_and_not_by_one_that_did_not_fit() -> None:
    answers = Answers()
    assert answers.differ([f"image {ONE}", "built"], [f"image {THERE}", "pending"])
    assert answers.differ([f"image {ONE}", "built"], [f"image {HERE}", "built"]) == ""
    assert answers.differ([ONE], [THERE])


PAGE = """# Page

## Before

    $ never

## Session

It says:

    $ cat greeting.txt
    Hello
      you
    $ tr a-z A-Z \\
        < greeting.txt

Later:

    $ sed s/you/me/ greeting.txt                 # a comment
    Hello
      me

No prompt:

    never

### After

    $ never
"""


def test_a_session_is_all_that_is_typed_below_its_heading(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(PAGE)
    assert session(tmp_path / "page.md", "## Session") == [
        Turn("cat greeting.txt", ("Hello", "  you")),
        Turn("tr a-z A-Z \\\n    < greeting.txt"),
        Turn("sed s/you/me/ greeting.txt                 # a comment", ("Hello", "  me")),
    ]


def test_a_shell_types_a_session_and_writes_the_files_that_it_shows(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(PAGE)
    turns = session(tmp_path / "page.md", "## Session")
    with Shell(tmp_path, replaced={"Hello": "Hallo"}) as shell:
        shell.types([*turns, Turn("word=x; cd /"), Turn("echo $word $PWD", ("x /",))])
    assert (tmp_path / "greeting.txt").read_text() == "Hallo\n  you\n"


@pytest.mark.parametrize(
    "turn",
    [
        pytest.param(Turn("false"), id="a-command-that-fails"),
        pytest.param(Turn("false | true"), id="a-part-of-a-pipe-that-fails"),
        pytest.param(Turn("echo error: no", ("error: no",)), id="a-command-that-should-fail"),
        pytest.param(Turn("echo one", ("two",)), id="another-answer"),
        pytest.param(Turn("echo one >&2", ("two",)), id="another-answer-on-standard-error"),
        pytest.param(Turn("printf one", ("one", "two")), id="an-answer-without-a-line-break"),
    ],
)
def test_a_shell_fails_at_what_is_not_as_on_the_page(tmp_path: Path, turn: Turn) -> None:
    with Shell(tmp_path) as shell, pytest.raises(AssertionError):
        shell.types([turn])


def test_a_shell_says_which_command_does_not_end_and_ends_it(tmp_path: Path) -> None:
    shell = Shell(tmp_path, patience=0.3)
    with shell, pytest.raises(AssertionError, match=r"sleep 1000\nhas not ended; it printed:\n.*begun"):
        shell.types([Turn("echo begun; sleep 1000")])
    assert not shell.alive()
