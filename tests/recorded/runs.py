"""Recorded runs of OpenShift's machine sync controllers: what began them, how they ended, and how ours end instead.

Compared are the final objects, and whether the last pass ended in an error, a requeue or rest; not the number or form
of the writes, of which ours needs fewer. Where ours ends elsewhere on purpose, a `Deviation` names the fields and why.
"""

import gzip
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from tests.unit.machine_sync.trees import Tree
from windlass.api import capi, config, mapi
from windlass.api.apiextensions import CustomResourceDefinition
from windlass.api.core import Event, Namespace
from windlass.kube.control.merge import FieldChange, changes
from windlass.kube.control.plan import Plan, Retry
from windlass.kube.control.rounds import Ending
from windlass.kube.control.seen import Present
from windlass.machine_sync.constants import BOOKKEEPING, MIGRATING, PAUSED_ANNOTATION
from windlass.machine_sync.machine.snapshot import MachineSnapshot
from windlass.machine_sync.machine_set.snapshot import MachineSetSnapshot
from windlass.machine_sync.mirroring import migration
from windlass.machine_sync.mirroring.synchronized import fill_authority
from windlass.machine_sync.platforms import PLATFORMS
from windlass.model import MemoryApi

DATA = Path(__file__).parents[1] / "data" / "machine_sync" / "controllers.jsonl.gz"
NOW = datetime(2026, 5, 1, tzinfo=UTC)


class Deviation(NamedTuple):
    why: str
    paths: set[str]
    """Exactly the fields that differ."""


def tagged(before: Deviation | None, *paths: str) -> Deviation:
    """The deviation, and that our OpenStackMachines have the two tags that the Machine API adds to all servers."""
    why = "an OpenStackMachine asks for the tags that the Machine API adds to all servers; upstream's does not"
    if before is None:
        return Deviation(why, {*paths})
    return Deviation(f"{before.why}; and {why}", {*before.paths, *paths})


