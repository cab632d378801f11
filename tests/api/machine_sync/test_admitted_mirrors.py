"""What we write to the Machine API, before its real webhooks: each recorded mirror comes to rest, or is refused.

The webhook of AWS reads a provider spec into its Go type on creation, fills in what is empty, and writes the result; so
what is there afterwards is not what was sent. The mirrors are those of the recorded conversions: each is made by our
rules and written through the real API server, which is all that is real here. The other objects are in memory.
"""

import copy
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace

from windlass.api import mapi
from windlass.kube import config
from windlass.kube.client import Client
from windlass.kube.control.executor import Executor
from windlass.kube.control.plan import Emit, Merge, Plan
from windlass.kube.errors import ApiError, Conflict, NotFound
from windlass.kube.verbs import PatchType
from windlass.machine_sync.constants import CLUSTER_API, MACHINE_API_NAMESPACE
from windlass.machine_sync.machine.decide import decide
from windlass.machine_sync.machine_set.decide import decide as decide_set
from windlass.testing import ControlPlane
from windlass.testing.machines.machine_api import MachineApi

from ...unit.machine_sync.conversion.vectors import TO_MACHINE_API, platform_of, row_id, rows
from ...unit.machine_sync.machine import cases
from ...unit.machine_sync.machine_set import cases as set_cases
from .examples import Tree
from .stage import condition, describe_cluster

pytestmark = pytest.mark.plane

REFUSALS = (
    r"consist of alphanumeric characters|name part must be non-empty",
    r"lifecycleHooks\.\w+\[\d+\]\.(name|owner)",
    r"spec\.replicas: .*non-negative",
    r"providerSpec\.ami: Required",
    r"providerSpec\.(capacityReservationId|marketType|placementGroupPartition): Invalid",
    r"throughputMib: Invalid",
)
"""Why the Machine API refuses a recorded mirror: what a user wrote in Cluster API is not valid there."""

AT_REST = {
    ("aws", "Machine"): 74,
    ("aws", "MachineSet"): 15,
    ("openstack", "Machine"): 107,
    ("openstack", "MachineSet"): 35,
}
"""How many of the recorded mirrors are admitted."""

MINIMAL: dict[str, Tree] = {"aws": {"ami": {"id": "ami-1"}}, "openstack": {"flavor": "m1.small"}}
"""The provider specs of users who leave the rest to the webhook."""

ROUNDS = 5


class Verdict(NamedTuple):
    """What the API server said of a write, and what we say then. Without `refused` the mirror is at rest."""

    refused: str = ""
    stated: str = ""


@pytest.fixture(scope="module", params=["AWS", "OpenStack"])
def judged(
    machine_sync_plane: ControlPlane, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Any, str]]:
    """A plane on which the webhooks of the Machine API judge, and its platform."""
    plane, folder = machine_sync_plane.blocking, tmp_path_factory.mktemp("judge")
    plane.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": MACHINE_API_NAMESPACE}})
    describe_cluster(plane, platform=request.param)
    # Its controllers look after another namespace: they are not what is asked here.
    judge = MachineApi(plane, platform=request.param, folder=folder, namespace="default", cloud="default")
    try:
        judge.start()
        judge.admit(MACHINE_API_NAMESPACE)
        yield plane, request.param.lower()
    finally:
        judge.close()


@pytest.fixture
async def client(judged: tuple[Any, str]) -> AsyncIterator[Client]:
    plane, _ = judged
    async with Client(config.load(kubeconfig=plane.kubeconfig()), field_manager="windlass") as client:
        yield client


@pytest.mark.parametrize("made", ["by-us", "by-a-user"])
async def test_a_recorded_mirror_of_a_machine_comes_to_rest_or_is_refused_for_a_reason(
    judged: tuple[Any, str], client: Client, made: str
) -> None:
    _, provider = judged
    found = {}
    for row in _converted("Machine", provider):
        mirror = None if made == "by-us" else await _made_by_a_user(client, mapi.Machine, "w-0", _spec(provider))
        found[row_id(row)] = await _machine(client, row, mirror)
        await _clear(client, mapi.Machine, "w-0")
    _assert_admitted(found, AT_REST[provider, "Machine"])


async def test_a_recorded_mirror_of_a_machine_set_comes_to_rest_or_is_refused_for_a_reason(
    judged: tuple[Any, str], client: Client
) -> None:
    _, provider = judged
    found = {}
    for row in _converted("MachineSet", provider):
        # The selector cannot be changed afterwards: the user must have made the set with that of the other API.
        selector = row["output"]["machineSet"]["spec"]["selector"]
        labels = {"labels": selector.get("matchLabels") or {}}
        spec = {"selector": selector, "template": {"metadata": labels, "spec": _spec(provider)}}
        try:
            mirror = await _made_by_a_user(client, mapi.MachineSet, set_cases.NAME, spec)
        except ApiError:
            # Nobody can make it, so there is nothing to bring up to date.
            continue
        found[row_id(row)] = await _machine_set(client, row, mirror)
        await _clear(client, mapi.MachineSet, set_cases.NAME)
    _assert_admitted(found, AT_REST[provider, "MachineSet"])


