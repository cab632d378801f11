"""The story of the demo, step by step: what a user types, what is done, and what must then be seen.

In the first act Cluster API's own manager makes the machines. What Windlass does is to keep the Machine API in step: a
mirror for each machine, its spec converted, its status current, and a condition that says truthfully whether the two
agree. In the second act machines of the Machine API are handed over to Cluster API, and back.
"""

import json
from collections.abc import Awaitable, Callable

from msgspec import Struct

from windlass.api import capi
from windlass.cli.demo import expectations as expect
from windlass.cli.demo import hand_over
from windlass.cli.demo.scene import Moment, Scene
from windlass.cli.demo.stage import Stage
from windlass.machine_sync.constants import CLUSTER_API, MACHINE_API

# `machine.cluster.x-k8s.io` and not `machine`, because both APIs have a kind of that name.
_MACHINE = "machine.cluster.x-k8s.io/MACHINE"
_SET = "machineset.cluster.x-k8s.io/demo-worker"
_THERE = "kubectl -n openshift-cluster-api"

PATIENCE = 120.0
"""Seconds for one step. None takes ten on an idle machine, but machines that show things are busy at times."""


class Step(Struct, frozen=True):
    """One step.

    `commands` are what a user would type to the same effect; `MACHINE` in them stands for the machine (or machines)
    that the step is about, which `about` picks from the scene. `act` does it, `expect` says whether it came true,
    within `seconds`.
    """

    title: str
    commands: tuple[str, ...]
    act: Callable[[Stage, Moment], Awaitable[None]]
    expect: expect.Expectation
    about: Callable[[Scene], str] = lambda _: ""
    seconds: float = PATIENCE

    def typed(self, moment: Moment) -> list[str]:
        """The commands, with the name of the machine."""
        return [command.replace("MACHINE", moment.machine) for command in self.commands]


def first_machine(scene: Scene) -> str:
    return min(scene.machines)


def last_machine(scene: Scene) -> str:
    return max(scene.machines)


def machine_with_drain_timeout(scene: Scene) -> str:
    found = scene.machines.items()
    return min(name for name, one in found if one.object.spec.deletion.node_drain_timeout_seconds is not None)


def pool(scene: Scene) -> str:
    """The MachineSet of the second act and its machines, as `windlass migrate` wants them named."""
    machines = [f"machine/{row.name}" for row in scene.rows_of(hand_over.MACHINE_SET)]
    return " ".join([f"machineset/{hand_over.MACHINE_SET}", *machines])


async def _look_on(_: Stage, __: Moment) -> None:
    """Nothing is done: others act."""


async def _set_up_cluster(stage: Stage, _: Moment) -> None:
    await stage.apply("openshift.yaml", "cluster.yaml")
    await stage.start_simulators()


async def _delete_machine(stage: Stage, moment: Moment) -> None:
    await stage.delete(capi.Machine, moment.machine)


async def _set_drain_timeout(stage: Stage, moment: Moment) -> None:
    await stage.merge(capi.Machine, moment.machine, _drain(expect.DRAIN_SECONDS))


async def _take_drain_timeout_back(stage: Stage, moment: Moment) -> None:
    await stage.merge(capi.Machine, moment.machine, _drain(None))


def _migrate(to: str) -> Callable[[Stage, Moment], Awaitable[None]]:
    async def act(stage: Stage, moment: Moment) -> None:
        await stage.migrate(*moment.machine.split(), to=to)

    return act


def _drain(seconds: int | None) -> dict[str, object]:
    return {"spec": {"deletion": {"nodeDrainTimeoutSeconds": seconds}}}


def _patch_command(seconds: int | None) -> str:
    body = json.dumps(_drain(seconds), separators=(",", ":"))
    return f"{_THERE} patch {_MACHINE} --type=merge -p '{body}'"


STORY = (
    Step(
        "Start a control plane",
        ("windlass dev up --cluster-api",),
        act=lambda stage, _: stage.start_control_plane(),
        expect=expect.api_server_answers,
    ),
    Step(
        "Install the CRDs that an OpenShift cluster has, and Windlass's ServiceAccount and RBAC",
        ("kubectl apply -k deploy/machine-sync",),
        act=lambda stage, _: stage.install(),
        expect=expect.kinds_are_served,
    ),
    Step(
        "Describe a cluster on OpenStack; simulators play its infrastructure provider and the Machine API operator",
        (
            "kubectl apply -f openshift.yaml -f cluster.yaml",
            "python -m windlass.testing.simulators --platform OpenStack",
        ),
        act=_set_up_cluster,
        expect=expect.cluster_is_provisioned,
    ),
    Step(
        "Run Windlass under its own ServiceAccount",
        ("windlass run machine-sync",),
        act=lambda stage, _: stage.start_windlass(),
        expect=expect.windlass_leads,
    ),
    Step(
        "Create a MachineSet of three in Cluster API, and its twin in the Machine API",
        ("kubectl apply -f machineset.yaml",),
        act=lambda stage, _: stage.apply("machineset.yaml"),
        expect=expect.machines_are_mirrored(3),
    ),
    Step(
        "Watch phase, addresses and provider IDs arrive in the Machine API",
        ("kubectl -n openshift-machine-api get machines.machine.openshift.io -o wide --watch",),
        act=_look_on,
        expect=expect.machines_run(3),
    ),
    Step(
        "Scale to five",
        (f"{_THERE} scale {_SET} --replicas=5",),
        act=lambda stage, _: stage.scale(capi.MachineSet, "demo-worker", replicas=5),
        expect=expect.machines_run(5),
    ),
    Step(
        "Delete one machine",
        (f"{_THERE} delete {_MACHINE}",),
        act=_delete_machine,
        expect=expect.machine_is_replaced(5),
        about=first_machine,
    ),
    Step(
        "Ask for something that the Machine API cannot express",
        (_patch_command(expect.DRAIN_SECONDS),),
        act=_set_drain_timeout,
        expect=expect.conversion_is_refused,
        about=last_machine,
    ),
    Step(
        "Take it back",
        (_patch_command(None),),
        act=_take_drain_timeout_back,
        expect=expect.conversion_succeeds_again,
        about=machine_with_drain_timeout,
    ),
    Step(
        "Second act: create a MachineSet of three in the Machine API",
        ("kubectl apply -f pool.yaml",),
        act=lambda stage, _: stage.apply("pool.yaml"),
        expect=hand_over.machine_api_runs_a_set,
    ),
    Step(
        "Hand them over to Cluster API, while they run",
        ("windlass migrate MACHINE --to cluster-api",),
        act=_migrate("cluster-api"),
        expect=hand_over.handed_over(CLUSTER_API),
        about=pool,
    ),
    Step(
        "And back",
        ("windlass migrate MACHINE --to machine-api",),
        act=_migrate("machine-api"),
        expect=hand_over.handed_over(MACHINE_API),
        about=pool,
    ),
)
