"""Types the session of a page into one shell, command by command, as it stands, and compares the answers.

| on the page | what is done |
|---|---|
| a command without an answer | it has to succeed; what it prints is its own business |
| a command with one | `tests.answers` compares; if that says `error`, the command has to fail |
| one that only looks, such as `kubectl get` | looked again until the answer is that of the page |
| `cat FILE` of a file that is not there | the file is written as the page shows it |
"""

import os
import queue
import re
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Final, Self

from tests.answers import Answers
from tests.pages import Turn
from tests.patience import PATIENCE
from windlass.testing.plane.waiting import wait_for

_LOOKS: Final = re.compile(r"(?:windlass \S+ (?:list|describe|status)|kubectl (?:-n \S+ )?get)\b[^|;&>]*")
_SHOWS: Final = re.compile(r"cat (?P<file>[\w.-]+)")
_GRACE: Final = 20.0


class Shell:
    """A shell in `folder`, until the end of a `with` block, with everything that was started in it.

    replaced     words of the page that are others here, such as addresses
    environment  what the shell has beside this process's
    patience     seconds for an answer to become that of the page
    """

    def __init__(
        self,
        folder: Path,
        *,
        replaced: Mapping[str, str] = MappingProxyType({}),
        environment: Mapping[str, str] = MappingProxyType({}),
        patience: float = PATIENCE,
    ) -> None:
        self._folder = folder
        self._patience = patience
        self._replaced = replaced
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self._environment = {**os.environ, "PATH": path, **environment}
        self._answers = Answers()
        self._printed: queue.Queue[str] = queue.Queue()

    def __enter__(self) -> Self:
        self._bash = subprocess.Popen(
            ["bash", "-o", "pipefail"],
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._bash.stdin is not None
        assert self._bash.stdout is not None
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self.alive():
                os.killpg(self._bash.pid, number)
                wait_for(lambda: not self.alive() or None, seconds=_GRACE)
        self._bash.stdin.close()
        self._reading.join(_GRACE)
        self._bash.stdout.close()

    def alive(self) -> bool:
        """Whether something that was started in the shell still runs."""
        self._bash.poll()
        try:
            os.killpg(self._bash.pid, 0)
        except ProcessLookupError:
            return False
        return True

    def types(self, turns: Sequence[Turn]) -> None:
        """All of a session. Fails at the first command whose end or answer is not that of the page."""
        for turn in turns:
            self._types(Turn(self._here(turn.command), tuple(map(self._here, turn.answer))))

    def _types(self, turn: Turn) -> None:
        shown = _SHOWS.fullmatch(turn.command)
        if shown and turn.answer and not (file := self._folder / shown["file"]).exists():
            file.write_text("\n".join(turn.answer) + "\n", encoding="utf-8")
        wrong = ""

        def fits() -> bool | None:
            nonlocal wrong
            wrong = self._wrong(turn)
            return not wrong or None

        wait_for(fits, seconds=self._patience if _LOOKS.fullmatch(turn.command) else 0.0)
        assert not wrong, f"{turn.command}\n{wrong}"

    def _wrong(self, turn: Turn) -> str:
        """What is not as on the page."""
        code, said = self._run(turn.command)
        printed = "\n".join(said)
        refused = any(line.lower().startswith("error") for line in turn.answer)
        if (code != 0) is not refused:
            return f"exit code {code}: {printed}"
        differs = self._answers.differ(turn.answer, said) if turn.answer else ""
        return f"{differs}; it printed:\n{printed}" if differs else ""

    def _run(self, command: str) -> tuple[int, list[str]]:
        """The exit code, and the lines that were printed."""
        assert self._bash.stdin is not None
        mark = uuid.uuid4().hex
        self._bash.stdin.write(f"{{ {command}\n}} </dev/null; printf '\\n{mark} %s\\n' $?\n")
        self._bash.stdin.flush()
        said: list[str] = []
        while True:
            try:
                line = self._printed.get(timeout=self._patience)
            except queue.Empty:
                raise AssertionError(f"{command}\nhas not ended; it printed:\n{said}") from None
            if line.startswith(mark):
                break
            said.append(line)
        # The line break before the mark ends a line that the command has not ended.
        return int(line.split()[1]), said[:-1] if said and not said[-1] else said

    def _read(self) -> None:
        assert self._bash.stdout is not None
        for line in self._bash.stdout:
            self._printed.put(line.rstrip("\n"))

    def _here(self, text: str) -> str:
        for word, here in self._replaced.items():
            text = text.replace(word, here)
        return text
