"""Converts the parts of a Machine's status that both APIs share: addresses and times."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final, TypeVar

from windlass.api import capi
from windlass.api.core import NodeAddress
from windlass.machine_sync.conversion.field_errors import FieldError, invalid

A = TypeVar("A", capi.Address, NodeAddress)

_ADDRESS_TYPES: Final = frozenset({"Hostname", "ExternalIP", "InternalIP", "ExternalDNS", "InternalDNS"})
_ZERO_TIME: Final = "0001-01-01T00:00:00Z"


def converted_addresses(
    addresses: Iterable[capi.Address | NodeAddress], kind: type[A]
) -> tuple[list[A], list[FieldError]]:
    """The addresses whose types both APIs know, converted to `kind`; an error for each of the others.

    >>> [str(error) for error in converted_addresses([NodeAddress(type="Fax", address="1")], capi.Address)[1]]
    ['status.addresses: Invalid value: "Fax": Fax unrecognized address type']
    """
    converted: list[A] = []
    errors: list[FieldError] = []
    for one in addresses:
        if one.type in _ADDRESS_TYPES:
            converted.append(kind(type=one.type, address=one.address))
        else:
            errors.append(invalid("status.addresses", one.type, f"{one.type} unrecognized address type"))
    return converted, errors


def printed_time(text: str) -> str | None:
    """`text` as the API server prints times: in UTC, whole seconds. None for the zero time."""
    if len(text) != len(_ZERO_TIME) or text[-1] != "Z":
        try:
            moment = datetime.fromisoformat(text)
            if moment.tzinfo is None:
                return text
            text = f"{moment.astimezone(UTC).replace(microsecond=0, tzinfo=None).isoformat()}Z"
        except (ValueError, OverflowError):
            return text
    return None if text == _ZERO_TIME else text
