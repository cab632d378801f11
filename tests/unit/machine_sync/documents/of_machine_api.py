"""Documents of the Machine API that belong together, as a user would write them."""

import json
from typing import Any

from windlass.capability.documents import Document, read

PROVIDER_SPEC = {"kind": "OpenstackProviderSpec", "flavor": "m1", "image": "rhcos"}


def machine(name: str = "m", **changes: Any) -> dict[str, Any]:
    return {
        "apiVersion": "machine.openshift.io/v1beta1",
        "kind": "Machine",
        "metadata": {"name": name, "namespace": "openshift-machine-api"},
        "spec": {"providerSpec": {"value": PROVIDER_SPEC}},
        **changes,
    }


def machine_set(name: str = "ms") -> dict[str, Any]:
    return {**machine(name), "kind": "MachineSet", "spec": {"template": {"spec": machine()["spec"]}}}


def infrastructure(says: str | None = "OpenStack", name: str = "cluster", **status: Any) -> dict[str, Any]:
    said = {"platformStatus": {"type": says}} if says is not None else {}
    return {
        "apiVersion": "config.openshift.io/v1",
        "kind": "Infrastructure",
        "metadata": {"name": name} if name else {},
        "status": {"infrastructureName": "c", **said, **status},
    }


def documents(*trees: dict[str, Any], source: str = "input") -> list[Document]:
    return list(read(source, "\n".join(map(json.dumps, trees)).encode()))