def recorded(controller: str) -> Iterator[Any]:
    """The runs of one of OpenShift's controllers, as parameters of a test."""
    with gzip.open(DATA, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = msgspec.json.decode(line)
            if row["controller"] == controller:
                yield pytest.param(row, id=name_of(row))


def name_of(row: Tree) -> str:
    return f"{row['platform']}-{row['case']}"


def began(row: Tree) -> MemoryApi:
    """The model as the run began: the objects that were recorded, and all kinds that these are of."""
    platform = PLATFORMS[row["platform"]]
    api = MemoryApi(
        mapi.Machine,
        mapi.MachineSet,
        capi.Machine,
        capi.MachineSet,
        capi.Cluster,
        platform.infra_machine,
        platform.infra_template,
        platform.infra_cluster,
        config.Infrastructure,
        CustomResourceDefinition,
        Namespace,
        Event,
        clock=lambda: NOW,
    )
    described = {**row["infrastructure"], "apiVersion": "config.openshift.io/v1", "kind": "Infrastructure"}
    api.load(described, *(tree for tree in row["objects"] if tree["kind"] != "CustomResourceDefinition"))
    return api


def authority_alone(seen: MachineSnapshot | MachineSetSnapshot, *, now: datetime) -> Plan:
    """Our rules of migration without those of synchronization, which OpenShift has in another controller."""
    found = seen.machine_api
    if not isinstance(found, Present):
        return Plan.nothing()
    if not found.object.status.authoritative_api:
        return fill_authority(found, "")
    if found.object.status.authoritative_api == MIGRATING:
        return migration.proceed(seen.move, in_sync=lambda: True, now=now)
    if seen.move.requested and migration.is_synchronized(seen.move, authority=seen.move.status):
        return migration.begin(seen.move)
    return Plan.nothing()


def with_cluster(row: Tree) -> Tree:
    """The run on a cluster that has its Cluster and infrastructure cluster, which synchronization asks for."""
    platform, name = PLATFORMS[row["platform"]], row["infrastructure"]["status"]["infrastructureName"]
    known = {tree["kind"] for tree in row["objects"]}
    added = [
        {
            "apiVersion": kind.RESOURCE.api_version,
            "kind": kind.RESOURCE.kind,
            "metadata": {"name": name, "namespace": "openshift-cluster-api", "uid": f"uid-of-{kind.RESOURCE.kind}"},
            "spec": {},
        }
        for kind in (capi.Cluster, platform.infra_cluster)
        if kind.RESOURCE.kind not in known
    ]
    return {**row, "objects": [*row["objects"], *added]}


class Standing(NamedTuple):
    """Who is authoritative, and which objects of Cluster API are asked to pause."""

    authority: str
    paused: frozenset[str]


def standing(trees: Iterable[Tree], label: Callable[[Tree], str]) -> Standing:
    authority, paused = "", set()
    for tree in trees:
        if label(tree) == "machine_api":
            authority = (tree.get("status") or {}).get("authoritativeAPI", "")
        elif label(tree) and PAUSED_ANNOTATION in (tree["metadata"].get("annotations") or {}):
            paused.add(label(tree))
    return Standing(authority, frozenset(paused))


def assert_passes_through_the_recorded_end(
    row: Tree, states: Iterable[Standing], *, label: Callable[[Tree], str], not_so: Mapping[str, str]
) -> None:
    """In one of `states`, authority and pauses were as the recorded run left them; `not_so` says where not, and why.

    Ours goes on from there: it synchronizes, which upstream leaves to another controller.
    """
    final = [tree for tree in row["final"] or () if label(tree)]
    known = {label(tree) for tree in final}
    ours = {Standing(state.authority, state.paused & known) for state in states}
    assert (standing(final, label) in ours) == (name_of(row) not in not_so), (standing(final, label), ours)


WAITS = Deviation("upstream reports an error where something is only not there yet; ours waits for it", {"error"})


def assert_as_recorded(
    row: Tree, api: MemoryApi, rest: Ending, *, label: Callable[[Tree], str], deviations: Mapping[str, Deviation]
) -> None:
    """The run ended as recorded, but for exactly the deviation that there is for it.

    `label` says what an object is called in paths; empty if it is not compared. Not compared either: what is only
    ours, the notes on mirrors and status.synchronizedAPI.
    """
    expected = {label(tree): scrubbed(tree) for tree in row["final"] or () if label(tree)}
    ours = {label(tree): scrubbed(tree) for tree in api.dump() if label(tree)}
    found = {change.path: str(change) for change in changes(expected, ours) if not is_of_encoding(change)} | other_end(
        row, rest
    )
    deviation = deviations.get(name_of(row))
    assert sorted(found) == sorted(deviation.paths if deviation else ()), "\n".join(found.values())


ENCODED_WHEN_ZERO: Mapping[str, Any] = {
    "infra_machine.status": {"ready": False},
    "infra_machine.status.ready": False,
    "cluster_api.spec.clusterName": "",
    "cluster_api.spec.infrastructureRef.name": "",
    "cluster_api.status.upToDateReplicas": 0,
    "machine_api.status.synchronizedGeneration": 0,
}
"""Fields that one of the two encodes with their zero value and the other leaves out. To Go they are the same."""


def is_of_encoding(change: FieldChange) -> bool:
    """The two differ in nothing but how a type encodes a field that is not set."""
    zero = ENCODED_WHEN_ZERO.get(change.path)
    return zero is not None and sorted((change.before, change.after), key=repr) == sorted((zero, None), key=repr)


def other_end(row: Tree, rest: Ending) -> dict[str, str]:
    """What differs, as `error`, if one of the two ended in an error and the other did not."""
    error = row["passes"][-1].get("error")
    return {"error": f"{error!r} -> {rest.next}"} if bool(error) != isinstance(rest.next, Retry) else {}


GOES_ON = "the recording ends with the first step; ours goes on, and asks Cluster API to pause"

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


def scrubbed(tree: Tree) -> Any:
    """Without what every run gives its own value, and without empty maps and lists."""
    metadata = {key: value for key, value in tree["metadata"].items() if key not in OF_ITS_OWN_RUN}
    annotations = metadata.get("annotations") or {}
    metadata["annotations"] = {key: value for key, value in annotations.items() if key not in BOOKKEEPING}
    status = {key: value for key, value in (tree.get("status") or {}).items() if key not in OF_ITS_OWN_RUN}
    return _scrubbed({**tree, "metadata": metadata, "status": status})


def is_absent(value: Any) -> bool:
    """Whether an API server holds this as if it were not there. Not so "", 0 and false: they say something."""
    return value is None or value == {} or value == []


def _scrubbed(value: Any) -> Any:
    """Times of this run, recorded as `<NOW>` or null, are left out; earlier ones stay."""
    if isinstance(value, dict):
        scrubbed = {key: _scrubbed(inner) for key, inner in value.items()}
        return {key: inner for key, inner in scrubbed.items() if not is_absent(inner)}
    if isinstance(value, list):
        return [_scrubbed(item) for item in value]
    if isinstance(value, str) and re.fullmatch(MADE_HERE, value):
        return "made here"
    if isinstance(value, str) and (value == "<NOW>" or re.fullmatch(r"2026-05-01T.*Z", value)):
        return None
    return value
