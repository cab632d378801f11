"""Questions to the person at the terminal."""

import os
import signal
from collections.abc import Callable, Iterator
from typing import TextIO

import pytest

from windlass.capability.conventions import terminal

Type = Callable[[bytes], None]


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Type]:
    """What is typed, until the end of input."""
    reader, writer = os.pipe()
    stdin: TextIO
    with os.fdopen(reader) as stdin, os.fdopen(writer, "wb") as keys:
        monkeypatch.setattr("sys.stdin", stdin)

        def press(text: bytes) -> None:
            keys.write(text)
            keys.close()

        yield press


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"y\n", True),
        (b"Yes\n", True),
        (b" y \n", True),
        (b"n\n", False),
        (b"\n", False),
        (b"yo\n", False),
        (b"", False),
    ],
)
def test_only_yes_is_yes(answer: bytes, expected: bool, typed: Type, capsys: pytest.CaptureFixture[str]) -> None:
    typed(answer)

    assert terminal.agreed("Go on?") is expected
    assert capsys.readouterr() == ("", "Go on? [y/N]: ")


def test_ctrl_c_interrupts_whatever_handles_it_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(*_: object) -> None: ...

    monkeypatch.setattr("click.echo", lambda *_, **__: signal.raise_signal(signal.SIGINT))
    before = signal.signal(signal.SIGINT, nothing)
    try:
        with pytest.raises(KeyboardInterrupt):
            terminal.agreed("Go on?")
        assert signal.getsignal(signal.SIGINT) is nothing
    finally:
        signal.signal(signal.SIGINT, before)
