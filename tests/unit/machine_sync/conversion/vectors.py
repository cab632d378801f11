"""Recorded conversions: inputs, and what OpenShift's converters made of them."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from windlass.api import capi
from windlass.api.meta import without_nulls
from windlass.machine_sync.conversion import Converted
from windlass.machine_sync.platforms import AWS, OPENSTACK, Platform

DATA = Path(__file__).parents[3] / "data" / "machine_sync"
PLATFORM_OF_FILE = {"aws": AWS, "openstack": OPENSTACK}


def rows(kind: str = "Machine") -> Iterator[dict[str, Any]]:
    """The rows of all platforms whose input is of this kind."""
    for provider in PLATFORM_OF_FILE:
        with gzip.open(DATA / f"{provider}_capi2mapi.jsonl.gz", "rt", encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                if row["kind"] == kind:
                    yield row


def row_id(row: dict[str, Any]) -> str:
    return f"{row['provider']}-{row['case']}"


def platform_of(row: dict[str, Any]) -> Platform:
    return PLATFORM_OF_FILE[row["provider"]]


def convert(row: dict[str, Any]) -> Converted:
    """What we make of the row's Machine."""
    platform, given = platform_of(row), row["input"]
    return platform.to_machine_api(
        decode(capi.Machine, given["machine"]),
        decode(platform.infra_machine, given["infraMachine"]),
        decode(platform.infra_cluster, given["infraCluster"]),
    )


def convert_template(row: dict[str, Any]) -> Converted:
    """What we make of a machine as the row's MachineSet would create it: the Machine's part of converting a set."""
    platform, given = platform_of(row), row["input"]
    template = given["machineSet"]["spec"]["template"]
    infra = given["infraMachineTemplate"]["spec"]["template"]
    return platform.to_machine_api(
        decode(capi.Machine, {"metadata": template.get("metadata", {}), "spec": template["spec"]}),
        decode(platform.infra_machine, {"spec": infra["spec"]}),
        decode(platform.infra_cluster, given["infraCluster"]),
    )


def decode(kind: type[Any], tree: Any) -> Any:
    return None if tree is None else msgspec.convert(without_nulls(tree), kind)


def plain(value: Any) -> Any:
    """`value` as the JSON tree that encoding it gives."""
    return json.loads(msgspec.json.encode(value))
