"""Log lines as an event and its facts: `log.info("mirrored", machine="worker-1")`.

    from windlass.kube.logger import Logger, about

    log = Logger(__name__)
    with about(controller="machine-sync", object="ns/worker-1"):
        log.info("mirrored", fields=3)             # the line has `controller` and `object` too

`about` follows the task: lines of other modules, and of tasks that are started inside, have its facts too.

`windlass.kube.process.logs` says how a process writes its lines. Until it has, lines go to the standard `logging`, to
the logger of the same name: a program with a controller inside finds them beside its own.

structlog would do the same, but importing it imports rich, which is a fifth of the CPU of a start.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ClassVar, Self

from msgspec import Struct

Facts = dict[str, Any]
"""The facts of a line, its `event` among them, in the order in which they are shown."""

_about: ContextVar[Mapping[str, Any]] = ContextVar("windlass_log_about", default={})  # noqa: B039 - never changed


def context() -> Mapping[str, Any]:
    """The facts of every line of this task."""
    return _about.get()


@contextmanager
def about(**facts: Any) -> Iterator[None]:
    """Add these facts to every line inside."""
    token = _about.set({**_about.get(), **facts})
    try:
        yield
    finally:
        _about.reset(token)


def _to_logging(level: int, name: str, facts: Facts) -> None:
    logger = logging.getLogger(name)
    if not logger.isEnabledFor(level):
        return
    error = facts.pop("exc_info", None)
    event = facts.pop("event")
    told = " ".join(f"{key}={value!r}" for key, value in facts.items())
    logger.log(level, "%s %s" if told else "%s%s", event, told, exc_info=error)


class Output(Struct, frozen=True):
    """Where lines go. `level`: the lowest that is written. `write` gets the level, the logger's name and the facts.

    `exc_info` among the facts is an exception, or True for the one being handled.
    """

    level: int = logging.NOTSET
    write: Callable[[int, str, Facts], None] = _to_logging


class Logger:
    """Writes lines under `name`, each with the facts `bound`. `output` is the one of the process."""

    output: ClassVar[Output] = Output()

    __slots__ = ("_bound", "name")

    def __init__(self, name: str, bound: Mapping[str, Any] | None = None) -> None:
        self.name = name
        self._bound = bound or {}

    def bind(self, **facts: Any) -> Self:
        """A logger whose lines have these facts too."""
        return type(self)(self.name, {**self._bound, **facts})

    def debug(self, event: str, **facts: Any) -> None:
        self.log(logging.DEBUG, event, **facts)

    def info(self, event: str, **facts: Any) -> None:
        self.log(logging.INFO, event, **facts)

    def warning(self, event: str, **facts: Any) -> None:
        self.log(logging.WARNING, event, **facts)

    def error(self, event: str, **facts: Any) -> None:
        self.log(logging.ERROR, event, **facts)

    def exception(self, event: str, **facts: Any) -> None:
        """An error, with the exception that is being handled."""
        self.log(logging.ERROR, event, **{"exc_info": True, **facts})

    def log(self, level: int, event: str, /, **facts: Any) -> None:
        """A line at a level of `logging`."""
        output = Logger.output
        if level >= output.level:
            whole = {**self._bound, **facts, "event": event}
            for key, value in _about.get().items():
                whole.setdefault(key, value)
            output.write(level, self.name, whole)
