"""The steps of the demo: each has a command, an action, and an expected result.

First a cluster gets all that it needs in a real OpenStack. A MachineSet of Cluster API and one of the Machine API get
their servers from one process. Then things happen: a server is deleted in the cloud, Neutron fails for ten seconds, a
machine changes hands and changes back, and the bastion gets another flavor. In the end the project is as it was.
"""

import json
from typing import Final, TypeAlias

from windlass.api import capi, mapi
from windlass.api.capo_cluster import OpenStackCluster
from windlass.demo import story
from windlass.machine_sync.constants import CLUSTER_API, CLUSTER_API_NAMESPACE, MACHINE_API, MACHINE_API_NAMESPACE
from windlass.openstack.demo import expectations as expect
from windlass.openstack.demo.scene import BASTION, CLUSTER, POOL, WORKERS, Moment, Scene
from windlass.openstack.demo.stage import ENTRY, POLL, Stage

Step: TypeAlias = story.Step[Stage, Scene]
Act: TypeAlias = story.Act[Stage, Scene]

_THERE: Final = f"kubectl -n {CLUSTER_API_NAMESPACE}"
_HERE: Final = f"kubectl -n {MACHINE_API_NAMESPACE}"
_SET: Final = f"machineset.cluster.x-k8s.io/{WORKERS}"
_FLAVOR: Final = {"spec": {"bastion": {"spec": {"flavor": expect.FLAVOR}}}}
_PATCH: Final = (
    f"{_THERE} patch openstackcluster/{CLUSTER} --type=merge -p '{json.dumps(_FLAVOR, separators=(',', ':'))}'"
)


def _scale_command(replicas: int) -> str:
    return f"{_THERE} scale {_SET} --replicas={replicas}"


async def _scale_while_neutron_fails(stage: Stage, _: Moment) -> None:
    await stage.neutron_fails()
    await stage.scale(capi.MachineSet, WORKERS, namespace=CLUSTER_API_NAMESPACE, replicas=4)


async def _delete_sets(stage: Stage, _: Moment) -> None:
    await stage.delete(capi.MachineSet, WORKERS, namespace=CLUSTER_API_NAMESPACE)
    await stage.delete(mapi.MachineSet, POOL, namespace=MACHINE_API_NAMESPACE)


def _migrate(to: str) -> Act:
    return lambda stage, moment: stage.begin(f"migrate-to-{to}", "migrate", f"machine/{moment.name}", "--to", to)


def first_worker(scene: Scene) -> str:
    return min((row.name for row in scene.rows_of(WORKERS)), default="")


def first_of_pool(scene: Scene) -> str:
    return min((row.name for row in scene.rows_of(POOL)), default="")


def lost_machine(scene: Scene) -> str:
    """The machine whose server was deleted."""
    return min((row.name for row in scene.rows_of(WORKERS) if scene.lost(row)), default="")


