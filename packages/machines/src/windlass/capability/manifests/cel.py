"""Generates fragments of CEL, the language of admission policies.

Rules must work for any object that a CRD admits, so a field that may be absent is read as an optional
(`oldObject.?status`): an expression that fails refuses the request with an unclear message.
"""

from collections.abc import Sequence


def literal(value: str | Sequence[str]) -> str:
    """A string or a list of strings as CEL writes it.

    >>> literal(["it's", "a"])
    "['it\\\\'s', 'a']"
    """
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return f"[{', '.join(literal(one) for one in value)}]"


def annotation_is(name: str, value: str) -> str:
    """Condition: the object had this annotation before the request, which therefore cannot have put it there."""
    return f"oldObject.metadata.?annotations[?{literal(name)}].orValue('') == {literal(value)}"


def metadata_variables() -> dict[str, str]:
    """`variables.labels`, `oldLabels`, `annotations`, `oldAnnotations`: maps, empty rather than absent."""
    return {
        f"{before}{field[0].upper() if before else field[0]}{field[1:]}": f"{side}.metadata.?{field}.orValue({{}})"
        for field in ("labels", "annotations")
        for before, side in (("", "object"), ("old", "oldObject"))
    }


def unchanged(new: str, old: str, *, where: str = "") -> str:
    """Rule: no key of a map was added, changed or removed; `where`, CEL about `k`: none of those that satisfy it."""
    chosen = f".filter(k, {where})\n  " if where else ""
    return f"{new}{chosen}.all(k, {old}[?k] == optional.of({new}[k])) &&\n{old}{chosen}.all(k, k in {new})"
