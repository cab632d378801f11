"""The steps of the demo: each has a command, an action, and an expected result.

A MachineSet of three becomes servers in a real OpenStack, and Machines in both APIs. Then somebody deletes a server,
and Neutron fails for ten seconds while a machine is added. In the end the project is as it was at first.
"""

from typing import Final, TypeAlias

from windlass.api import capi
from windlass.demo import story
from windlass.demo.openstack import expectations as expect
from windlass.demo.openstack.scene import Scene
from windlass.demo.openstack.stage import ENTRY, POLL, Stage
from windlass.machine_sync.constants import CLUSTER_API_NAMESPACE

Moment: TypeAlias = story.Moment[Scene]
Step: TypeAlias = story.Step[Stage, Scene]

_THERE: Final = "kubectl -n openshift-cluster-api"


def _scale_command(replicas: int) -> str:
    return f"{_THERE} scale machineset.cluster.x-k8s.io/demo-worker --replicas={replicas}"


async def _scale(stage: Stage, replicas: int) -> None:
    await stage.scale(capi.MachineSet, "demo-worker", namespace=CLUSTER_API_NAMESPACE, replicas=replicas)


async def _scale_while_neutron_fails(stage: Stage, _: Moment) -> None:
    await stage.neutron_fails()
    await _scale(stage, 4)


async def _look_on(_: Stage, __: Moment) -> None:
    """Do nothing: Windlass looks at the cloud."""


def first_machine(scene: Scene) -> str:
    return min(scene.machines)


def lost_machine(scene: Scene) -> str:
    """The machine whose server was deleted."""
    return min(name for name in scene.machines if scene.server(name) is None)


STORY = (
    Step(
        "Start a real OpenStack, and a control plane with Cluster API's manager; make a network and a security group",
        (
            "windlass dev cloud up",
            "windlass dev up --cluster-api --crds",
            "openstack network create machines",
            "openstack subnet create machines --network machines --subnet-range 10.6.0.0/16",
            "openstack security group create workers",
        ),
        act=lambda stage, _: stage.start_cloud_and_control_plane(),
        expect=expect.cloud_and_api_server_answer,
    ),
    Step(
        "Install Windlass's manifests; describe a cluster on that network, with a Secret for the cloud's credentials",
        (
            "kubectl apply -k deploy/openstack -k deploy/machine-sync",
            f"{_THERE} create secret generic openstack-cloud-credentials --from-file=clouds.yaml",
            "kubectl apply -f openshift.yaml -f cluster.yaml",
        ),
        act=lambda stage, _: stage.describe_cluster(),
        expect=expect.cluster_is_described,
    ),
    Step(
        "Run Windlass: OpenStack and Machine sync, each under its own ServiceAccount; kubelets are played",
        (
            f"windlass run openstack --poll-period={POLL}",
            "windlass run machine-sync",
            f"python -m windlass.testing.machines.simulators --guest --os-cloud {ENTRY}",
        ),
        act=lambda stage, _: stage.start_windlass(),
        expect=expect.cluster_is_provisioned,
    ),
    Step(
        "Create a MachineSet of three in Cluster API, and its twin in the Machine API",
        ("kubectl apply -f machineset.yaml",),
        act=lambda stage, _: stage.apply("machineset.yaml"),
        expect=expect.machines_run(3),
    ),
    Step(
        "Somebody deletes a server in the cloud",
        ("openstack server delete NAME",),
        act=lambda stage, moment: stage.delete_server(moment.name),
        expect=expect.server_is_gone,
        about=first_machine,
    ),
    Step(
        "Add a machine while Neutron answers 503",
        ("windlass dev cloud fault neutron --user-agent windlass-openstack --status 503", _scale_command(4)),
        act=_scale_while_neutron_fails,
        expect=expect.neutron_is_told_of,
        pictured=True,
    ),
    Step(
        f"After {expect.FAILING_SECONDS:.0f} seconds Neutron works again",
        ("windlass dev cloud fault neutron --clear",),
        act=lambda stage, _: stage.neutron_recovers(after=expect.FAILING_SECONDS),
        expect=expect.machines_run(3),
    ),
    Step(
        "The deleted server is told of on both sides, and not created again",
        (f"{_THERE} describe machine.cluster.x-k8s.io/NAME",),
        act=_look_on,
        expect=expect.loss_is_told,
        about=lost_machine,
        pictured=True,
    ),
    Step(
        "Scale to zero",
        (_scale_command(0),),
        act=lambda stage, _: _scale(stage, 0),
        expect=expect.project_is_as_before,
    ),
)