STORY = (
    Step(
        "Start a real OpenStack, and a control plane with Cluster API's manager; make a security group",
        (
            "windlass dev cloud up",
            "windlass dev up --cluster-api --crds",
            "openstack security group create workers",
        ),
        act=lambda stage, _: stage.start_cloud_and_control_plane(),
        expect=expect.cloud_and_api_server_answer,
    ),
    Step(
        "Install Windlass's manifests; describe a cluster with a load balancer and a bastion, on a network of its own",
        (
            "kubectl apply -k deploy/openstack/crds",
            "kubectl apply -k deploy/openstack/machine-api",
            "kubectl apply -k deploy/machine-sync",
            f"{_THERE} create secret generic openstack-cloud-credentials --from-file=clouds.yaml",
            f"{_HERE} create secret generic openstack-cloud-credentials --from-file=clouds.yaml",
            "kubectl apply -f openshift.yaml -f cluster.yaml",
        ),
        act=lambda stage, _: stage.describe_cluster(),
        expect=expect.cluster_is_described,
    ),
    Step(
        "Run Windlass, for both APIs and to keep them in sync, each under its own ServiceAccount; kubelets are played",
        (
            f"windlass run openstack --machine-api --allow-loopback-clouds --poll-period={POLL}",
            "windlass run machine-sync",
            f"python -m windlass.testing.machines.simulators --guest --os-cloud {ENTRY} --without {BASTION}",
        ),
        act=lambda stage, _: stage.start_windlass(),
        expect=expect.cluster_is_provisioned,
    ),
    Step(
        "Create a MachineSet of three in Cluster API, and its twin in the Machine API",
        ("kubectl apply -f machineset.yaml",),
        act=lambda stage, _: stage.apply("machineset.yaml"),
        expect=expect.machines_run(WORKERS, 3, authority=CLUSTER_API),
    ),
    Step(
        "Create a MachineSet of two in the Machine API, whose own controller makes the Machines",
        ("kubectl apply -f pool.yaml",),
        act=lambda stage, _: stage.apply("pool.yaml"),
        expect=expect.machines_run(POOL, 2, authority=MACHINE_API),
    ),
    Step(
        "Somebody deletes a server in the cloud",
        ("openstack server delete NAME",),
        act=lambda stage, moment: stage.delete_server(moment.name),
        expect=expect.server_is_gone,
        about=first_worker,
    ),
    Step(
        "Add a machine while Neutron answers 503",
        ("windlass dev cloud fault neutron --user-agent windlass-openstack --status 503", _scale_command(4)),
        act=_scale_while_neutron_fails,
        expect=expect.neutron_is_told_of,
    ),
    Step(
        f"After {expect.FAILING_SECONDS:.0f} seconds Neutron works again",
        ("windlass dev cloud fault neutron --clear",),
        act=lambda stage, _: stage.neutron_recovers(after=expect.FAILING_SECONDS),
        expect=expect.machines_run(WORKERS, 3, authority=CLUSTER_API),
    ),
    Step(
        "Hand a machine of the Machine API over to Cluster API, while it runs",
        ("windlass migrate machine/NAME --to cluster-api",),
        act=_migrate("cluster-api"),
        expect=expect.handed_over(CLUSTER_API),
        about=first_of_pool,
        pictured=True,
    ),
    Step(
        "And back",
        ("windlass migrate machine/NAME --to machine-api",),
        act=_migrate("machine-api"),
        expect=expect.handed_over(MACHINE_API),
        about=first_of_pool,
    ),
    Step(
        "See what another flavor would do to the bastion",
        (
            f"{_PATCH} --dry-run=server -o yaml > changed.yaml",
            f"{_THERE} get cluster.cluster.x-k8s.io/{CLUSTER} openstackserver/{BASTION} -o yaml > there.yaml",
            f"windlass plan openstack -f changed.yaml -f there.yaml --os-cloud {ENTRY}",
        ),
        act=lambda stage, _: stage.plan(_FLAVOR),
        expect=expect.replacement_is_planned,
    ),
    Step(
        "Change the flavor",
        (_PATCH,),
        act=lambda stage, _: stage.merge(OpenStackCluster, CLUSTER, _FLAVOR, namespace=CLUSTER_API_NAMESPACE),
        expect=expect.bastion_is_replaced,
        pictured=True,
    ),
    Step(
        "The deleted server is told of on both sides, and not created again",
        (f"{_THERE} describe machine.cluster.x-k8s.io/NAME",),
        expect=expect.loss_is_told,
        about=lost_machine,
    ),
    Step(
        "Delete both MachineSets",
        (f"{_THERE} delete {_SET}", f"{_HERE} delete machineset.machine.openshift.io/{POOL}"),
        act=_delete_sets,
        expect=expect.machines_are_gone,
    ),
    Step(
        "Delete the Cluster",
        (f"{_THERE} delete cluster.cluster.x-k8s.io/{CLUSTER}",),
        act=lambda stage, _: stage.delete(capi.Cluster, CLUSTER, namespace=CLUSTER_API_NAMESPACE),
        expect=expect.project_is_as_before,
    ),
)
