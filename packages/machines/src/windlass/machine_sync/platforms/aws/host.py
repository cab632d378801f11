"""Converts dedicated hosts: AWSMachine's hostAffinity, hostID, dynamicHostAllocation, Machine API's placement.host."""

import re
from typing import Final

from windlass.api import capa, mapi_aws
from windlass.machine_sync.conversion.field_errors import FieldError, Findings, invalid, invalid_json, required
from windlass.machine_sync.conversion.provider_spec import PATH
from windlass.machine_sync.platforms.aws.tags import tag_list, tag_map

_AFFINITIES: Final = {None: "default", "AnyAvailable": "default", "DedicatedHost": "host"}
_HOST_ID: Final = re.compile(r"h-([0-9a-f]{8}|[0-9a-f]{17})")
_HOST_ID_FORM: Final = "id must start with 'h-' followed by 8 or 17 lowercase hexadecimal characters (0-9 and a-f)"


def host_placement(spec: capa.AWSMachineSpec, errors: list[FieldError]) -> mapi_aws.HostPlacement | None:
    """The host that `spec` asks for: a dedicated one, any host, or None if it asks for nothing. Adds to `errors`."""
    affinity = spec.host_affinity
    if affinity == "host":
        return _dedicated(spec, errors)
    if affinity not in (None, "default"):
        errors.append(invalid_json("spec.hostAffinity", affinity, "unable to convert hostAffinity, unknown value"))
        return None
    if spec.dynamic_host_allocation is not None:
        errors.append(
            invalid_json(
                "spec.dynamicHostAllocation",
                spec.dynamic_host_allocation,
                "dynamicHostAllocation is only allowed when hostAffinity is host",
            )
        )
        return None
    if affinity is None or (spec.tenancy != "host" and spec.host_id is None):
        return None
    return mapi_aws.HostPlacement(
        affinity="AnyAvailable",
        dedicated_host=None if spec.host_id is None else _user_provided(spec.host_id, errors),
    )


def _dedicated(spec: capa.AWSMachineSpec, errors: list[FieldError]) -> mapi_aws.HostPlacement | None:
    host_id, dynamic = spec.host_id, spec.dynamic_host_allocation
    if host_id is None and dynamic is None:
        detail = "either id or dynamicHostAllocation is required when hostAffinity is host"
        errors.append(required("spec.dedicatedHost", detail))
        return None
    if dynamic is None:
        assert host_id is not None
        host = _user_provided(host_id, errors)
    elif host_id is None:
        host = mapi_aws.DedicatedHost(
            allocation_strategy="Dynamic",
            dynamic_host_allocation=mapi_aws.DynamicHostAllocation(tags=tag_list(dynamic.tags))
            if dynamic.tags
            else None,
        )
    else:
        detail = "id and dynamicHostAllocation are mutually exclusive"
        errors.append(invalid_json("spec.dedicatedHost", host_id, detail))
        return None
    return mapi_aws.HostPlacement(affinity="DedicatedHost", dedicated_host=host)


def _user_provided(host_id: str, errors: list[FieldError]) -> mapi_aws.DedicatedHost:
    if not _HOST_ID.fullmatch(host_id):
        errors.append(invalid("spec.dedicatedHost.id", host_id, _HOST_ID_FORM))
    return mapi_aws.DedicatedHost(allocation_strategy="UserProvided", id=host_id)


def host_fields(
    host: mapi_aws.HostPlacement | None, found: Findings
) -> tuple[str | None, str | None, capa.DynamicHostAllocation | None]:
    """The hostAffinity, hostID and dynamicHostAllocation that mean the same as `host`. Adds to `found`.

    An affinity that Cluster API does not have leaves hostAffinity and hostID unset.
    """
    if host is None:
        return "default", None, None
    path = f"{PATH}.placement.host"
    affinity = _AFFINITIES.get(host.affinity)
    if affinity is None:
        found.lose(f"{path}.affinity", host.affinity)
    dedicated = host.dedicated_host
    if dedicated is None:
        return affinity, None, None
    dynamic: capa.DynamicHostAllocation | None = None
    host_id: str | None = None
    if dedicated.allocation_strategy == "Dynamic":
        allocation = dedicated.dynamic_host_allocation
        dynamic = capa.DynamicHostAllocation(tags=tag_map(allocation.tags or []) if allocation is not None else {})
    elif dedicated.dynamic_host_allocation is not None:
        found.lose(f"{path}.dedicatedHost.dynamicHostAllocation", dedicated.dynamic_host_allocation)
    if affinity is not None and dedicated.allocation_strategy in (None, "UserProvided") and dedicated.id:
        host_id = dedicated.id
    elif dedicated.id:
        found.lose(f"{path}.dedicatedHost.id", dedicated.id)
    if dedicated.allocation_strategy not in (None, "UserProvided", "Dynamic"):
        strategy = f"{path}.dedicatedHost.allocationStrategy"
        found.lose(strategy, dedicated.allocation_strategy)
    return affinity, host_id, dynamic
