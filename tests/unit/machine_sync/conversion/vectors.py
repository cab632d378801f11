"""Recorded conversions: inputs, and what OpenShift's converters made of them."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from windlass.api import capi, mapi
from windlass.api.config import Infrastructure
from windlass.api.meta import without_nulls
from windlass.machine_sync.conversion.gojson import compact
from windlass.machine_sync.conversion.machine_set_to_cluster_api import cluster_api_machine_set
from windlass.machine_sync.conversion.machine_set_to_machine_api import machine_api_machine_set
from windlass.machine_sync.platforms import AWS, OPENSTACK, Platform
from windlass.openstack.provider_spec_reading import without_added_tags

DATA = Path(__file__).parents[3] / "data" / "machine_sync"
PLATFORM_OF_FILE = {"aws": AWS, "openstack": OPENSTACK}
TO_MACHINE_API = "capi2mapi"
TO_CLUSTER_API = "mapi2capi"


class Result(NamedTuple):
    """What we made of a row: objects as JSON trees, None if there are errors."""

    output: dict[str, Any] | None
    errors: list[str]
    warnings: list[str]
    losses: list[str]
    error: str
    hashed: str | None
    """What the template's name is the hash of, if there is a template."""


def rows(direction: str = TO_MACHINE_API, kind: str = "") -> Iterator[dict[str, Any]]:
    """The rows of all platforms in this direction, of this kind if given."""
    for provider in PLATFORM_OF_FILE:
        with gzip.open(DATA / f"{provider}_{direction}.jsonl.gz", "rt", encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                if kind in ("", row["kind"]):
                    yield row


def row_id(row: dict[str, Any]) -> str:
    return f"{row['provider']}-{row['direction']}-{row['case']}"


def platform_of(row: dict[str, Any]) -> Platform:
    return PLATFORM_OF_FILE[row["provider"]]


def convert(row: dict[str, Any]) -> Result:
    """What we make of the row's Machine or MachineSet."""
    platform, given = platform_of(row), row["input"]
    infrastructure = decode(Infrastructure, given.get("infrastructure"))
    cluster = decode(platform.infra_cluster, given.get("infraCluster"))
    if (row["direction"], row["kind"]) == (TO_MACHINE_API, "Machine"):
        made = platform.to_machine_api(
            decode(capi.Machine, given["machine"]), decode(platform.infra_machine, given["infraMachine"]), cluster
        )
        return _result(made, machine=made.machine)
    if row["direction"] == TO_MACHINE_API:
        machine_set = decode(capi.MachineSet, given["machineSet"])
        template = decode(platform.infra_template, given["infraMachineTemplate"])
        converted = machine_api_machine_set(platform, machine_set, template, infra_cluster=cluster)
        return _result(converted, machineSet=converted.machine_set)
    if row["kind"] == "Machine":
        both = platform.to_cluster_api(decode(mapi.Machine, given["machine"]), infrastructure)
        return _result(both, machine=both.machine, infraMachine=both.infra_machine)
    pair = cluster_api_machine_set(platform, decode(mapi.MachineSet, given["machineSet"]), infrastructure)
    result = _result(pair, machineSet=pair.machine_set, infraMachineTemplate=pair.infra_template)
    if pair.infra_template is None:
        return result
    return result._replace(hashed=compact(pair.infra_template.spec.template.spec))


def _result(converted: Any, **objects: Any) -> Result:
    output = None
    if None not in objects.values():
        output = {name: _recorded_form(name, value) for name, value in objects.items()}
    return Result(
        output, list(converted.errors), list(converted.warnings), list(converted.losses), converted.error, None
    )


def _recorded_form(name: str, value: Any) -> dict[str, Any]:
    """Infrastructure objects were recorded with their kind, others without."""
    tree: dict[str, Any] = plain(value)
    if not name.startswith("infra"):
        return tree
    return {"kind": value.RESOURCE.kind, "apiVersion": value.RESOURCE.api_version, **tree}


def as_recorded(row: dict[str, Any], spec: dict[str, Any]) -> dict[str, Any]:
    """The spec of an OpenStackMachine of ours without what differs in each of them, on purpose.

    Ours has the ports of `networks` first, and the two tags that the Machine API adds to all servers.
    """
    wanted = row["input"].get("machineSet", row["input"].get("machine"))["spec"]
    wanted = (wanted.get("template") or {}).get("spec") if row["kind"] == "MachineSet" else wanted
    given = (wanted or {}).get("providerSpec", {}).get("value") or {}
    ports, own = spec.get("ports", []), len(given.get("ports") or [])
    place = len(ports) - own
    left = {"tags": without_added_tags(spec["tags"]), "ports": [*ports[place:], *ports[:place]]}
    assert len(left["tags"]) == len(spec["tags"]) - 2
    return {**{key: value for key, value in spec.items() if key not in left}, **{k: v for k, v in left.items() if v}}


def decode(kind: type[Any], tree: Any) -> Any:
    return None if tree is None else msgspec.convert(without_nulls(tree), kind)


def plain(value: Any) -> Any:
    """`value` as the JSON tree that encoding it gives."""
    return json.loads(msgspec.json.encode(value))


def differences(ours: Any, theirs: Any, path: str = "") -> Iterator[str]:
    """The paths at which two JSON trees differ, indexes of lists as `[]`."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted(ours.keys() | theirs.keys()):
            if key not in ours or key not in theirs:
                yield f"{path}.{key}"
            else:
                yield from differences(ours[key], theirs[key], f"{path}.{key}")
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for one, other in zip(ours, theirs, strict=True):
            yield from differences(one, other, f"{path}[]")
    elif type(ours) is not type(theirs) or ours != theirs:
        yield path
