"""The steps of the demo: each has a command, an action, and an expected result.

In the first act Cluster API's own manager creates the machines. Windlass keeps the Machine API in sync: each machine
has a mirror with a converted spec, a current status, and a condition that says whether the two agree. In the second
act machines of the Machine API are handed over to Cluster API, and back.
"""

import json
from typing import TypeAlias

from windlass.api import capi
from windlass.demo import story
from windlass.machine_sync.constants import CLUSTER_API, CLUSTER_API_NAMESPACE, MACHINE_API
from windlass.machine_sync.demo import expectations as expect
from windlass.machine_sync.demo.scene import Scene
from windlass.machine_sync.demo.stage import Stage
from windlass.machine_sync.installation import installation

Step: TypeAlias = story.Step[Stage, Scene]
Act: TypeAlias = story.Act[Stage, Scene]

# `machine.cluster.x-k8s.io` and not `machine`, because both APIs have a kind of that name.
_MACHINE = "machine.cluster.x-k8s.io/NAME"
_SET = "machineset.cluster.x-k8s.io/demo-worker"
_POOL = f"machineset/{expect.POOL}"
_THERE = "kubectl -n openshift-cluster-api"


def first_machine(scene: Scene) -> str:
    return min(scene.of(capi.Machine))


def last_machine(scene: Scene) -> str:
    return max(scene.of(capi.Machine))


def machine_with_drain_timeout(scene: Scene) -> str:
    found = scene.of(capi.Machine).items()
    return min(name for name, one in found if one.object.spec.deletion.node_drain_timeout_seconds is not None)


def _set_drain(seconds: int | None) -> Act:
    return lambda stage, moment: stage.merge(
        capi.Machine, moment.name, _drain(seconds), namespace=CLUSTER_API_NAMESPACE
    )


def _migrate(to: str) -> Act:
    return lambda stage, _: stage.begin(f"migrate-to-{to}", "migrate", _POOL, "--with-machines", "--to", to)


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
        act=lambda stage, _: stage.install_manifests(),
        expect=expect.kinds_are_served,
    ),
    Step(
        "Describe a cluster on OpenStack; simulators play its infrastructure provider and the Machine API operator",
        (
            "kubectl apply -f openshift.yaml -f cluster.yaml",
            "python -m windlass.testing.machines.simulators --platform OpenStack",
        ),
        act=lambda stage, _: stage.describe_cluster(),
        expect=expect.cluster_is_provisioned,
    ),
    Step(
        "Run Windlass under its own ServiceAccount",
        ("windlass run machine-sync",),
        act=lambda stage, _: stage.run_windlass(installation()),
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
        expect=expect.machines_run(3),
    ),
    Step(
        "Scale to five",
        (f"{_THERE} scale {_SET} --replicas=5",),
        act=lambda stage, _: stage.scale(capi.MachineSet, "demo-worker", namespace=CLUSTER_API_NAMESPACE, replicas=5),
        expect=expect.machines_run(5),
        pictured=True,
    ),
    Step(
        "Delete one machine",
        (f"{_THERE} delete {_MACHINE}",),
        act=lambda stage, moment: stage.delete(capi.Machine, moment.name, namespace=CLUSTER_API_NAMESPACE),
        expect=expect.machine_is_replaced(5),
        about=first_machine,
    ),
    Step(
        "Ask for something that the Machine API cannot express",
        (_patch_command(expect.DRAIN_SECONDS),),
        act=_set_drain(expect.DRAIN_SECONDS),
        expect=expect.conversion_is_refused,
        about=last_machine,
    ),
    Step(
        "Take it back",
        (_patch_command(None),),
        act=_set_drain(None),
        expect=expect.conversion_succeeds_again,
        about=machine_with_drain_timeout,
    ),
    Step(
        "Second act: create a MachineSet of three in the Machine API",
        ("kubectl apply -f pool.yaml",),
        act=lambda stage, _: stage.apply("pool.yaml"),
        expect=expect.machine_api_runs_a_set,
    ),
    Step(
        "Hand them over to Cluster API, while they run",
        (f"windlass migrate {_POOL} --with-machines --to cluster-api",),
        act=_migrate("cluster-api"),
        expect=expect.handed_over(CLUSTER_API),
        pictured=True,
    ),
    Step(
        "And back",
        (f"windlass migrate {_POOL} --with-machines --to machine-api",),
        act=_migrate("machine-api"),
        expect=expect.handed_over(MACHINE_API),
    ),
)
