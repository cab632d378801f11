"""Recorded runs of OpenShift's machine set sync controller, taken to rest by ours on the in-memory model.

Compared are the final objects, and whether the last pass ended in an error or at rest; not the number or form of the
writes, of which ours needs fewer. Where ours ends elsewhere on purpose, `DEVIATIONS` names the fields and why.
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
from windlass.kube.executor import Executor
from windlass.kube.merge import changes
from windlass.kube.plan import Retry
from windlass.kube.rounds import Decide, Rest, reconcile
from windlass.machine_sync.constants import BOOKKEEPING, Namespaces
from windlass.machine_sync.machine_set.controller import machine_set_controller
from windlass.machine_sync.machine_set.decide import decide
from windlass.machine_sync.machine_set.snapshot import MachineSetSnapshot
from windlass.machine_sync.platforms import PLATFORMS
from windlass.testing.memory import MemoryApi
from windlass.testing.memory.reader import MemoryReader

DATA = Path(__file__).parents[3] / "data" / "machine_sync" / "controllers.jsonl.gz"
NOW = datetime(2026, 5, 1, tzinfo=UTC)


class Deviation(NamedTuple):
    why: str
    paths: set[str]
    """Exactly the fields that differ."""


CONDITIONS = "cluster_api.status.conditions"
SYNCHRONIZED = "machine_api.status.conditions[1]"


def said(*fields: str) -> set[str]:
    return {f"{SYNCHRONIZED}.{field}" for field in fields}


CONDITIONS_AT_LAST = Deviation(
    "upstream overwrites the converted conditions of v1beta2 with the observed ones; ours are written", {CONDITIONS}
)
STATUS_UNGATED = Deviation(
    "upstream writes the mirror's status when the Machine API has observed its generation; ours is what there is",
    {
        CONDITIONS,
        "cluster_api.status.availableReplicas",
        "cluster_api.status.deprecated.v1beta1.conditions",
        "cluster_api.status.deprecated.v1beta1.readyReplicas",
        "cluster_api.status.observedGeneration",
        "cluster_api.status.readyReplicas",
        "cluster_api.status.selector",
    },
)
SAID_AT_LAST = Deviation("upstream says nothing on the object when the Cluster is missing", {SYNCHRONIZED})
LEFT_TO_CLUSTER_API = Deviation(
    "upstream takes Cluster API's finalizer off a mirror that is not paused, of which Cluster API does so itself",
    {"cluster_api", "machine_api"},
)


def compared_at_last(*paths: str) -> Deviation:
    return Deviation(
        "upstream cannot compare provider specs of OpenStack, so it reports an error for ever; ours synchronizes",
        {"error", "machine_api.spec.template.spec.metadata", *paths},
    )


NOTED = ("machine_api.status.observedGeneration", "machine_api.status.synchronizedGeneration")

DEVIATIONS: dict[str, Deviation] = {
    "AWS-mapi-auth-create": CONDITIONS_AT_LAST,
    "AWS-mapi-auth-create-nofinalizer": CONDITIONS_AT_LAST,
    "AWS-mapi-auth-labelled-outdated-template-deleted": CONDITIONS_AT_LAST,
    "AWS-mapi-auth-observed-generation-behind": STATUS_UNGATED,
    "AWS-mapi-auth-no-cluster": SAID_AT_LAST,
    "AWS-mapi-auth-no-infracluster": Deviation(
        "the recording ends after two passes; a mirror has its status when it is at rest", {"cluster_api.status"}
    ),
    "AWS-mapi-auth-deleting": LEFT_TO_CLUSTER_API,
    "AWS-mapi-auth-capi-deleting": LEFT_TO_CLUSTER_API,
    "AWS-capi-auth-no-capi": Deviation(
        "the noted generation never goes down, which the API would refuse",
        {"machine_api.status.synchronizedGeneration"},
    ),
    "AWS-capi-auth-capi-generation-not-observed": Deviation(
        "upstream writes the mirror's status when Cluster API has observed its generation; ours is what there is",
        {"machine_api.status.observedGeneration", "machine_api.status.readyReplicas"},
    ),
    "OpenStack-mapi-auth-create": CONDITIONS_AT_LAST,
    "OpenStack-mapi-auth-labelled-outdated-template-deleted": CONDITIONS_AT_LAST,
    "OpenStack-mapi-auth-observed-generation-behind": STATUS_UNGATED,
    "OpenStack-mapi-auth-no-cluster": SAID_AT_LAST,
    "OpenStack-capi-auth-no-capi": compared_at_last(*said("message")),
    "OpenStack-capi-auth-in-sync": compared_at_last(SYNCHRONIZED, *NOTED),
    "OpenStack-capi-auth-replicas-changed": compared_at_last(SYNCHRONIZED, *NOTED, "machine_api.spec.replicas"),
    "OpenStack-capi-auth-selector-preserved": compared_at_last(SYNCHRONIZED, *NOTED, "machine_api.spec.replicas"),
    "OpenStack-capi-auth-template-labels-removed-in-capi-are-kept": Deviation(
        "as before; and what is removed from the template goes from the mirror's",
        {
            *compared_at_last(SYNCHRONIZED, *NOTED, "machine_api.spec.replicas").paths,
            "machine_api.spec.template.metadata.labels.old",
        },
    ),
    "OpenStack-capi-auth-clustername-empty": Deviation(
        "upstream says so in an Event alone; ours says so on the object too", {SYNCHRONIZED}
    ),
}


def recorded(controller: str) -> Iterator[Any]:
    with gzip.open(DATA, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = msgspec.json.decode(line)
            if row["controller"] == controller:
                yield pytest.param(row, id=f"{row['platform']}-{row['case']}")


def test_every_deviation_is_of_a_recorded_run() -> None:
    assert set(DEVIATIONS) <= {str(row.id) for row in recorded("machinesetsync")}


@pytest.mark.parametrize("row", [*recorded("machinesetsync")])
async def test_a_recorded_run_ends_as_recorded(row: dict[str, Any]) -> None:
    api, rest = await rest_of(row, decide)
    deviation = DEVIATIONS.get(f"{row['platform']}-{row['case']}")
    found = differences(row, api, rest)
    assert sorted(found) == sorted(deviation.paths if deviation else ()), "\n".join(found.values())


async def rest_of(row: dict[str, Any], rules: Decide[MachineSetSnapshot]) -> tuple[MemoryApi, Rest]:
    """The model after the run, which began with what was recorded, by `rules` alone."""
    platform = PLATFORMS[row["platform"]]
    api = MemoryApi(
        mapi.MachineSet,
        capi.MachineSet,
        capi.Cluster,
        platform.infra_machine,
        platform.infra_template,
        platform.infra_cluster,
        config.Infrastructure,
        Event,
        clock=lambda: NOW,
    )
    described = {**row["infrastructure"], "apiVersion": "config.openshift.io/v1", "kind": "Infrastructure"}
    api.load(described, *(tree for tree in row["objects"] if tree["kind"] != "CustomResourceDefinition"))
    reader = MemoryReader(api)
    controller = machine_set_controller(reader, platform=platform, namespaces=Namespaces())
    for watch in controller.watches:
        for index, values in watch.indexes.items():
            reader.add_index(watch.kind, index, values)
    rest = await reconcile(
        row["request"],
        observe=controller.observe,
        decide=rules,
        executor=Executor(api, now=lambda: NOW),
        now=lambda: NOW,
    )
    return api, rest


def differences(row: dict[str, Any], api: MemoryApi, rest: Rest) -> dict[str, str]:
    """Path and change of everything that is not as recorded, of the objects that the recording shows at its end.

    Not compared: what is only ours, the notes on mirrors and status.synchronizedAPI.
    """
    recorded = {label(tree): scrubbed(tree) for tree in row["final"] or () if label(tree)}
    ours = {label(tree): scrubbed(tree) for tree in api.dump() if label(tree)}
    found = {change.path: str(change) for change in changes(recorded, ours)}
    if bool(row["passes"][-1].get("error")) != isinstance(rest.next, Retry):
        found["error"] = f"{row['passes'][-1].get('error')!r} -> {rest.next}"
    return found


OF_ITS_OWN_RUN = (
    "synchronizedAPI",
    "resourceVersion",
    "uid",
    "creationTimestamp",
    "managedFields",
    "generation",
    "deletionGracePeriodSeconds",
)


def label(tree: dict[str, Any]) -> str:
    """What an object is called here; empty if it is not compared."""
    if tree["kind"] == "MachineSet":
        return "machine_api" if tree["apiVersion"].startswith("machine.openshift.io") else "cluster_api"
    return f"template {tree['metadata']['name']}" if tree["kind"].endswith("MachineTemplate") else ""


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
    if isinstance(value, str) and (value == "<NOW>" or re.fullmatch(r"2026-05-01T.*Z", value)):
        return None
    return value
