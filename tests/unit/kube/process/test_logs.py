"""Logs: lines of JSON with their context, of ours and of libraries, and nothing in them that must stay secret."""

import io
import json
import logging
from typing import Any, Literal

import pytest

from windlass.kube.logger import Logger, about
from windlass.kube.process import logs
from windlass.kube.process.logs import REDACTED

JWT = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJzeXN0ZW0ifQ.c2lnbmF0dXJl"


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_carries_the_context_of_its_reconcile(stream: io.StringIO) -> None:
    logs.configure(stream=stream)
    with about(controller="c", object="ns/a", reconcile_id="1f"):
        Logger("windlass.x").info("mirrored", fields=3)
        logging.getLogger("aiohttp").warning("slow %s", "answer")
    ours, theirs = lines(stream)
    assert ours.items() >= {"event": "mirrored", "fields": 3, "controller": "c", "object": "ns/a"}.items()
    assert (ours["level"], ours["logger"], ours["reconcile_id"]) == ("info", "windlass.x", "1f")
    assert (theirs["event"], theirs["level"], theirs["controller"]) == ("slow answer", "warning", "c")
    assert ours["time"].endswith("Z")


def test_the_facts_of_a_line_come_first(stream: io.StringIO) -> None:
    logs.configure(stream=stream)
    with about(controller="c", object="ns/a"):
        Logger("windlass.x").bind(lease="l").info("mirrored", fields=3)
    (line,) = lines(stream)
    assert [*line] == ["lease", "fields", "event", "controller", "object", "level", "time", "logger"]


@pytest.mark.parametrize("level", ["debug", "info", "warning", "error"])
def test_a_line_names_its_level(stream: io.StringIO, level: str) -> None:
    logs.configure(level="debug", stream=stream)
    getattr(Logger("x"), level)("ours")
    getattr(logging.getLogger("x"), level)("theirs")
    assert [line["level"] for line in lines(stream)] == [level, level]


def test_lines_below_the_level_are_left_out(stream: io.StringIO) -> None:
    logs.configure(level="warning", stream=stream)
    Logger("x").info("quiet")
    Logger("x").warning("loud")
    assert [line["event"] for line in lines(stream)] == ["loud"]


def test_an_unknown_level_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="no log level 'chatty': choose debug, info, warning or error"):
        logs.configure(level="chatty")


def test_tracebacks_are_part_of_their_line(stream: io.StringIO) -> None:
    logs.configure(stream=stream)

    def fail() -> None:
        raise ValueError("bad token: Bearer abcdefghijklmnop")

    try:
        fail()
    except ValueError:
        Logger("x").exception("failed")
    (line,) = lines(stream)
    assert "ValueError: bad token: Bearer <redacted>" in line["exception"]
    assert "test_logs.py" in line["exception"]


@pytest.mark.parametrize("format", ["json", "console"])
@pytest.mark.parametrize(
    "secret",
    [
        {"token": "hunter2-hunter2"},
        {"password": "hunter2-hunter2"},
        {"headers": {"Authorization": "hunter2-hunter2"}},
        {"cluster": {"user": {"client-key-data": "hunter2-hunter2"}}},
        {"object": {"kind": "Secret", "metadata": {"name": "x"}, "data": {"any": "hunter2-hunter2"}}},
        {"text": "sent Authorization: Bearer hunter2-hunter2"},
        {"text": "sent AUTHORIZATION: BEARER hunter2-hunter2"},
        {"text": "sent Authorization: ba\u017fic hunter2-hunter2"},
        {"text": f"token was {JWT}"},
        {"text": "-----BEGIN RSA PRIVATE KEY-----\nhunter2-hunter2\n-----END RSA PRIVATE KEY-----"},
        {"items": [{"user_data": "hunter2-hunter2"}]},
        {"error": RuntimeError("Bearer hunter2-hunter2")},
        {"userData": b"hunter2-hunter2"},
    ],
)
def test_secrets_never_reach_a_line(stream: io.StringIO, secret: dict[str, Any], format: Any) -> None:  # noqa: A002
    logs.configure(format=format, stream=stream)
    Logger("x").info("called", **secret)
    text = stream.getvalue()
    assert "hunter2" not in text
    assert JWT not in text
    assert REDACTED in text


