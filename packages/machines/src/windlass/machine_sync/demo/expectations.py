"""The expectations of the story's steps: pure functions of a scene and of the step's beginning.

Each says what happened, or raises Missing with what is still missing.
"""

from typing import Final

from windlass.api import capi, capo, mapi
from windlass.api.meta import KubernetesObject
from windlass.demo.story import need
from windlass.machine_sync.constants import CLUSTER_API, MACHINE_API
from windlass.machine_sync.conversion.metadata import CLUSTER_NAME_LABEL
from windlass.machine_sync.demo.scene import Expectation, Moment, Scene
from windlass.machine_sync.machine.reasons import FROM_CLUSTER_API, Reason
from windlass.machine_sync.overview import MachineRow

MACHINE_SET: Final = "demo-worker"
"""The MachineSet of the first act."""

DRAIN_SECONDS: Final = 600
REFUSAL: Final = (
    "failed to convert Cluster API machine to Machine API machine: spec.deletion.nodeDrainTimeoutSeconds: "
    f"Invalid value: {DRAIN_SECONDS}: nodeDrainTimeoutSeconds is not supported"
)
"""The condition's message on the Machine API Machine while its Cluster API Machine has a drain time-out."""


def api_server_answers(scene: Scene, _: Moment) -> str:
    scene.needs_api_server()
    return f"etcd, kube-apiserver {scene.version}, kube-controller-manager and the Cluster API core manager run"


def kinds_are_served(scene: Scene, _: Moment) -> str:
    scene.needs_kinds()
    return "Machines and MachineSets are served in both APIs; Windlass has a ServiceAccount with its own rights"


def cluster_is_provisioned(scene: Scene, _: Moment) -> str:
    phase = (scene.needs(capi.Cluster, "demo").tree.get("status") or {}).get("phase")
    need(phase == "Provisioned", f"Cluster demo has phase {phase or '(none)'}, not Provisioned")
    scene.needs_condition(capi.Cluster, "demo", "ControlPlaneInitialized")
    scene.needs_condition(capi.Cluster, "demo", "RemoteConnectionProbe")
    return "Cluster demo is Provisioned, its control plane initialized"


def windlass_leads(scene: Scene, _: Moment) -> str:
    return f"Windlass is ready, and leads as {scene.needs_windlass()}"


def machines_are_mirrored(count: int) -> Expectation:
    """`count` Machines, each with a synchronized mirror, whatever their phase."""

    def look(scene: Scene, _: Moment) -> str:
        for row in _machines(scene, MACHINE_SET, count):
            scene.needs_mirror(row, CLUSTER_API)
        return f"Cluster API made {count} Machines, Windlass mirrored each: authority ClusterAPI, Synchronized=True"

    return look


def machines_run(count: int) -> Expectation:
    """`count` Machines, Running in both APIs, with complete mirrors of the Machines and of their set."""

    def look(scene: Scene, _: Moment) -> str:
        for row in _machines(scene, MACHINE_SET, count):
            scene.needs_running(row, CLUSTER_API)
        _needs_set(scene, MACHINE_SET, CLUSTER_API)
        return f"{count} Machines run on both sides; their mirrors have provider ID, addresses and Node"

    return look


def machine_is_replaced(count: int) -> Expectation:
    """The machine of the step is gone in both APIs and the infrastructure, and `count` machines run again."""

    def look(scene: Scene, moment: Moment) -> str:
        for kind in (capi.Machine, mapi.Machine, capo.OpenStackMachine):
            need(moment.name not in scene.of(kind), f"{kind.RESOURCE} {moment.name} still exists")
        rows = _machines(scene, MACHINE_SET, count)
        for row in rows:
            scene.needs_running(row, CLUSTER_API)
        new = [row.name for row in rows if row.name not in moment.before.of(capi.Machine)]
        return f"{moment.name} is gone on both sides, with its OpenStackMachine; {', '.join(new)} runs in its place"

    return look


