"""`windlass machines describe`: what is found out about one name, and how it looks."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.unit.machine_sync.planning.documents import UNMIRRORED
from windlass.api import capi, mapi
from windlass.api.core import Event
from windlass.capability.documents import read
from windlass.capability.planning.given import take_in
from windlass.kube.errors import Forbidden, Status
from windlass.kube.object import Object
from windlass.machine_sync.cli.machines.describe import view
from windlass.machine_sync.constants import Namespaces
from windlass.machine_sync.inspection.description import Ambiguous, MachineInspection, look
from windlass.machine_sync.inspection.facts import InvolvedObject, described, happenings
from windlass.machine_sync.overview import MACHINE_SETS, MACHINES, AnyKind
from windlass.machine_sync.planning.deciders import kinds, scope
from windlass.model import MemoryApi

Tree = dict[str, Any]

NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
PLACES = Namespaces()
HERE, THERE = PLACES
WORKER = "worker-0"
SYNCHRONIZED: Tree = {
    "type": "Synchronized",
    "status": "False",
    "severity": "Error",
    "reason": "FailedToConvertCAPIMachineToMAPI",
    "message": "spec.version: Invalid value:\n\x1b[2Jv1",
    "lastTransitionTime": "2026-05-01T11:34:00Z",
}
MIRROR: Tree = {
    "apiVersion": "machine.openshift.io/v1beta1",
    "kind": "Machine",
    "metadata": {
        "name": "worker-0",
        "namespace": HERE,
        "uid": "mapi-uid",
        "generation": 2,
        "creationTimestamp": "2026-05-01T09:00:00Z",
        "deletionTimestamp": "2026-05-01T11:56:00Z",
        "finalizers": ["machine.machine.openshift.io", "sync.machine.openshift.io/finalizer"],
        "ownerReferences": [
            {"apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet", "name": "workers", "uid": "set-uid"}
        ],
    },
    "spec": {"authoritativeAPI": "MachineAPI", "providerID": "openstack:///1"},
    "status": {
        "phase": "Deleting",
        "authoritativeAPI": "ClusterAPI",
        "synchronizedGeneration": 1,
        "addresses": [{"type": "InternalIP", "address": "10.0.0.4"}, {"type": "Hostname", "address": "worker-0"}],
        "nodeRef": {"name": "node-0"},
        "conditions": [SYNCHRONIZED],
        "providerStatus": {"conditions": [{"type": "MachineCreated", "status": "True", "reason": "Created"}]},
    },
}


def event(name: str, about: Tree, *, last: str, **fields: Any) -> Tree:
    meta = about["metadata"]
    involved = {"apiVersion": about["apiVersion"], "kind": about["kind"], "name": meta["name"], "uid": meta.get("uid")}
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": meta["namespace"]},
        "involvedObject": {**involved, "namespace": meta["namespace"]},
        "type": "Normal",
        "reason": "Told",
        "message": name,
        "source": {"component": "somebody"},
        "lastTimestamp": last,
        "count": 1,
        **fields,
    }


def cluster(*trees: Tree, text: str = UNMIRRORED) -> MemoryApi:
    api = MemoryApi(*kinds(), clock=lambda: NOW)
    api.load(*take_in(read("files", text.encode()), scope(PLACES)).trees, *trees)
    return api


async def sight(api: MemoryApi, name: str = WORKER, kind: AnyKind | None = MACHINES) -> MachineInspection:
    found = await look(api, PLACES, name, kind=kind, now=NOW)
    assert found is not None
    return found


async def page(api: MemoryApi, name: str = WORKER, kind: AnyKind = MACHINES) -> list[str]:
    return view.as_text(await sight(api, name, kind), PLACES, now=NOW, colour=False)


def section(lines: list[str], title: str) -> list[str]:
    """The lines below a title, up to the next empty one."""
    start = next(at for at, line in enumerate(lines) if line.startswith(title))
    end = next((at for at in range(start, len(lines)) if not lines[at]), len(lines))
    return lines[start:end]


# The page


async def test_the_page_begins_with_who_is_authoritative_and_whether_it_is_in_sync() -> None:
    lines = await page(cluster(MIRROR))

    assert lines[:5] == [
        "Name:          worker-0",
        "Kind:          Machine",
        "Authority:     ClusterAPI, MachineAPI wanted",
        "Synchronized:  False (FailedToConvertCAPIMachineToMAPI) for 26m",
        "Generation:    1 synchronized, 1 at the authority",
    ]


async def test_while_authority_migrates_the_page_says_from_where_to_where() -> None:
    status = {**MIRROR["status"], "authoritativeAPI": "Migrating", "synchronizedAPI": "ClusterAPI"}
    lines = await page(cluster({**MIRROR, "status": status}))

    assert lines[2] == "Authority:     Migrating from ClusterAPI to MachineAPI"


async def test_a_side_has_its_facts_and_all_its_conditions_with_since() -> None:
    assert section(await page(cluster(MIRROR)), "Machine API") == [
        "Machine API: Machine openshift-machine-api/worker-0",
        "  Age:          3h",
        "  Deleting:     for 4m",
        "  Paused:       status.authoritativeAPI is ClusterAPI",
        "  Phase:        Deleting",
        "  Provider ID:  openstack:///1",
        "  Node:         node-0",
        "  Addresses:    InternalIP 10.0.0.4, Hostname worker-0",
        "  Owners:       MachineSet/workers",
        "  Finalizers:   machine.machine.openshift.io, sync.machine.openshift.io/finalizer",
        "  Conditions:",
        "    TYPE                            STATUS   REASON                             SINCE       MESSAGE",
        "    Synchronized                    False    FailedToConvertCAPIMachineToMAPI   26m         "
        r"spec.version: Invalid value:\n\x1b[2Jv1",
        "    providerStatus.MachineCreated   True     Created                            <unknown>   <none>",
    ]


async def test_a_side_that_does_not_exist_is_said() -> None:
    lines = await page(cluster())

    assert "Machine API: does not exist in openshift-machine-api" in lines
    assert lines[2:4] == [
        "Authority:     ClusterAPI (no object in the Machine API says otherwise)",
        "Synchronized:  never",
    ]


async def test_the_infrastructure_machine_is_shown_or_missed() -> None:
    assert "Infrastructure: OpenStackMachine openshift-cluster-api/worker-0" in await page(cluster())

    lines = await page(cluster(), "alone")
    assert "Infrastructure: OpenStackMachine/alone was not found" in lines


async def test_a_machine_set_has_its_replicas_and_its_template() -> None:
    lines = await page(cluster(), "workers", MACHINE_SETS)

    assert "  Replicas:        1 desired, - current, - ready, - available" in section(lines, "Cluster API")
    assert "  Infrastructure:  OpenStackMachineTemplate/workers" in section(lines, "Cluster API")
    assert "Infrastructure: OpenStackMachineTemplate openshift-cluster-api/workers" in lines


async def test_the_plan_is_the_one_that_windlass_would_apply_next() -> None:
    lines = section(await page(cluster()), "Plan")

    assert lines[0].startswith("Plan:")
    assert any(
        line.startswith("  create Machine.machine.openshift.io openshift-machine-api/worker-0") for line in lines
    )
    assert lines[-1] == "  then look again at once"


async def test_a_mirror_with_taints_shows_that_windlass_mirrors_them_so_the_plan_does_not_remove_them() -> None:
    template = {"providerSpec": {"value": {"kind": "OpenstackProviderSpec", "flavor": "m1", "image": "rhcos"}}}
    trees: list[Tree] = [
        {
            "apiVersion": api_version,
            "kind": "MachineSet",
            "metadata": {"name": "gpu", "namespace": namespace, "uid": namespace, "generation": 1, **metadata},
            "spec": {"template": {"spec": {**spec, "taints": [{"key": "gpu", "effect": "NoSchedule", **taint}]}}},
            "status": status,
        }
        for api_version, namespace, metadata, spec, taint, status in (
            ("machine.openshift.io/v1beta1", HERE, {}, template, {}, {"authoritativeAPI": "MachineAPI"}),
            (
                "cluster.x-k8s.io/v1beta2",
                THERE,
                {"annotations": {"cluster.x-k8s.io/paused": ""}},
                {},
                {"propagation": "Always"},
                {},
            ),
        )
    ]
    core = {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": {"name": "c", "namespace": THERE}}

    lines = section(await page(cluster(*trees, core), "gpu", MACHINE_SETS), "Plan:")

    assert any("spec.template.spec.clusterName" in line for line in lines)
    assert not any("taints" in line for line in lines)


async def test_without_a_platform_the_rest_is_shown_and_the_plan_says_why_not() -> None:
    api = cluster(text=UNMIRRORED.replace("type: OpenStack", "type: BareMetal"))
    lines = await page(api)

    assert "Cluster API: Machine openshift-cluster-api/worker-0" in lines
    assert section(lines, "Plan")[0].startswith("Plan: none: Machine sync does not serve platform BareMetal")


async def test_an_object_that_does_not_have_the_shape_of_its_kind_is_described_all_the_same() -> None:
    broken = {**MIRROR, "spec": {"authoritativeAPI": 7, "providerID": "openstack:///1"}}
    lines = section(await page(cluster(broken)), "Machine API")

    assert lines[1].startswith("  Unreadable:   Machine openshift-machine-api/worker-0: ")
    assert "  Provider ID:  openstack:///1" in lines


# Events


async def test_events_of_all_its_objects_are_shown_newest_last() -> None:
    source = {**MIRROR, "apiVersion": "cluster.x-k8s.io/v1beta2"}
    source["metadata"] = {"name": "worker-0", "namespace": THERE, "uid": "00000000-0000-4000-8000-0000000000a0"}
    infra = {**source, "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "OpenStackMachine"}
    infra["metadata"] = {"name": "worker-0", "namespace": THERE, "uid": "infra-uid"}
    api = cluster(
        MIRROR,
        event("second", source, last="2026-05-01T11:58:30Z", type="Warning", count=3),
        event("third", MIRROR, last="2026-05-01T11:59:30Z"),
        event("first", infra, last="2026-05-01T11:00:00Z"),
    )

    heading, *lines = section(await page(api), "Events")

    assert heading == "Events:"
    assert [line.split() for line in lines] == [
        ["LAST", "SEEN", "TYPE", "REASON", "OBJECT", "FROM", "MESSAGE"],
        ["60m", "Normal", "Told", "OpenStackMachine.infrastructure.cluster.x-k8s.io/worker-0", "somebody", "first"],
        ["90s", "Warning", "Told", "Machine.cluster.x-k8s.io/worker-0", "somebody", "second", "(x3)"],
        ["30s", "Normal", "Told", "Machine.machine.openshift.io/worker-0", "somebody", "third"],
    ]


def events(*trees: Tree) -> list[Object[Event]]:
    return [Object.of(Event, tree) for tree in trees]


def test_only_the_last_events_are_shown() -> None:
    told = events(*(event(f"{number:02}", MIRROR, last=f"2026-05-01T11:{number:02}:00Z") for number in range(30)))
    subject = InvolvedObject(mapi.Machine, HERE, "worker-0", "mapi-uid")

    found = happenings(reversed(told), [subject], at_most=10)

    assert [one.message for one in found] == [f"{number}" for number in range(20, 30)]


def test_events_of_an_earlier_object_of_the_name_are_those_of_somebody_else() -> None:
    earlier = {**MIRROR, "metadata": {**MIRROR["metadata"], "uid": "earlier-uid"}}
    told = events(event("old", earlier, last="2026-05-01T11:00:00Z"))

    assert happenings(told, [InvolvedObject(mapi.Machine, HERE, "worker-0", "mapi-uid")], at_most=10) == []
    # Of one that does not exist any more they are all there is.
    assert len(happenings(told, [InvolvedObject(mapi.Machine, HERE, "worker-0")], at_most=10)) == 1


def test_events_of_another_kind_of_the_same_name_are_left_out() -> None:
    told = events(event("old", {**MIRROR, "kind": "MachineSet"}, last="2026-05-01T11:00:00Z"))

    assert happenings(told, [InvolvedObject(mapi.Machine, HERE, "worker-0")], at_most=10) == []


@pytest.mark.parametrize(
    ("fields", "last"),
    [
        ({"lastTimestamp": None, "eventTime": "2026-05-01T11:00:00.000001Z"}, "2026-05-01T11:00:00.000001Z"),
        ({"lastTimestamp": None}, ""),
    ],
)
def test_an_event_of_the_newer_kind_has_its_time_elsewhere(fields: Tree, last: str) -> None:
    told = events(event("x", MIRROR, last="", **fields))

    (found,) = happenings(told, [InvolvedObject(mapi.Machine, HERE, "worker-0")], at_most=10)

    assert found.last == last


# Names, and what may not be read


async def test_a_name_that_nothing_has_is_nothing() -> None:
    assert await look(cluster(), PLACES, "none", now=NOW) is None


async def test_a_name_alone_is_whatever_has_it() -> None:
    assert (await sight(cluster(), WORKER, None)).row.kind == "Machine"
    assert (await sight(cluster(), "workers", None)).row.kind == "MachineSet"


async def test_a_name_of_a_machine_and_of_a_machine_set_is_ambiguous() -> None:
    api = cluster(text=UNMIRRORED.replace("name: alone", "name: workers", 1))

    with pytest.raises(Ambiguous):
        await look(api, PLACES, "workers", now=NOW)
    assert (await sight(api, "workers", MACHINES)).row.kind == "Machine"


async def test_a_side_that_may_not_be_read_is_missing_and_the_other_is_shown() -> None:
    api = cluster(MIRROR)
    api.fail_next("get", mapi.Machine, Forbidden(Status("Failure", "no", "Forbidden", 403)))

    found = await sight(api)

    assert found.machine_api is None
    assert found.cluster_api is not None
    assert [trouble.what for trouble in found.troubles] == ["machines.machine.openshift.io"]


async def test_events_that_may_not_be_read_are_no_reason_to_show_nothing() -> None:
    api = cluster()
    api.fail_next("list", Event, Forbidden(Status("Failure", "no", "Forbidden", 403)), times=2)

    found = await sight(api)

    assert found.events == []
    assert [trouble.what for trouble in found.troubles] == [f"events in {THERE}", f"events in {HERE}"]
    assert found.plan is not None


async def test_neither_side_readable_is_an_error() -> None:
    api = cluster()
    for kind in (mapi.Machine, capi.Machine):
        api.fail_next("get", kind, Forbidden(Status("Failure", "no", "Forbidden", 403)))

    with pytest.raises(Forbidden):
        await look(api, PLACES, WORKER, kind=MACHINES, now=NOW)


# JSON


async def test_json_has_every_documented_key() -> None:
    document = json.loads(view.as_json(await sight(cluster(MIRROR))))

    assert list(document) == [
        "kind",
        "name",
        "authority",
        "desiredAuthority",
        "synchronized",
        "generation",
        "machineAPI",
        "clusterAPI",
        "infrastructure",
        "events",
        "plan",
        "unavailable",
    ]
    assert document["machineAPI"]["conditions"][0] == {
        "type": "Synchronized",
        "status": "False",
        "severity": "Error",
        "reason": "FailedToConvertCAPIMachineToMAPI",
        "message": "spec.version: Invalid value:\n\x1b[2Jv1",
        "since": "2026-05-01T11:34:00Z",
        "of": "",
    }
    assert document["machineAPI"]["finalizers"] == [
        "machine.machine.openshift.io",
        "sync.machine.openshift.io/finalizer",
    ]
    assert document["infrastructure"]["kind"] == "OpenStackMachine"
    assert document["plan"]["kind"] == "Machine"


@pytest.mark.parametrize("odd", [None, 7, "text", [1], {"conditions": 7, "addresses": [7], "phase": {}}])
def test_nothing_in_an_object_is_too_odd_to_be_described(odd: Any) -> None:
    for kind in (mapi.Machine, mapi.MachineSet, capi.Machine, capi.MachineSet):
        tree = {"metadata": {"name": "a", "namespace": HERE}, "spec": odd, "status": odd}
        assert described(Object.of(kind, tree)).name == "a"
