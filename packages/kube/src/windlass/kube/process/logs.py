"""Structured logs: one event a line, with its controller and object, and without secrets.

    from windlass.kube.process import logs

    logs.configure(level="info")                      # once, where a process starts
    log = Logger(__name__)                            # windlass.kube.logger
    log.info("mirrored", machine="worker-1")          # {"machine": "worker-1", "event": "mirrored", ...}

During a reconcile every line has `controller`, `object` and `reconcile_id`, also lines of other modules; lines of
libraries that use `logging` look the same. In a pod lines are JSON, on a terminal they are for people, in colour unless
NO_COLOR (https://no-color.org) or TERM=dumb forbids it.

Much of what is logged comes from other systems: a text is cut to `LONGEST` characters, and what a terminal would obey
is escaped.

Anything that looks like a secret is replaced before a line is written: values under suspicious names (token, password,
authorization, ...), `data` of Secrets, bearer tokens, JSON web tokens and private keys inside texts. This is the
second line of defence: the first is not to log whole objects.
"""

import logging
import re
import sys
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final, Literal, TextIO

import msgspec

from windlass.kube.foreign import harmless, harmless_json, harmless_lines
from windlass.kube.logger import Facts, Logger, Output, context
from windlass.kube.process.colour import colourful
from windlass.kube.shorten import shortened

REDACTED = "<redacted>"
LONGEST: Final = 8 * 2**10
"""Characters of a text in a line; of a traceback, the first and the last half of them."""

Format = Literal["auto", "json", "console"]

_NAMES = re.compile(
    r"token|passw(or)?d|passphrase|authorization|credential|secret[_-]?(key|value|data)|client[_-]?secret|api[_-]?key"
    r"|private[_-]?key|key[_-]?data|user[_-]?data|kube[_-]?config|cookie|string[_-]?data",
    re.IGNORECASE,
)
_TEXTS = re.compile(
    r"(?P<scheme>\b(?:bearer|basic)\s+)[A-Za-z0-9+/_.~=-]{8,}"
    # Of `eyJ-eyJ-eyJ-...` each part is read once: where another one begins, an earlier one ends.
    r"|\beyJ(?=[A-Za-z0-9_-]{5})(?>(?:\w|-(?!eyJ))+)\.[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]*"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    re.IGNORECASE | re.DOTALL,
)


_IN_TEXTS = ("bearer", "basic", "eyj", "private key")


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
    render = _for_people(_COLOURS if colourful(stream) else _COLOURLESS) if for_people else _as_json

    def write(level: int, name: str, facts: Facts) -> None:
        line = render(_finished(facts, level=logging.getLevelName(level).lower(), name=name))
        with suppress(OSError, ValueError):  # a closed log stream is no reason to stop working
            stream.write(line + "\n")
            stream.flush()

    # Our own lines are written directly: through `logging` each would cost twice the time.
    Logger.output = Output(number, write)
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_Foreign(render))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(number)


Render = Callable[[Facts], str]


def _finished(facts: Facts, *, level: str, name: str) -> Facts:
    """With level, time and logger; an exception as text; without secrets."""
    error = facts.pop("exc_info", None)
    facts["level"] = level
    facts["time"] = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    facts["logger"] = name
    if error is True:
        error = sys.exception()
    elif isinstance(error, tuple):
        error = error[1]
    if error is not None:
        # A plain traceback, because pretty ones show local variables.
        told = "".join(traceback.format_exception(error)).removesuffix("\n")
        facts["exception"] = _both_ends(_without_secrets(told))
    for key, value in facts.items():
        facts[key] = _clean(key, value)
    return facts


def _both_ends(text: str) -> str:
    """A traceback says at its end what is wrong, and at its beginning where."""
    half = LONGEST // 2
    return text if len(text) <= LONGEST else f"{text[: half - 10]}\n...\n{text[10 - half :]}"


class _Foreign(logging.Formatter):
    """Makes the lines of libraries that use `logging` look like ours."""

    def __init__(self, render: Render) -> None:
        super().__init__()
        self._render = render

    def format(self, record: logging.LogRecord) -> str:
        facts: Facts = {"event": record.getMessage()}
        if record.exc_info:
            facts["exc_info"] = record.exc_info
        if record.stack_info:
            facts["stack_info"] = record.stack_info
        for key, value in context().items():
            facts.setdefault(key, value)
        return self._render(_finished(facts, level=record.levelname.lower(), name=record.name))


def _as_json(facts: Facts) -> str:
    return harmless_json(msgspec.json.encode(facts, enc_hook=str).decode())


class _Colours(msgspec.Struct, frozen=True):
    """Terminal sequences."""

    time: str = ""
    event: str = ""
    logger: str = ""
    key: str = ""
    value: str = ""
    reset: str = ""
    levels: Mapping[str, str] = {}


_COLOURLESS = _Colours()
_COLOURS = _Colours(
    time="\x1b[2m",
    event="\x1b[1m",
    logger="\x1b[1m\x1b[34m",
    key="\x1b[36m",
    value="\x1b[35m",
    reset="\x1b[0m",
    levels={
        "debug": "\x1b[32m\x1b[1m",
        "info": "\x1b[32m\x1b[1m",
        "warning": "\x1b[33m\x1b[1m",
        "error": "\x1b[31m\x1b[1m",
        "critical": "\x1b[31m\x1b[1m",
    },
)


def _for_people(of: _Colours) -> Render:
    def render(facts: Facts) -> str:
        level, exception = facts.pop("level"), facts.pop("exception", None)
        parts = [
            f"{of.time}{facts.pop('time')}{of.reset}",
            f"[{of.levels.get(level, '')}{level:9}{of.reset}]",
            f"{of.event}{harmless(str(facts.pop('event')))}{of.reset}",
            f"[{of.reset}{of.logger}{facts.pop('logger')}{of.reset}]{of.reset}",
        ]
        parts += [f"{of.key}{key}{of.reset}={of.value}{_shown(facts[key])}{of.reset}" for key in sorted(facts)]
        line = " ".join(parts).rstrip(" ")
        return line if exception is None else f"{line}\n{harmless_lines(exception)}"

    return render


def _shown(value: Any) -> str:
    """Quoted if it is not one printable word."""
    is_word = isinstance(value, str) and value.isprintable() and not set(value) & set(" =\"'")
    return str(value) if is_word else repr(value)


def _clean(name: str, value: Any) -> Any:
    match value:
        case str():
            if _is_suspicious(name):
                return REDACTED if value else value
            return _clean_text(value)
        case bool() | int() | float() | None:
            return value
        case bytes():
            return REDACTED if _is_suspicious(name) else _clean_text(value.decode(errors="replace"))
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


@lru_cache(maxsize=1024)
def _is_suspicious(name: str) -> bool:
    return _NAMES.search(name) is not None


def _clean_text(text: str) -> str:
    text = shortened(_without_secrets(text), LONGEST)  # in this order: half a private key would not be found
    return text if text.isprintable() else text.encode(errors="backslashreplace").decode()  # JSON has no surrogates


def _without_secrets(text: str) -> str:
    # Looking for these words takes a tenth of the time of the expression, which none of its matches is without.
    folded = text.casefold()
    if not any(word in folded for word in _IN_TEXTS):
        return text
    return _TEXTS.sub(lambda found: (found["scheme"] or "") + REDACTED, text)