def conversion_is_refused(scene: Scene, moment: Moment) -> str:
    said = scene.needs_condition(mapi.Machine, moment.name, "Synchronized", "False", Reason.FAILED_TO_CONVERT_TO_MAPI)
    need(said["message"] == REFUSAL, f"{moment.name} has Synchronized={said['status']}: {said['message']}")
    # The next step needs the machine that has it, and each API has its own watch.
    there = scene.needs(capi.Machine, moment.name).object.spec.deletion
    need(there.node_drain_timeout_seconds is not None, f"{moment.name} is not seen with a node drain time-out yet")
    return f"Synchronized={said['status']}, reason {said['reason']}, message: {said['message']}"


def conversion_succeeds_again(scene: Scene, moment: Moment) -> str:
    scene.needs_running(scene.needs_row(moment.name), CLUSTER_API)
    return f"Synchronized=True, reason {Reason.RESOURCE_SYNCHRONIZED}, message: {FROM_CLUSTER_API.message}"


def _machines(scene: Scene, machine_set: str, count: int) -> list[MachineRow]:
    rows = scene.rows_of(machine_set)
    need(len(rows) == count, f"{machine_set} has {len(rows)} machines, not {count}")
    return rows


def _needs_set(scene: Scene, name: str, authority: str) -> None:
    """A MachineSet is in sync under this authority."""
    found = need(next((row for row in scene.set_rows if row.name == name), None), f"there is no MachineSet {name}")
    has = found.authority or "(none)"
    need(has == authority, f"MachineSet {name} has authority {has}, not {authority}")
    need(not found.unsynced, f"MachineSet {name} is not synchronized")


# The expectations of the second act: machines move from one API to the other and keep their instances.

POOL: Final = "demo-pool"
POOL_SIZE: Final = 3

_NAMES: Final = {MACHINE_API: "the Machine API", CLUSTER_API: "Cluster API"}


def machine_api_runs_a_set(scene: Scene, _: Moment) -> str:
    """The MachineSet of this act, with its machines, under the Machine API; Cluster API has paused mirrors of all."""
    _needs_pool(scene, MACHINE_API)
    return f"the Machine API made {POOL_SIZE} Machines, which run; Windlass made a paused mirror of all in Cluster API"


def handed_over(to: str) -> Expectation:
    """MachineSet and machines under the API `to`, on the instances that they had before."""

    def look(scene: Scene, moment: Moment) -> str:
        need(scene.code in (0, None), f"`windlass migrate` ended with code {scene.code}")
        _needs_pool(scene, to)
        before, after = _instances(moment.before), _instances(scene)
        need(before == after, f"the instances are {', '.join(sorted(after))}, and were {', '.join(sorted(before))}")
        need(scene.code is not None, "`windlass migrate` has not ended")
        return (
            f"{POOL} and its {POOL_SIZE} Machines belong to {_NAMES[to]}. "
            "No instance was made or deleted, and on none did both APIs act."
        )

    return look


def _instances(scene: Scene) -> set[str]:
    """The instances of this act; one on which both APIs acted at once is marked."""
    return {
        f"{one.id} (fought over)" if one.seizures else one.id
        for one in scene.instances
        if one.machine.startswith(f"{POOL}-") and one.alive
    }


def _needs_pool(scene: Scene, authority: str) -> None:
    """The MachineSet of this act and its machines run under `authority`, and the other API has paused them."""
    for row in _machines(scene, POOL, POOL_SIZE):
        scene.needs_running(row, authority)
        _needs_pause(scene, row.name, {MACHINE_API: mapi.Machine, CLUSTER_API: capi.Machine}, authority)
    _needs_set(scene, POOL, authority)
    _needs_pause(scene, POOL, {MACHINE_API: mapi.MachineSet, CLUSTER_API: capi.MachineSet}, authority)
    # Cluster API completes the selector a while after it was unpaused, and `windlass migrate` waits for that.
    labels = scene.needs(capi.MachineSet, POOL).object.spec.selector.match_labels
    need(authority != CLUSTER_API or CLUSTER_NAME_LABEL in labels, "Cluster API has not completed the selector")


def _needs_pause(scene: Scene, name: str, kinds: dict[str, type[KubernetesObject]], authority: str) -> None:
    """The controllers of the API without authority are paused, those of the other one are not."""
    for api, kind in kinds.items():
        paused = scene.condition(kind, name, "Paused").get("status") == "True"
        need(paused != (api == authority), f"{name}: {_NAMES[api]} {'has' if paused else 'has not'} paused")
