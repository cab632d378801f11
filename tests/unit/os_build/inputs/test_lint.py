"""What is wrong with a Containerfile: the operator's rules, and the lines that they are broken in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.containerfiles import ROWS, Row
from tests.explore import examples
from windlass.os_build.inputs.lint import Finding, lint_stages, lint_user_part

ARGUMENTS = {
    "a base image": ["FROM"],
    "a command": ["RUN"],
    "a command in JSON form": ["SHELL"],
    "a directory path": ["VOLUME", "WORKDIR"],
    "a key=value pair": ["ENV", "LABEL"],
    "a name": ["ARG"],
    "a port": ["EXPOSE"],
    "a signal": ["STOPSIGNAL"],
    "a user": ["USER"],
    "an instruction": ["ONBUILD"],
    "source and destination paths": ["ADD", "COPY"],
}


RIGHT = {
    "empty": "",
    "comments": "# only\n\n  # comments\n",
    "FROM": "FROM base",
    "no FROM continues the last stage": "RUN true\n",
    "any case, leading blanks": "  from base AS x\n\trun true\n",
    "ARG before FROM": "ARG A=1\nFROM $A\n",
    "HEALTHCHECK NONE": "FROM base\nHEALTHCHECK NONE\n",
    "HEALTHCHECK": "FROM base\nHEALTHCHECK --interval=5s CMD true\n",
    "blanks in values": 'FROM base\nENV a=b c="d e" f=g h\nLABEL a=b c\n',
    "continued nothing": "FROM base\n\\",
    "continued": "FROM base\nRUN a && \\\n  # why\n\n  b \\  \n && c\nUSER x",
    "CRLF": "FROM base\r\nRUN a \\\r\n b\r\n",
    "JSON form": 'FROM base\nCOPY ["a b", "/c"]\nCMD []\n',
    "others": 'FROM base\nMAINTAINER me\nONBUILD RUN x\nSHELL ["sh"]\nVOLUME /a',
    "heredoc": "FROM base\nRUN <<EOF\nnot an instruction\nEOF\nRUN b",
    "quoted heredoc": "FROM base\nRUN cat <<-'EOF' > a\nx\n\tEOF\nRUN b",
    "two heredocs": "FROM base\nCOPY <<a <<b /c\n1\na\n2\nb\nRUN b",
    "open heredoc": "FROM base\nRUN cat <<EOF\nnever closed\n",
    "indented heredoc": "FROM base\nRUN cat <<-EOF\nx\n\t\tEOF\nRUN b",
}


@pytest.mark.parametrize(
    "text",
    RIGHT.values(),
    ids=RIGHT,
)
def test_a_right_text_has_no_findings(text: str) -> None:
    assert lint_user_part(text) == ()


WRONG = {
    "no FROM": ("RUN a\n\nBOGUS b\n", [(3, "unknown Dockerfile instruction: BOGUS")]),
    "unknown": ("FROM base\n\n# x\nrunn make\n", [(4, "unknown Dockerfile instruction: RUNN")]),
    "after a continuation": ("FROM base\nRUN a \\\n# x\n b\nBOGUS\n", [(5, "unknown Dockerfile instruction: BOGUS")]),
    "line of the first part": (
        "FROM base\nRUN a \\\n  BOGUS\nCOPY \\\n  a\n",
        [(4, "COPY instruction requires source and destination paths")],
    ),
    "words of a heredoc in quotes": (
        "FROM base\nRUN <<E'O'F <<\\A\nBOGUS\nEOF\nBOGUS\nA\nBOGUS",
        [(7, "unknown Dockerfile instruction: BOGUS")],
    ),
    "directive too late": (
        "# x\n# escape=`\nFROM base\nRUN a `\nBOGUS\n",
        [(5, "unknown Dockerfile instruction: BOGUS")],
    ),
    "after a heredoc": ("FROM base\nRUN <<EOF\nx\nEOF\nBOGUS", [(5, "unknown Dockerfile instruction: BOGUS")]),
    "after an indented one": (
        "FROM base\nRUN <<-EOF\n\tx\n\tEOF\nBOGUS",
        [(5, "unknown Dockerfile instruction: BOGUS")],
    ),
    "a shift and a here-string are no heredocs": (
        "FROM base\nRUN echo $((1 << 2)) <<<x\nBOGUS",
        [(3, "unknown Dockerfile instruction: BOGUS")],
    ),
    "no heredoc in ENV": ("FROM base\nENV a=b <<EOF\nBOGUS", [(3, "unknown Dockerfile instruction: BOGUS")]),
}


@pytest.mark.parametrize(("text", "findings"), WRONG.values(), ids=WRONG)
def test_findings_have_the_line_of_their_instruction(text: str, findings: list[tuple[int, str]]) -> None:
    assert lint_user_part(text) == tuple(Finding(*each) for each in findings)


@pytest.mark.parametrize(
    ("word", "what"), [pytest.param(word, what, id=f"B17 {word}") for what in ARGUMENTS for word in ARGUMENTS[what]]
)
def test_an_instruction_without_arguments_is_said_to_need_them(word: str, what: str) -> None:
    expected = (Finding(2, f"{word} instruction requires {what}"),)
    assert lint_user_part(f"FROM base\n{word.lower()}\nRUN true\n") == expected
    assert lint_user_part(f"FROM base\n{word}  \\\n \n") == expected


def test_another_escape_is_named_where_something_is_wrong() -> None:
    assert lint_user_part("# syntax=docker/dockerfile:1\n# escape=\\\nRUN a\\\nb") == ()
    assert lint_user_part("# syntax=docker/dockerfile:1\n# escape=`\nRUN true") == ()
    directive, wrong = lint_user_part("# syntax=docker/dockerfile:1\n# escape=`\nRUN a `\nb")
    assert (directive.line, wrong.line) == (2, 4)
    assert directive.text.endswith("this text does not begin the Containerfile: use \\")


CONFIGURED = {
    "nothing": "",
    "no FROM": "RUN true\n",
    "the stage itself": "FROM configs AS final\nRUN true\n",
    "in capitals": "from Configs as Final\n",
    "for a platform": "FROM --platform=linux/amd64 configs\n",
    "another stage before it": "FROM golang AS build\nRUN make\nFROM configs\nCOPY --from=build /x /x\n",
    "by a stage that continues it": "FROM configs AS one\nFROM golang AS build\nFROM One AS final\n",
    "a variable may stand for it": "ARG BASE=configs\nFROM $BASE\n",
    "a FROM in a heredoc": "RUN <<EOF\nFROM scratch\nEOF\n",
}
UNCONFIGURED = {
    "nothing at all": ("FROM scratch\nLABEL a=b\n", 1, "scratch"),
    "another image": (
        "FROM configs AS final\nRUN true\n\nFROM quay.io/org/os:v1 AS last\nRUN true\n",
        4,
        "quay.io/org/os:v1",
    ),
    "by a stage of another image": ("FROM golang AS build\nFROM configs AS final\nFROM build\n", 3, "golang"),
    "a stage that only has its name": ("FROM scratch AS configs\nFROM configs AS final\n", 2, "scratch"),
    "the stage before the configuration": ("FROM extract AS final\n", 1, "extract"),
}


@pytest.mark.parametrize("text", CONFIGURED.values(), ids=CONFIGURED)
def test_an_image_that_continues_the_configuration_is_right(text: str) -> None:
    assert lint_stages(text) == ()


@pytest.mark.parametrize(("text", "line", "base"), UNCONFIGURED.values(), ids=UNCONFIGURED)
def test_an_image_without_the_configuration_is_never_built(text: str, line: int, base: str) -> None:
    [found] = lint_stages(text)
    assert found.line == line
    assert (
        f"continues {base} and so lacks the pool's configuration: begin the last stage with FROM configs" in found.text
    )


@pytest.mark.parametrize("row", [pytest.param(row, id=row.name) for row in ROWS])
def test_a_recorded_text_has_its_findings(row: Row) -> None:
    assert lint_user_part(row.text) == tuple(Finding(*each) for each in row.findings)


def test_the_operators_own_cases_are_judged_as_the_operator_judges_them() -> None:
    """What the operator only warns of is built: a text without FROM continues the last stage."""
    judged = {row.name: row.operator == "refuses" for row in ROWS if row.operator}
    assert len(judged) == 15
    assert judged == {row.name: bool(row.findings) for row in ROWS if row.operator}


LINES = st.text("FROMRUNCOPY #\\`<-'\"=\n\t\rab", max_size=60)


@examples(200)
@given(LINES)
def test_any_text_can_be_checked_and_findings_are_in_order_within_it(text: str) -> None:
    lines = [each.line for each in lint_user_part(text)]
    assert lines == sorted(lines)
    assert all(1 <= line <= text.count("\n") + 1 for line in lines)