async def _machine(client: Client, row: Tree, mirror: Tree | None) -> Verdict:
    given, executor = row["input"], Executor(client)
    case: Tree = {
        "cluster_api": _as_stored(given["machine"], cases.CAPI_MACHINE),
        "infra_machine": _as_stored(given["infraMachine"], cases.INFRA),
        "machine_api": mirror,
    }
    fixed: dict[str, Any] = {
        "infra_cluster": _as_stored(given["infraCluster"], cases.INFRA_CLUSTER),
        "platform": platform_of(row),
    }
    for _ in range(ROUNDS):
        seen = cases.snapshot(**case, **fixed)
        plan = decide(seen, now=cases.NOW)
        ours, others = _split(plan, mapi.Machine)
        if not executor.pending(ours):
            return Verdict()
        done = await executor.apply(ours)
        if done.error is not None and not isinstance(done.error, Conflict):
            return Verdict(str(done.error), _stated(decide(replace(seen, last=done), now=cases.NOW)))
        case = {**cases.after(others, **case), "machine_api": await _stored(client, mapi.Machine, "w-0")}
    pytest.fail(f"{row_id(row)} does not come to rest; the last plan was:\n{plan}")


async def _machine_set(client: Client, row: Tree, mirror: Tree) -> Verdict:
    given, executor = row["input"], Executor(client)
    fixed: dict[str, Any] = {
        "cluster_api": _as_stored(given["machineSet"], set_cases.CAPI_SET, ownerReferences=[]),
        "template": _as_stored(given["infraMachineTemplate"], set_cases.TEMPLATE),
        "infra_cluster": _as_stored(given["infraCluster"], set_cases.INFRA_CLUSTER),
        "platform": platform_of(row),
    }
    for _ in range(ROUNDS):
        seen = set_cases.snapshot(machine_api=mirror, **fixed)
        plan = decide_set(seen, now=set_cases.NOW)
        ours, _others = _split(plan, mapi.MachineSet)
        if not executor.pending(ours):
            return Verdict()
        done = await executor.apply(ours)
        if done.error is not None and not isinstance(done.error, Conflict):
            return Verdict(str(done.error), _stated(decide_set(replace(seen, last=done), now=set_cases.NOW)))
        mirror = await _stored(client, mapi.MachineSet, set_cases.NAME)
    pytest.fail(f"{row_id(row)} does not come to rest; the last plan was:\n{plan}")


def _assert_admitted(found: dict[str, Verdict], at_rest: int) -> None:
    unexpected = {name: verdict.refused for name, verdict in found.items() if not _expected(verdict.refused)}
    assert unexpected == {}
    silent = [name for name, verdict in found.items() if verdict.refused[:200] not in verdict.stated]
    assert silent == []
    assert sum(not verdict.refused for verdict in found.values()) == at_rest


def _expected(refusal: str) -> bool:
    """Whether nothing but REFUSALS is in it: each thing that is wrong has a field and a text of its own."""
    return not refusal or any(re.search(known, refusal) for known in REFUSALS)


def _stated(plan: Plan) -> str:
    """What a plan after a refusal says: in the condition of the mirror, or in an Event where there is none."""
    said = []
    for action in plan.needed:
        if isinstance(action, Merge) and action.part == "status":
            told = condition({"status": action.desired["status"]})
            assert told["status"] == "False", told
            said.append(told["message"])
        if isinstance(action, Emit):
            said.append(action.note)
    return "\n".join(said)


def _converted(kind: str, provider: str) -> Iterator[Tree]:
    return (row for row in rows(TO_MACHINE_API, kind) if row["provider"] == provider and row["output"] is not None)


def _split(plan: Plan, kind: type[Any]) -> tuple[Plan, Plan]:
    ours = tuple(action for action in plan.actions if action.target.kind is kind and not isinstance(action, Emit))
    return Plan(ours, plan.next), Plan(tuple(action for action in plan.actions if action not in ours), plan.next)


def _as_stored(recorded: Tree, like: Tree, **metadata: Any) -> Tree:
    """A recorded object with what the server and controllers had given it."""
    mine = {key: recorded["metadata"][key] for key in ("labels", "annotations") if key in recorded["metadata"]}
    return {**copy.deepcopy(recorded), "metadata": {**like["metadata"], **mine, **metadata}}


def _spec(provider: str) -> Tree:
    return {"providerSpec": {"value": MINIMAL[provider]}}


async def _made_by_a_user(client: Client, kind: type[Any], name: str, spec: Tree) -> Tree:
    """A mirror as the Machine API has it when a user asks for one."""
    body = {"metadata": {"name": name}, "spec": {**spec, "authoritativeAPI": CLUSTER_API}}
    await client.create(kind, body, namespace=MACHINE_API_NAMESPACE)
    status = {"status": {"authoritativeAPI": CLUSTER_API}}
    place: dict[str, Any] = {"namespace": MACHINE_API_NAMESPACE, "type": PatchType.MERGE}
    await client.patch(kind, name, status, subresource="status", **place)
    return await _stored(client, kind, name)


async def _stored(client: Client, kind: type[Any], name: str) -> Tree:
    return (await client.get(kind, name, namespace=MACHINE_API_NAMESPACE)).tree()


async def _clear(client: Client, kind: type[Any], name: str) -> None:
    place: dict[str, Any] = {"namespace": MACHINE_API_NAMESPACE}
    try:
        await client.patch(kind, name, {"metadata": {"finalizers": None}}, type=PatchType.MERGE, **place)
        await client.delete(kind, name, **place)
    except NotFound:
        return
