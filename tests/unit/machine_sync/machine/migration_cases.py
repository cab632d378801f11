"""Machines whose authority moves: in sync on either side, asked to move, on their way; and what a test asks of them."""

import copy

import pytest

from windlass.kube.control.plan import Merge, Plan

from .aws_cases import on_aws
from .cases import AUTHORITY, EARLIER, INFRA_CLUSTER, PAUSED, Tree, changed, settled, under_machine_api

Case = Tree


def under_cluster_api() -> Case:
    """In sync, Cluster API being authoritative."""
    return settled(infra_cluster=INFRA_CLUSTER)


def aws_under_machine_api() -> Case:
    return settled(**on_aws())


def aws_under_cluster_api() -> Case:
    start = changed(
        on_aws()["machine_api"],
        spec__authoritativeAPI="ClusterAPI",
        status__authoritativeAPI="ClusterAPI",
        status__phase="Running",
    )
    case = settled(**{**on_aws(), "machine_api": start})
    return settled(**{**case, "cluster_api": changed(case["cluster_api"], status__phase="Running")})


TO_CLUSTER_API = [
    pytest.param(under_machine_api, id="OpenStack"),
    pytest.param(aws_under_machine_api, id="AWS"),
]
TO_MACHINE_API = [
    pytest.param(under_cluster_api, id="OpenStack"),
    pytest.param(aws_under_cluster_api, id="AWS"),
]
OTHER = {"MachineAPI": "ClusterAPI", "ClusterAPI": "MachineAPI"}


def asked(case: Case, authority: str) -> Case:
    """The user asks for it, which is a change of the spec."""
    machine = case["machine_api"]
    generation = machine["metadata"].get("generation", 1) + 1
    return {
        **case,
        "machine_api": changed(machine, spec__authoritativeAPI=authority, metadata__generation=generation),
    }


def says_paused(case: Case, *sides: str, status: str = "True") -> Case:
    """Their controllers say so."""
    case = copy.deepcopy(case)
    for side in sides:
        conditions = case[side].setdefault("status", {}).setdefault("conditions", [])
        conditions[:] = [one for one in conditions if one["type"] != "Paused"]
        conditions.append({"type": "Paused", "status": status, "lastTransitionTime": EARLIER})
    return case


def authority(case: Case) -> tuple[str, str]:
    """status.authoritativeAPI and status.synchronizedAPI."""
    status = case["machine_api"]["status"]
    return status["authoritativeAPI"], status.get("synchronizedAPI", "")


def noted(case: Case) -> int:
    generation: int = case["machine_api"]["status"]["synchronizedGeneration"]
    return generation


def marked(case: Case, side: str = "cluster_api") -> set[str]:
    annotations = case[side]["metadata"].get("annotations") or {}
    return {PAUSED, AUTHORITY} & annotations.keys()


def moving(case: Case) -> Case:
    """The user has asked for the other side, and the move has begun."""
    now, _ = authority(case)
    case = settled(**asked(case, OTHER[now]))
    assert authority(case) == ("Migrating", now)
    return case


def the_one_status_write(plan: Plan) -> Tree:
    (write,) = plan.needed
    assert isinstance(write, Merge)
    assert write.part == "status"
    status: Tree = write.patch["status"]
    return status
