"""What an API server warns of in its answers: deprecated APIs, admission policies that warn, fields it ignores.

They come in `Warning` headers (RFC 7234, section 5.5), one or several in a header, beside an answer that is as good as
any. Only code 299 is an API server's; others are made by caches in between. The same text comes with each answer that
it is true of, hence `once`.

>>> list(texts(['299 - "widgets is deprecated", 110 - "Response is Stale"']))
['widgets is deprecated']
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Final

Warned = Callable[[str], None]
"""Is told the text of each warning, as often as it comes."""

_HEADER: Final = re.compile(r'(\d{3}) +[^ ",]+ +"((?:[^"\\]|\\.)*)"(?: +"[^"]*")?')
_ESCAPED: Final = re.compile(r"\\(.)")
_MISCELLANEOUS_PERSISTENT: Final = "299"


def texts(headers: Iterable[str]) -> Iterator[str]:
    """The warnings in the values of `Warning` headers; what is malformed is passed over."""
    for header in headers:
        for code, text in _HEADER.findall(header):
            if code == _MISCELLANEOUS_PERSISTENT:
                yield _ESCAPED.sub(r"\1", text)


def once(tell: Warned, *, remembered: int = 1024) -> Warned:
    """Passes on a text when it comes first; of many different ones, those `remembered` that came last are known.

    >>> tell = once(print)
    >>> for text in ("deprecated", "deprecated", "ignored"):
    ...     tell(text)
    deprecated
    ignored
    """
    return lru_cache(maxsize=remembered)(tell)
