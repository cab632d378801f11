"""Quotes strings as Go's `%q` does, for texts that must equal those of Go programs.

The set of printable characters depends on the version of Unicode. Go 1.21 to 1.26 and Python 3.12 use Unicode 15.0.
Python 3.11 uses 14.0, so the ranges that 15.0 added are listed here. Python 3.13 and later know a few more characters
(CJK extension I, new scripts) and print them where Go writes `\\U000xxxxx`.
"""

# First and last code point of every range that is printable in Unicode 15.0 and was unassigned in 14.0.
_SINCE_UNICODE_15 = (
    (0xCF3, 0xCF3), (0xECE, 0xECE), (0x10EFD, 0x10EFF), (0x1123F, 0x11241), (0x11B00, 0x11B09), (0x11F00, 0x11F10),
    (0x11F12, 0x11F3A), (0x11F3E, 0x11F59), (0x1342F, 0x1342F), (0x13440, 0x13455), (0x1B132, 0x1B132),
    (0x1B155, 0x1B155), (0x1D2C0, 0x1D2D3), (0x1DF25, 0x1DF2A), (0x1E030, 0x1E06D), (0x1E08F, 0x1E08F),
    (0x1E4D0, 0x1E4F9), (0x1F6DC, 0x1F6DC), (0x1F774, 0x1F776), (0x1F77B, 0x1F77F), (0x1F7D9, 0x1F7D9),
    (0x1FA75, 0x1FA77), (0x1FA87, 0x1FA88), (0x1FAAD, 0x1FAAF), (0x1FABB, 0x1FABD), (0x1FABF, 0x1FABF),
    (0x1FACE, 0x1FACF), (0x1FADA, 0x1FADB), (0x1FAE8, 0x1FAE8), (0x1FAF7, 0x1FAF8), (0x2B739, 0x2B739),
    (0x31350, 0x323AF),
)  # fmt: skip

_NAMED = {
    '"': '\\"',
    "\\": "\\\\",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}


def quote(text: str) -> str:
    """`text` in double quotes, escaped as Go's `%q` does.

    A lone surrogate, which no Go string can hold, is shown as the replacement character that Go would have read.

    >>> print(quote('say "hi"\\n'))
    "say \\"hi\\"\\n"
    """
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(map(_quoted_rune, text)) + '"'


def _quoted_rune(char: str) -> str:
    if char in _NAMED:
        return _NAMED[char]
    code = ord(char)
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    if char.isprintable() or any(first <= code <= last for first, last in _SINCE_UNICODE_15):
        return char
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
