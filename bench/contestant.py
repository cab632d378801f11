"""Runs a program that is measured: started as a user would start it, and observed from outside."""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from bench.machine import Usage, usage

ROOT = Path(__file__).parents[1]

_NOT_PASSED_ON = ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "PYTHONDEVMODE", "PYTHONTRACEMALLOC", "PYTHONPATH")


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """What measured programs run in: nothing that makes Python slower than it is for a user."""
    kept = {name: value for name, value in os.environ.items() if name not in _NOT_PASSED_ON}
    return {**kept, **(extra or {})}


class Contestant:
    """A running program, used with `with`; its output goes to `log`. It is asked to end, and killed if it does not."""

    def __init__(self, argv: Sequence[str | Path], *, log: Path, extra: Mapping[str, str] | None = None) -> None:
        self._argv = [str(argument) for argument in argv]
        self._log = log
        self._extra = extra
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        with self._log.open("ab") as output:
            self._process = subprocess.Popen(
                self._argv,
                cwd=ROOT,
                env=environment(self._extra),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process is not None
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    @property
    def ended(self) -> bool:
        """It is over, whether or not it was meant to be."""
        assert self._process is not None
        return self._process.poll() is not None

    @property
    def usage(self) -> Usage:
        """CPU and peak memory so far."""
        assert self._process is not None
        return usage(self._process.pid)

    def last_words(self) -> str:
        """The end of its output, for errors."""
        return self._log.read_text(encoding="utf-8", errors="replace")[-2000:]
