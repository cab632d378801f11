"""Shortens texts to the length that the API admits: at a word, with the number of characters left out.

>>> shortened("the quick brown fox jumps over the lazy dog", 40)
'the quick brown … (28 more characters)'
"""


def shortened(text: str, limit: int) -> str:
    """`text` if it has at most `limit` characters, else its first words and the number of characters left out."""
    if len(text) <= limit:
        return text
    room = limit - len(_rest(len(text)))
    kept = text[: room + 1].rpartition(" ")[0].rstrip() or text[:room]
    return kept + _rest(len(text) - len(kept))


def _rest(count: int) -> str:
    return f" … ({count} more characters)"
