"""Reads the warnings in an API server's answers: deprecated APIs, admission policies that warn, ignored fields.

They come in `Warning` headers (RFC 7234, section 5.5), one or several in a header, of answers that are otherwise
normal. An API server uses only code 299; the other codes come from caches in between. Each answer repeats the text,
hence `once`.

>>> list(texts(['299 - "widgets is deprecated", 110 - "Response is Stale"']))
['widgets is deprecated']
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Final

Warned = Callable[[str], None]
"""Called with the text of each warning, every time it comes."""

_HEADER: Final = re.compile(r'(\d{3}) +[^ ",]+ +"((?:[^"\\]|\\.)*)"(?: +"[^"]*")?')
_ESCAPED: Final = re.compile(r"\\(.)")
_MISCELLANEOUS_PERSISTENT: Final = "299"


def texts(headers: Iterable[str]) -> Iterator[str]:
    """The warnings in the values of `Warning` headers; malformed ones are skipped."""
    for header in headers:
        yield from _texts(header)


@lru_cache(maxsize=64)
def _texts(header: str) -> tuple[str, ...]:
    """The same header comes with every answer that it concerns, so its texts are kept."""
    found = _HEADER.findall(header)
    return tuple(_ESCAPED.sub(r"\1", text) for code, text in found if code == _MISCELLANEOUS_PERSISTENT)


def once(tell: Warned, *, remembered: int = 1024) -> Warned:
    """Passes on each text only the first time. It remembers the last `remembered` different texts.

    >>> tell = once(print)
    >>> for text in ("deprecated", "deprecated", "ignored"):
    ...     tell(text)
    deprecated
    ignored
    """
    return lru_cache(maxsize=remembered)(tell)