def test_what_is_no_secret_is_left_alone(stream: io.StringIO) -> None:
    logs.configure(stream=stream)
    facts = {
        "object": "ns/pull-secret",
        "writes": 3,
        "ok": True,
        "nothing": None,
        "names": ["a", "b"],
        "secret": "name",
    }
    Logger("x").info("e", **facts)
    (line,) = lines(stream)
    assert line.items() >= {k: v for k, v in facts.items() if k != "names"}.items()
    assert line["names"] == ["a", "b"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def on_a_terminal(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """With the environment of a terminal that has colours."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    return monkeypatch


def shown(stream: io.StringIO) -> str:
    """What people get to see of a line of ours, and of one of a library."""
    logs.configure(format="console", stream=stream)
    Logger("x").error("failed", why="reason")
    logging.getLogger("aiohttp").error("Unclosed client session")
    return stream.getvalue()


@pytest.mark.usefixtures("on_a_terminal")
def test_lines_for_people_are_in_colour_on_a_terminal() -> None:
    text = shown(Terminal())
    assert all("\x1b[" in line for line in text.splitlines())


@pytest.mark.usefixtures("on_a_terminal")
def test_lines_for_people_that_go_into_a_pipe_have_no_colour() -> None:
    text = shown(io.StringIO())
    assert "\x1b" not in text
    assert "failed" in text
    assert "why=reason" in text
    assert "Unclosed client session" in text


@pytest.mark.usefixtures("on_a_terminal")
def test_a_line_for_people_has_time_level_event_logger_and_facts_in_order(stream: io.StringIO) -> None:
    facts = {"b": 1, "a": "two words", "c": "word", "d": None, "e": ["x"]}
    for terminal in (stream, coloured := Terminal()):
        logs.configure(format="console", stream=terminal)
        Logger("x").warning("told", **facts)
    _, _, plain = stream.getvalue().partition("Z")
    assert plain == " [warning  ] told [x] a='two words' b=1 c=word d=None e=['x']\n"
    _, _, bright = coloured.getvalue().partition("Z")
    assert bright.startswith("\x1b[0m [\x1b[33m\x1b[1mwarning  \x1b[0m] \x1b[1mtold\x1b[0m [\x1b[0m")
    assert "\x1b[1m\x1b[34mx\x1b[0m]\x1b[0m \x1b[36ma\x1b[0m=\x1b[35m'two words'\x1b[0m " in bright


@pytest.mark.usefixtures("on_a_terminal")
def test_a_traceback_for_people_follows_its_line(stream: io.StringIO) -> None:
    logs.configure(format="console", stream=stream)
    Logger("x").error("failed", exc_info=ValueError("odd"))
    assert stream.getvalue().splitlines()[1:] == ["ValueError: odd"]


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_colour_can_be_switched_off(on_a_terminal: pytest.MonkeyPatch, name: str, value: str) -> None:
    on_a_terminal.setenv(name, value)
    assert "\x1b" not in shown(Terminal())


def test_an_empty_no_color_says_nothing(on_a_terminal: pytest.MonkeyPatch) -> None:
    on_a_terminal.setenv("NO_COLOR", "")
    assert "\x1b" in shown(Terminal())


def test_lines_are_for_people_on_a_terminal(stream: io.StringIO) -> None:
    terminal = Terminal()
    logs.configure(stream=terminal)
    Logger("x").info("mirrored", machine="m-1")
    assert "mirrored" in terminal.getvalue()
    with pytest.raises(json.JSONDecodeError):
        json.loads(terminal.getvalue())


HOSTILE = "\x1b]0;title\x07\x1b[31m\r\x7f\x9b1m\u202e"


@pytest.mark.parametrize("format", ["json", "console"])
def test_a_terminal_obeys_nothing_in_a_line(stream: io.StringIO, format: Literal["json", "console"]) -> None:  # noqa: A002
    logs.configure(format=format, stream=stream)
    Logger("x").info(f"said {HOSTILE}", word=HOSTILE, text=f"two words {HOSTILE}", tree={HOSTILE: [HOSTILE]})
    Logger("x").error("failed", exc_info=ValueError(HOSTILE))
    logging.getLogger("aiohttp").warning("%s", HOSTILE)
    assert all(line.isprintable() for line in stream.getvalue().split("\n"))


def test_json_keeps_the_text_that_it_escapes(stream: io.StringIO) -> None:
    logs.configure(stream=stream)
    Logger("x").info("said", text=HOSTILE)
    assert lines(stream)[0]["text"] == HOSTILE


def test_half_a_character_is_shown_as_its_number(stream: io.StringIO) -> None:
    logs.configure(stream=stream)
    Logger("x").info("said", text="\ud83d")
    assert lines(stream)[0]["text"] == "\\ud83d"


def test_a_long_text_is_cut_and_of_a_traceback_both_ends_stay(stream: io.StringIO) -> None:
    logs.configure(stream=stream)
    Logger("x").info("refused", note="word " * 100_000)
    Logger("x").error("failed", exc_info=ValueError("x" * 100_000 + "the end"))
    refused, failed = lines(stream)
    assert refused["note"].endswith(" more characters)")
    assert failed["exception"].startswith("ValueError: xxx")
    assert failed["exception"].endswith("the end")
    assert max(len(refused["note"]), len(failed["exception"])) <= logs.LONGEST
