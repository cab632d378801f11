"""Names a MachineSet's infra template: the name of the set, and a hash of the machine spec.

Specs are immutable in templates, so a changed spec needs a new template with another name. The hash is 32-bit FNV-1a
of the spec as Go encodes it, so that OpenShift's controller and ours give the same spec the same name.
"""

from functools import lru_cache
from typing import Any, Final

from windlass.machine_sync.conversion.gojson import compact

_OFFSET: Final = 0x811C9DC5
_PRIME: Final = 0x01000193
_MASK: Final = 0xFFFFFFFF
_DIGITS: Final = 8
_HEX: Final = frozenset("0123456789abcdef")


def template_name(machine_set: str, infra_spec: Any) -> str:
    """The name of the template that holds `infra_spec` for the MachineSet of this name.

    >>> template_name("workers", {})
    'workers-5465b825'
    """
    return f"{machine_set}-{fnv1a(compact(infra_spec).encode()):08x}"


def machine_set_of(template: str) -> str | None:
    """The MachineSet for which conversion gives a template this name; None if it gives no template such a name.

    >>> machine_set_of("workers-5465b825"), machine_set_of("workers-large")
    ('workers', None)
    """
    machine_set, _, digest = template.rpartition("-")
    return machine_set if machine_set and len(digest) == _DIGITS and _HEX.issuperset(digest) else None


@lru_cache(maxsize=1024)
def fnv1a(data: bytes) -> int:
    """The 32-bit FNV-1a hash. Cached: the spec of a set is hashed in every reconcile.

    >>> hex(fnv1a(b"a"))
    '0xe40c292c'
    """
    # Eight bytes a turn, cut to 32 bits once: the low bits of products and of XOR do not depend on the higher bits.
    value, prime = _OFFSET, _PRIME
    whole = len(data) & ~7
    stream = iter(data[:whole])
    for a, b, c, d, e, f, g, h in zip(*[stream] * 8, strict=True):
        value = (value ^ a) * prime
        value = ((value ^ b) * prime ^ c) * prime
        value = ((value ^ d) * prime ^ e) * prime
        value = (((value ^ f) * prime ^ g) * prime ^ h) * prime & _MASK
    for byte in data[whole:]:
        value = (value ^ byte) * prime & _MASK
    return value
