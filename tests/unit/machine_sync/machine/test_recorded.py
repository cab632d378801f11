"""Recorded runs of OpenShift's machine sync controller, taken to rest by ours on the in-memory model.

Compared are the final objects, and whether the last pass ended in an error, a requeue or rest; not the number or form
of the writes, of which ours needs fewer. Where ours ends elsewhere on purpose, `DEVIATIONS` names the fields and why.
"""

import gzip
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from windlass.api import capi, config, mapi
from windlass.api.core import Event
from windlass.api.meta import K
from windlass.kube.executor import Executor
from windlass.kube.merge import changes
from windlass.kube.plan import Retry
from windlass.kube.rounds import Decide, Rest, reconcile
from windlass.kube.seen import Seen, seen
from windlass.machine_sync.constants import BOOKKEEPING, Namespaces
from windlass.machine_sync.machine.decide import decide
from windlass.machine_sync.machine.infra_machine import ORPHAN_FINALIZER
from windlass.machine_sync.machine.observe import Observer
from windlass.machine_sync.machine.snapshot import MachineSnapshot
from windlass.machine_sync.platforms import PLATFORMS
from windlass.testing.memory import MemoryApi
from windlass.testing.memory.garbage import collect_garbage

DATA = Path(__file__).parents[3] / "data" / "machine_sync" / "controllers.jsonl.gz"
NOW = datetime(2026, 5, 1, tzinfo=UTC)


class Deviation(NamedTuple):
    why: str
    paths: set[str]
    """Exactly the fields that differ."""


CONDITION = {f"machine_api.status.conditions[1].{field}" for field in ("status", "severity", "reason", "message")}
DERIVED_LABELS = {f"machine_api.metadata.labels.machine.openshift.io/{label}" for label in ("instance-type", "zone")}


def seed(*status: str) -> Deviation:
    return Deviation(
        "status, authority and our finalizer are there as soon as the mirror is; upstream needs its migration "
        "controller, further passes and a third writer for them",
        {"machine_api.metadata.finalizers[1]", *status},
    )


def compared_at_last(*paths: str) -> Deviation:
    return Deviation(
        "upstream cannot compare provider specs of OpenStack, so it reports an error for ever; ours synchronizes",
        {
            "error",
            "machine_api.spec.metadata",
            "machine_api.status.synchronizedGeneration",
            *CONDITION,
            *DERIVED_LABELS,
            *paths,
        },
    )


QUIET_END = Deviation(
    "upstream takes its finalizer off, then reports `failed to remove finalizer: %!w(<nil>)`", {"error"}
)

DEVIATIONS: dict[str, Deviation] = {
    "AWS-capi-only-owned-mapi-ms-exists-SEED": seed(
        "machine_api.status.providerStatus", "machine_api.status.authoritativeAPI"
    ),
    "AWS-capi-only-owned-mapi-ms-exists-nofinalizers-SEED": seed(
        "machine_api.status.providerStatus", "machine_api.status.authoritativeAPI"
    ),
    "OpenStack-capi-only-owned-mapi-ms-exists-nofinalizers-SEED": seed("machine_api.status"),
    "AWS-capi-only-owned-deleting": Deviation(
        "upstream ignores a machine that is being deleted without a mirror, so its finalizer holds it for ever",
        {"infra.metadata.finalizers[1]", "cluster_api.metadata.finalizers[1]"},
    ),
    "OpenStack-capi-auth-status-changed": compared_at_last(
        "machine_api.status.addresses", "machine_api.status.nodeRef.name", "machine_api.status.phase"
    ),
    "OpenStack-capi-auth-spec-and-status-changed": compared_at_last(
        "machine_api.spec.providerSpec.value.flavor",
        "machine_api.metadata.labels.new",
        "machine_api.status.nodeRef.name",
    ),
    "OpenStack-capi-auth-owner-cluster-dropped": compared_at_last(
        "machine_api.metadata.ownerReferences", "machine_api.status.nodeRef", "machine_api.status.phase"
    ),
    "OpenStack-capi-auth-owner-machineset": compared_at_last(
        "machine_api.metadata.ownerReferences", "machine_api.status.nodeRef", "machine_api.status.phase"
    ),
    "AWS-mapi-auth-deleting-no-capi": QUIET_END,
    "OpenStack-mapi-auth-deleting-no-capi": QUIET_END,
    "AWS-capi-auth-no-capi-machine-creates-unpaused": Deviation(
        "the owner of the infra machine and the status of a Machine that is not paused are Cluster API's to write; the "
        "noted generation never goes down, which the API would refuse",
        {"infra.metadata.ownerReferences", "cluster_api.status", "machine_api.status.synchronizedGeneration"},
    ),
    "OpenStack-capi-auth-no-capi-machine-creates-unpaused": Deviation(
        "as on AWS; and upstream cannot compare provider specs of OpenStack",
        {
            "error",
            "infra.metadata.ownerReferences",
            "cluster_api.status",
            "machine_api.spec.metadata",
            *CONDITION,
            *DERIVED_LABELS,
        }
        | {"machine_api.status.nodeRef", "machine_api.status.phase"},
    ),
    "AWS-aws-infra-status-to-providerstatus": Deviation(
        "upstream writes a provider status only when something else changes too",
        {"machine_api.status.providerStatus.conditions[1]", "machine_api.status.providerStatus.instanceState"},
    ),
    "OpenStack-mapi-authority-empty": Deviation(
        "upstream leaves an empty authority to its migration controller; ours fills it, and goes on",
        {"cluster_api", "infra", "machine_api.status.authoritativeAPI", "machine_api.status.conditions[1]"},
    ),
    "OpenStack-mapi-auth-infra-providerid-only-on-infra": Deviation(
        "what only the provider sets is no difference, so the infra machine is not made anew",
        {"infra.metadata.finalizers[0]", "infra.metadata.finalizers[1]", "infra.spec.providerID"},
    ),
    "OpenStack-capi-auth-owner-machineset-no-mapi-ms": Deviation(
        "upstream only logs that the owner has no twin and leaves Synchronized as it was, True included",
        {"machine_api.status.conditions[1]"},
    ),
}


