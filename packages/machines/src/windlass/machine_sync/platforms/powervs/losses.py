"""Warns about fields of an IBMPowerVSMachine that the Machine API cannot express and that conversion drops."""

from collections.abc import Iterator
from typing import Any

from windlass.api import capibm
from windlass.machine_sync.conversion.field_errors import Findings


def find_losses(spec: capibm.IBMPowerVSMachineSpec, found: Findings) -> None:
    """Add a loss for each field of `spec` that is set and dropped, including references that another one overrides."""
    for field, value in _lost(spec):
        found.lose(f"spec.{field}", value, by="the Machine API")


def _lost(spec: capibm.IBMPowerVSMachineSpec) -> Iterator[tuple[str, Any]]:
    if spec.service_instance is not None:
        if spec.service_instance_id:
            yield "serviceInstance", spec.service_instance
        else:
            yield from _outdone("serviceInstance", spec.service_instance)
    if spec.image is not None:
        if spec.image_ref is not None:
            yield "imageRef", spec.image_ref
        yield from _outdone("image", spec.image)
    yield from _outdone("network", spec.network)


def _outdone(path: str, reference: capibm.PowerVSReference) -> Iterator[tuple[str, str]]:
    """The given ones of ID, name and regular expression, in this order, without the first."""
    given = [
        (f"{path}.{field}", value)
        for field, value in (("id", reference.id), ("name", reference.name), ("regex", reference.regex))
        if value is not None
    ]
    yield from given[1:]
