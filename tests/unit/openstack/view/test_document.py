"""What the view of OpenStack publishes: a part for each object, and nothing that grows without need."""

import gzip
from typing import Any

import msgspec
import pytest

from tests.unit.web.examples import (
    GOING,
    NO_FLAVOR,
    STOPPED,
    ago,
    clouds_document,
    clouds_objects,
    condition,
    failing,
    kept,
    machine,
    present,
    server_of,
    tree,
)
from windlass.api import mapi
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_cluster import OpenStackCluster
from windlass.openstack.view import clouds
from windlass.openstack.view.document import document
from windlass.openstack.view.rows import cluster_row, machine_api_row, machine_row
from windlass.web.following import Kept

OURS = ("cluster", "machine", "server", "pool")


def names(found: dict[str, Any], part: str) -> list[str]:
    return [key.rpartition("/")[2] for key in found if key.startswith(f"{part}/")]


def test_each_object_is_a_part_and_the_clusters_machines_are_counted() -> None:
    found = clouds_document()
    assert names(found, "cluster") == ["one"]
    assert found["cluster/prod/one"]["machines"] == len(names(found, "machine")) == 10
    assert names(found, "pool") == ["edge"]
    assert names(found, "machineapi") == ["two-worker-a"]


def test_a_server_is_told_only_if_its_machine_does_not_say_the_same() -> None:
    good, bad = machine("good"), machine("bad", 0, *failing("DependencyFailed", NO_FLAVOR, since=""))
    stray = {**server_of(bad), "metadata": {**server_of(bad)["metadata"], "name": "stray", "ownerReferences": []}}
    late = {**server_of(good), "status": {"conditions": [condition("Ready", "False", "InstanceNotFound", "gone")]}}
    told = clouds_document([good, bad, server_of(bad), late, stray])
    # `late` is the server of `good`; `stray` has the label of a cluster and stands for the machine of its name.
    assert names(told, "server") == ["good", "stray"]
    needs = [need.text.partition(":")[0] for need in told["brief"]["needs"]]
    assert needs == ["OpenStackMachine prod/bad and 1 more", "OpenStackServer prod/good"]


def unanswered(name: str, *, minutes: int) -> tuple[dict[str, Any], ...]:
    text = f"Failed to ask the cloud: compute (503): sorry, {name}"
    return failing("OpenStackError", text, since=ago(minutes=minutes), by_itself=True)


def test_what_a_cloud_does_to_many_machines_is_one_trouble() -> None:
    many = [machine(f"a-{number}", 0, *unanswered(f"a-{number}", minutes=number + 1)) for number in range(400)]
    wrong = machine("b", 0, *failing("DependencyFailed", NO_FLAVOR, since=ago(minutes=1)))
    found = clouds_document([*many, wrong])
    troubles = sorted((part for key, part in found.items() if key.startswith("trouble/")), key=lambda one: one.place)
    assert [(one.standing.tone, one.number) for one in troubles] == [("bad", 1), ("warn", 400)]
    assert len(troubles[1].objects) == 5
    assert "sorry, a-399" in troubles[1].standing.message, "the one that has waited for the longest time"
    assert [need.text.partition(":")[0] for need in found["brief"]["needs"]] == [
        "OpenStackMachine prod/b",
        "OpenStackMachine prod/a-0 and 399 more",
    ]


def test_troubles_that_all_differ_are_bounded() -> None:
    many = [machine(f"a-{number}", 0, *failing("X", f"cause {number}", since="")) for number in range(200)]
    found = clouds_document(many)
    assert sum(key.startswith("trouble/") for key in found) == 50
    assert found["brief"]["more"] == 195


def test_machines_that_wait_for_a_quota_are_one_part_with_what_the_cloud_says() -> None:
    waiting = clouds_document()["quota/prod/one"]
    assert (waiting.number, waiting.cluster) == (2, "one")
    assert "78 of 80 cores, 19 of 20 instances" in waiting.message
    assert not names(clouds_document([machine("a")]), "quota")


@pytest.mark.parametrize(
    ("objects", "unserved", "line"),
    [
        ([], (), "There is no OpenStackCluster and no machine on OpenStack."),
        (
            [],
            (*OURS, "machineapi"),
            "The cluster does not serve the kinds of OpenStack.",
        ),
        ([machine("a")], ("cluster",), "0 clusters, 1 machine, 0 servers"),
    ],
)
def test_the_first_page_says_what_there_is(objects: list[Any], unserved: tuple[str, ...], line: str) -> None:
    rows = kept(clouds.kinds(), objects, alive=STOPPED).rows
    found = document(Kept(rows, unserved=unserved))
    assert found["brief"]["line"] == line
    assert found["unserved"] == [name for name in unserved if name != "machineapi"]


@pytest.mark.parametrize(
    ("conditions", "authority", "shown"),
    [
        (("Ready", "InstanceReady"), "MachineAPI", True),
        (("Ready", "InstanceReady"), "", True),
        (("Ready", "InstanceReady"), "ClusterAPI", False),
        (("Ready",), "MachineAPI", False),
        (("InstanceExists", "Drainable"), "MachineAPI", False),
    ],
)
def test_machines_of_the_machine_api_stand_there_if_windlass_serves_them(
    conditions: tuple[str, ...], authority: str, shown: bool
) -> None:
    status = {"authoritativeAPI": authority, "conditions": [condition(name, "True") for name in conditions]}
    found = present(mapi.Machine, tree(mapi.Machine, "a", namespace="ns", spec={}, status=status))
    assert (machine_api_row(found) is not None) is shown


def test_failure_domains_of_earlier_providers_and_nonsense_are_no_trouble() -> None:
    for domains, zones in (
        ({"nova": {"controlPlane": True}}, ("nova",)),
        ([{"name": "b"}, {"name": "a"}], ("a", "b")),
        ("nonsense", ()),
        ([1, None], ("1", "None")),
    ):
        status = {"failureDomains": domains, "conditions": []}
        found = present(OpenStackCluster, tree(OpenStackCluster, "a", namespace="ns", spec={}, status=status))
        assert cluster_row(found).zones == zones


def test_a_hostile_object_makes_a_small_row() -> None:
    huge = "x" * 2**20
    found = present(
        OpenStackMachine,
        tree(
            OpenStackMachine,
            "a",
            namespace="ns",
            spec={"flavor": huge},
            status={
                "instanceState": huge,
                "addresses": [{"type": "InternalIP", "address": f"{number}{huge}"} for number in range(20)],
                "conditions": [condition("Ready", "False", huge, huge)],
            },
        ),
    )
    assert len(msgspec.json.encode(machine_row(found))) < 4000


def test_a_thousand_machines_are_few_bytes() -> None:
    found = clouds_document(clouds_objects(1000))
    body = msgspec.json.encode(found)
    assert len(body) < 400_000
    assert len(gzip.compress(body, compresslevel=5)) < 40_000


def test_what_is_being_deleted_says_so() -> None:
    found = clouds_document([machine("a", 0, **GOING)])
    assert found["machine/prod/a"].standing.state == "Deleting"
