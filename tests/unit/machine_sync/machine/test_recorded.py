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

from windlass.api import capi, mapi
from windlass.api.core import Event
from windlass.api.meta import K
from windlass.kube.executor import Executor
from windlass.kube.merge import changes
from windlass.kube.plan import Retry
from windlass.kube.rounds import Rest, reconcile
from windlass.kube.seen import Seen, seen
from windlass.machine_sync.constants import Namespaces
from windlass.machine_sync.machine.decide import decide
from windlass.machine_sync.machine.observe import Observer
from windlass.machine_sync.platforms import PLATFORMS
from windlass.testing.memory import MemoryApi

DATA = Path(__file__).parents[3] / "data" / "machine_sync" / "controllers.jsonl.gz"
NOW = datetime(2026, 5, 1, tzinfo=UTC)

NEEDS_CREATION_OF_THE_SOURCE = "capi-auth-no-capi-machine-creates-unpaused"
"""The one recording that is about the other direction."""


class Deviation(NamedTuple):
    why: str
    paths: set[str]
    """Exactly the fields that differ."""


CONDITION = {f"mirror.status.conditions[1].{field}" for field in ("status", "severity", "reason", "message")}
DERIVED_LABELS = {f"mirror.metadata.labels.machine.openshift.io/{label}" for label in ("instance-type", "zone")}


def seed(*status: str) -> Deviation:
    return Deviation(
        "status, authority and our finalizer are there as soon as the mirror is; upstream needs its migration "
        "controller, further passes and a third writer for them",
        {"mirror.metadata.finalizers[1]", *status},
    )


def compared_at_last(*paths: str) -> Deviation:
    return Deviation(
        "upstream cannot compare provider specs of OpenStack, so it reports an error for ever; ours synchronizes",
        {"error", "mirror.spec.metadata", "mirror.status.synchronizedGeneration", *CONDITION, *DERIVED_LABELS, *paths},
    )


DEVIATIONS: dict[str, Deviation] = {
    "AWS-capi-only-owned-mapi-ms-exists-SEED": seed("mirror.status.providerStatus", "mirror.status.authoritativeAPI"),
    "AWS-capi-only-owned-mapi-ms-exists-nofinalizers-SEED": seed(
        "mirror.status.providerStatus", "mirror.status.authoritativeAPI"
    ),
    "OpenStack-capi-only-owned-mapi-ms-exists-nofinalizers-SEED": seed("mirror.status"),
    "AWS-capi-only-owned-deleting": Deviation(
        "upstream ignores a machine that is being deleted without a mirror, so its finalizer holds it for ever",
        {"infra.metadata.finalizers[1]", "source.metadata.finalizers[1]"},
    ),
    "OpenStack-capi-auth-status-changed": compared_at_last(
        "mirror.status.addresses", "mirror.status.nodeRef.name", "mirror.status.phase"
    ),
    "OpenStack-capi-auth-spec-and-status-changed": compared_at_last(
        "mirror.spec.providerSpec.value.flavor", "mirror.metadata.labels.new", "mirror.status.nodeRef.name"
    ),
    "OpenStack-capi-auth-owner-cluster-dropped": compared_at_last(
        "mirror.metadata.ownerReferences", "mirror.status.nodeRef", "mirror.status.phase"
    ),
    "OpenStack-capi-auth-owner-machineset": compared_at_last(
        "mirror.metadata.ownerReferences", "mirror.status.nodeRef", "mirror.status.phase"
    ),
    "OpenStack-capi-auth-owner-machineset-no-mapi-ms": Deviation(
        "upstream only logs that the owner has no twin and leaves Synchronized as it was, True included",
        {"mirror.status.conditions[1]"},
    ),
}


def rows() -> Iterator[Any]:
    with gzip.open(DATA, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = msgspec.json.decode(line)
            if row["controller"] != "machinesync" or not row["case"].startswith("capi-"):
                continue
            if row["case"] != NEEDS_CREATION_OF_THE_SOURCE:
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
    assert set(DEVIATIONS) <= {str(row.id) for row in rows()}


@pytest.mark.parametrize("row", [*rows()])
async def test_a_recorded_run_ends_as_recorded(row: dict[str, Any]) -> None:
    platform = PLATFORMS[row["platform"]]
    api = MemoryApi(
        mapi.Machine,
        mapi.MachineSet,
        capi.Machine,
        capi.MachineSet,
        capi.Cluster,
        platform.infra_machine,
        platform.infra_cluster,
        Event,
        clock=lambda: NOW,
    )
    api.load(*(tree for tree in row["objects"] if tree["kind"] != "CustomResourceDefinition"))
    rest = await reconcile(
        row["request"],
        observe=Observer(Fresh(api), platform=platform, namespaces=Namespaces()),
        decide=decide,
        executor=Executor(api, now=lambda: NOW),
        now=lambda: NOW,
    )
    deviation = DEVIATIONS.get(f"{row['platform']}-{row['case']}")
    found = differences(row, api, rest)
    assert sorted(found) == sorted(deviation.paths if deviation else ())


def differences(row: dict[str, Any], api: MemoryApi, rest: Rest) -> dict[str, str]:
    """Path and change of everything that is not as recorded, of the objects that the recording shows at its end."""
    recorded = {label(tree): scrubbed(tree) for tree in row["final"] or () if tree["kind"] in COMPARED}
    ours = {label(tree): scrubbed(tree) for tree in api.dump() if tree["kind"] in COMPARED}
    found = {change.path: str(change) for change in changes(recorded, ours)}
    if bool(row["passes"][-1].get("error")) != isinstance(rest.next, Retry):
        found["error"] = f"{row['passes'][-1].get('error')!r} -> {rest.next}"
    return found


COMPARED = ("Machine", "MachineSet", "AWSMachine", "OpenStackMachine")
OF_ITS_OWN_RUN = (
    "resourceVersion",
    "uid",
    "creationTimestamp",
    "managedFields",
    "generation",
    "deletionGracePeriodSeconds",
)


def label(tree: dict[str, Any]) -> str:
    if tree["kind"] == "Machine":
        return "mirror" if tree["apiVersion"].startswith("machine.openshift.io") else "source"
    if tree["kind"] == "MachineSet":
        return "mirror_set" if tree["apiVersion"].startswith("machine.openshift.io") else "source_set"
    return "infra"


def scrubbed(tree: dict[str, Any]) -> Any:
    """Without what every run gives its own value, and without what is empty or false."""
    metadata = {key: value for key, value in tree["metadata"].items() if key not in OF_ITS_OWN_RUN}
    return _scrubbed({**tree, "metadata": metadata})


def _scrubbed(value: Any) -> Any:
    """Times of this run, recorded as `<NOW>` or null, are left out; earlier ones stay."""
    if isinstance(value, dict):
        scrubbed = {key: _scrubbed(inner) for key, inner in value.items()}
        return {key: inner for key, inner in scrubbed.items() if inner not in ({}, [], "", None, False)}
    if isinstance(value, list):
        return [_scrubbed(item) for item in value]
    if isinstance(value, str) and (value == "<NOW>" or re.fullmatch(r"2026-05-01T.*Z", value)):
        return None
    return value