def recorded(controller: str) -> Iterator[Any]:
    with gzip.open(DATA, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = msgspec.json.decode(line)
            if row["controller"] == controller:
                yield pytest.param(row, id=f"{row['platform']}-{row['case']}")


class Fresh:
    """A reader that looks at the model itself."""

    def __init__(self, api: MemoryApi) -> None:
        self._api = api

    async def see(
        self, kind: type[K], name: str, *, namespace: str | None = None, confirm: bool = False, live: bool = False
    ) -> Seen[K]:
        return seen(self._api.peek(kind, name, namespace=namespace), confirmed=True)


def test_every_deviation_is_of_a_recorded_run() -> None:
    assert set(DEVIATIONS) <= {str(row.id) for row in recorded("machinesync")}


@pytest.mark.parametrize("row", [*recorded("machinesync")])
async def test_a_recorded_run_ends_as_recorded(row: dict[str, Any]) -> None:
    api, rest = await rest_of(row, decide)
    deviation = DEVIATIONS.get(f"{row['platform']}-{row['case']}")
    found = differences(row, api, rest)
    assert sorted(found) == sorted(deviation.paths if deviation else ()), "\n".join(found.values())


async def rest_of(row: dict[str, Any], rules: Decide[MachineSnapshot]) -> tuple[MemoryApi, Rest]:
    """The model after the run, which began with what was recorded, by `rules` alone."""
    platform = PLATFORMS[row["platform"]]
    api = MemoryApi(
        mapi.Machine,
        mapi.MachineSet,
        capi.Machine,
        capi.MachineSet,
        capi.Cluster,
        platform.infra_machine,
        platform.infra_cluster,
        config.Infrastructure,
        Event,
        clock=lambda: NOW,
    )
    described = {**row["infrastructure"], "apiVersion": "config.openshift.io/v1", "kind": "Infrastructure"}
    api.load(described, *(tree for tree in row["objects"] if tree["kind"] != "CustomResourceDefinition"))
    while True:
        rest = await reconcile(
            row["request"],
            observe=Observer(Fresh(api), platform=platform, namespaces=Namespaces()),
            decide=rules,
            executor=Executor(api, now=lambda: NOW),
            now=lambda: NOW,
        )
        if not any(ORPHAN_FINALIZER in infra.metadata.finalizers for infra in api.listing(platform.infra_machine)):
            return api, rest
        await collect_garbage(api)


def differences(row: dict[str, Any], api: MemoryApi, rest: Rest) -> dict[str, str]:
    """Path and change of everything that is not as recorded, of the objects that the recording shows at its end.

    Not compared: what is only ours, the notes on mirrors and status.synchronizedAPI.
    """
    recorded = {label(tree): scrubbed(tree) for tree in row["final"] or () if tree["kind"] in COMPARED}
    ours = {label(tree): scrubbed(tree) for tree in api.dump() if tree["kind"] in COMPARED}
    found = {change.path: str(change) for change in changes(recorded, ours)}
    if bool(row["passes"][-1].get("error")) != isinstance(rest.next, Retry):
        found["error"] = f"{row['passes'][-1].get('error')!r} -> {rest.next}"
    return found


COMPARED = ("Machine", "MachineSet", "AWSMachine", "OpenStackMachine")
OF_ITS_OWN_RUN = (
    "synchronizedAPI",
    "resourceVersion",
    "uid",
    "creationTimestamp",
    "managedFields",
    "generation",
    "deletionGracePeriodSeconds",
)


MADE_HERE = r"created-uid-\d+|00000000-0000-4000-8000-\d{12}"
"""Uids that the recording and the model give to what is created."""


def label(tree: dict[str, Any]) -> str:
    if tree["kind"] == "Machine":
        return "machine_api" if tree["apiVersion"].startswith("machine.openshift.io") else "cluster_api"
    if tree["kind"] == "MachineSet":
        return "machine_api_set" if tree["apiVersion"].startswith("machine.openshift.io") else "cluster_api_set"
    return "infra"


def scrubbed(tree: dict[str, Any]) -> Any:
    """Without what every run gives its own value, and without what is empty or false."""
    metadata = {key: value for key, value in tree["metadata"].items() if key not in OF_ITS_OWN_RUN}
    annotations = metadata.get("annotations") or {}
    metadata["annotations"] = {key: value for key, value in annotations.items() if key not in BOOKKEEPING}
    status = {key: value for key, value in (tree.get("status") or {}).items() if key not in OF_ITS_OWN_RUN}
    return _scrubbed({**tree, "metadata": metadata, "status": status})


def _scrubbed(value: Any) -> Any:
    """Times of this run, recorded as `<NOW>` or null, are left out; earlier ones stay."""
    if isinstance(value, dict):
        scrubbed = {key: _scrubbed(inner) for key, inner in value.items()}
        return {key: inner for key, inner in scrubbed.items() if inner not in ({}, [], "", None, False)}
    if isinstance(value, list):
        return [_scrubbed(item) for item in value]
    if isinstance(value, str) and re.fullmatch(MADE_HERE, value):
        return "made here"
    if isinstance(value, str) and (value == "<NOW>" or re.fullmatch(r"2026-05-01T.*Z", value)):
        return None
    return value
