"""Structured logs: one event a line, with its controller and object, and without secrets.

    from windlass.kube.process import logs

    logs.configure(level="info")                      # once, where a process starts
    log = structlog.stdlib.get_logger(__name__)
    log.info("mirrored", machine="worker-1")          # {"event": "mirrored", "machine": "worker-1", ...}

During a reconcile every line has `controller`, `object` and `reconcile_id`, also lines of other modules (contextvars);
lines of libraries that use `logging` look the same. In a pod lines are JSON, on a terminal they are for people, in
colour unless NO_COLOR (https://no-color.org) or TERM=dumb forbids it.

Anything that looks like a secret is replaced before a line is written: values under suspicious names (token, password,
authorization, ...), `data` of Secrets, bearer tokens, JSON web tokens and private keys inside texts. This is the
second line of defence: the first is not to log whole objects.
"""

import logging
import re
import sys
from collections.abc import Mapping, MutableMapping
from contextlib import suppress
from typing import Any, Literal, TextIO

import msgspec
import structlog
from structlog.typing import Processor

from windlass.kube.process.colour import colourful

REDACTED = "<redacted>"

Format = Literal["auto", "json", "console"]

_NAMES = re.compile(
    r"token|passw(or)?d|passphrase|authorization|credential|secret[_-]?(key|value|data)|client[_-]?secret|api[_-]?key"
    r"|private[_-]?key|key[_-]?data|user[_-]?data|kube[_-]?config|cookie|string[_-]?data",
    re.IGNORECASE,
)
_TEXTS = re.compile(
    r"(?P<scheme>\b(?:bearer|basic)\s+)[A-Za-z0-9+/_.~=-]{8,}"
    r"|\beyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]*"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    re.IGNORECASE | re.DOTALL,
)


def configure(*, level: str = "info", format: Format = "auto", stream: TextIO | None = None) -> None:  # noqa: A002
    """Set up logging for this process. `auto`: for people if `stream` (standard error) is a terminal, else JSON.

    `console`: for people on any stream; colour only on a terminal.
    ValueError if there is no such level.
    """
    stream = stream or sys.stderr
    number = logging.getLevelNamesMapping().get(level.upper())
    if number is None:
        raise ValueError(f"no log level {level!r}: choose debug, info, warning or error")
    for_people = format == "console" or (format == "auto" and stream.isatty())
    rendering = _for_people(colour=colourful(stream)) if for_people else _JSON
    context: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
    ]
    # Our own lines are written directly: through `logging` each would cost twice the time.
    structlog.configure(
        processors=[*context, _add_name, *_PLAIN, rendering],
        logger_factory=lambda *names: _Lines(stream, *names),
        wrapper_class=structlog.make_filtering_bound_logger(number),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*context, structlog.stdlib.add_logger_name],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *_PLAIN, rendering],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(number)


def redact(_: object, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """The structlog processor that replaces anything that looks like a secret."""
    for name, value in event.items():
        event[name] = _clean(name, value)
    return event


class _Lines:
    """Writes finished lines; structlog calls this a logger."""

    def __init__(self, stream: TextIO, name: str = "") -> None:
        self.name = name
        self._stream = stream

    def msg(self, line: str) -> None:
        with suppress(OSError, ValueError):  # a closed log stream is no reason to stop working
            self._stream.write(line + "\n")
            self._stream.flush()

    debug = info = warning = warn = error = critical = fatal = log = msg


def _add_name(logger: _Lines, _: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    event["logger"] = logger.name
    return event


# Tracebacks become text before secrets are looked for; plain ones, because the pretty ones show local variables.
_PLAIN: tuple[Processor, ...] = (structlog.processors.format_exc_info, redact)


def _for_people(*, colour: bool) -> Processor:
    return structlog.dev.ConsoleRenderer(
        colors=colour, pad_event_to=0, timestamp_key="time", exception_formatter=structlog.dev.plain_traceback
    )


def _serialise(event: Any, **_: Any) -> str:
    return msgspec.json.encode(event, enc_hook=str).decode()


_JSON = structlog.processors.JSONRenderer(serializer=_serialise)


def _clean(name: str, value: Any) -> Any:
    match value:
        case bool() | int() | float() | None:
            return value
        case str():
            if _NAMES.search(name):
                return REDACTED if value else value
            return _clean_text(value)
        case bytes():
            return REDACTED if _NAMES.search(name) else _clean_text(value.decode(errors="replace"))
        case Mapping():
            return _clean_tree(name, value)
        case list() | tuple() | set() | frozenset():
            return [_clean(name, item) for item in value]
        case BaseException():
            return _clean_text(f"{type(value).__name__}: {value}")
    return value


def _clean_tree(name: str, value: Mapping[Any, Any]) -> Any:
    is_secret = value.get("kind") == "Secret"
    return {
        key: REDACTED if is_secret and key in ("data", "stringData") else _clean(f"{name}.{key}", item)
        for key, item in value.items()
    }


def _clean_text(text: str) -> str:
    return _TEXTS.sub(lambda found: (found["scheme"] or "") + REDACTED, text)
