"""Converts accelerators (GPUs): by a partial URL in Cluster API, by name in the Machine API, which has one at most."""

import re
from typing import Final

from windlass.api import capg, mapi_gcp
from windlass.api.integers import MAX_INT32
from windlass.machine_sync.conversion.field_errors import FieldError, Findings, invalid, invalid_json, too_many
from windlass.machine_sync.conversion.provider_spec import PATH
from windlass.machine_sync.platforms.gcp.words import MIGRATE, TERMINATE

_PLACE: Final = re.compile(r"(?:projects/(?P<project>[^/]+)/)?zones/(?P<zone>[^/]+)/")
_BUILT_IN: Final = "a2-"
_A100: Final = "nvidia-tesla-a100"
_PATH: Final = "spec.guestAccelerators"


def guest_accelerators(config: mapi_gcp.GCPMachineProviderSpec, errors: list[FieldError]) -> list[capg.Accelerator]:
    """The GPUs of a GCPMachine."""
    if len(config.gpus) > 1:
        errors.append(too_many(f"{PATH}.gpus", len(config.gpus), 1))
    return [
        capg.Accelerator(
            count=gpu.count or 1,
            type=gpu.type if "/" in gpu.type else f"zones/{config.zone}/acceleratorTypes/{gpu.type}",
        )
        for gpu in config.gpus
    ]


def gpus(spec: capg.GCPMachineSpec, errors: list[FieldError], *, zone: str, project: str) -> list[mapi_gcp.GPU]:
    """The GPUs of a Machine in this zone and project. Adds what the Machine API would refuse to `errors`."""
    given = spec.guest_accelerators
    if len(given) > 1:
        errors.append(too_many(_PATH, len(given), 1))
    if given and spec.instance_type.startswith(_BUILT_IN):
        detail = f"{_BUILT_IN} machine types are not supported with accelerators"
        errors.append(invalid_json(_PATH, given, detail))
    for index, one in enumerate(given):
        _examine(one, f"{_PATH}[{index}]", errors, zone=zone, project=project)
    return [mapi_gcp.GPU(count=one.count or 1, type=one.type.rpartition("/")[2]) for one in given]


def _examine(one: capg.Accelerator, path: str, errors: list[FieldError], *, zone: str, project: str) -> None:
    if one.count > MAX_INT32:
        errors.append(invalid(f"{path}.count", one.count, "count exceeds maximum int32 value"))
    place = _PLACE.search(one.type)
    if place is not None and place["zone"] != zone:
        errors.append(invalid(f"{path}.type", one.type, f'must be of zone "{zone}"'))
    if place is not None and place["project"] not in (None, project):
        errors.append(invalid(f"{path}.type", one.type, f'must be of project "{project}"'))
    if one.type.rpartition("/")[2] == _A100:
        errors.append(invalid(f"{path}.type", one.type, f"{_A100} is not supported with accelerators"))


def on_host_maintenance(spec: capg.GCPMachineSpec, found: Findings) -> str:
    """What happens when Google maintains the host. The provider ends machines with accelerators, whatever they say."""
    policy = spec.on_host_maintenance or ""
    if spec.guest_accelerators:
        if policy == MIGRATE:
            found.lose("spec.onHostMaintenance", policy, by="the Machine API", becomes=TERMINATE)
        return TERMINATE
    if policy == MIGRATE and spec.instance_type.startswith(_BUILT_IN):
        detail = f"{_BUILT_IN} machine types cannot migrate"
        found.errors.append(invalid_json("spec.onHostMaintenance", policy, detail))
    return policy
