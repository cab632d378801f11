"""The expectations of the story's steps: pure functions that check a scene.

Each takes the scene and the step's beginning, and returns either what happened or what is still missing.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

from windlass.api import capi, mapi
from windlass.demo import story
from windlass.demo.story import Moment, Observed, met, missing
from windlass.kube.conditions import is_true
from windlass.kube.control.seen import Present
from windlass.machine_sync.constants import CLUSTER_API, MACHINE_API
from windlass.machine_sync.conversion.metadata import CLUSTER_NAME_LABEL
from windlass.machine_sync.demo.scene import Scene
from windlass.machine_sync.machine.reasons import FROM_CLUSTER_API, Reason
from windlass.machine_sync.overview import MachineRow

Expectation: TypeAlias = story.Expectation[Scene]

MACHINE_SET: Final = "demo-worker"
"""The MachineSet of the first act."""

DRAIN_SECONDS: Final = 600
REFUSAL: Final = (
    "failed to convert Cluster API machine to Machine API machine: spec.deletion.nodeDrainTimeoutSeconds: "
    f"Invalid value: {DRAIN_SECONDS}: nodeDrainTimeoutSeconds is not supported"
)
"""The condition's message on the Machine API Machine while its Cluster API Machine has a drain time-out."""


def api_server_answers(scene: Scene, _: Moment[Scene]) -> Observed:
    if why := scene.silent:
        return missing(why)
    return met(f"etcd, kube-apiserver {scene.version}, kube-controller-manager and the Cluster API core manager run")


def kinds_are_served(scene: Scene, _: Moment[Scene]) -> Observed:
    if why := scene.unserved:
        return missing(why)
    return met("Machines and MachineSets are served in both APIs; Windlass has a ServiceAccount with its own rights")


def cluster_is_provisioned(scene: Scene, _: Moment[Scene]) -> Observed:
    if scene.cluster is None:
        return missing("there is no Cluster demo")
    status = scene.cluster.tree.get("status") or {}
    if status.get("phase") != "Provisioned":
        return missing(f"Cluster demo has phase {status.get('phase') or '(none)'}, not Provisioned")
    if not is_true(status.get("conditions") or [], "ControlPlaneInitialized"):
        return missing("Cluster demo is not ControlPlaneInitialized")
    if not is_true(status.get("conditions") or [], "RemoteConnectionProbe"):
        return missing("the Cluster API core manager has not connected to the workload cluster")
    return met("Cluster demo is Provisioned, its control plane initialized")


def windlass_leads(scene: Scene, _: Moment[Scene]) -> Observed:
    if why := scene.idle:
        return missing(why)
    return met(f"Windlass is ready, and leads as {scene.leader}")


def machines_are_mirrored(count: int) -> Expectation:
    """`count` Machines, each with a synchronized mirror, whatever their phase."""

    def look(scene: Scene, _: Moment[Scene]) -> Observed:
        return _each(scene, count, _not_mirrored) or met(
            f"Cluster API made {count} Machines, Windlass mirrored each: authority ClusterAPI, Synchronized=True"
        )

    return look


def machines_run(count: int) -> Expectation:
    """`count` Machines, Running in both APIs, with complete mirrors of the Machines and of their set."""

    def look(scene: Scene, _: Moment[Scene]) -> Observed:
        return (
            _each(scene, count, _not_running)
            or _set_not_in_sync(scene)
            or met(f"{count} Machines run on both sides; their mirrors have provider ID, addresses and Node")
        )

    return look


def machine_is_replaced(count: int) -> Expectation:
    """The machine of the step is gone in both APIs and the infrastructure, and `count` machines run again."""

    def look(scene: Scene, moment: Moment[Scene]) -> Observed:
        places = {
            "in Cluster API": scene.machines,
            "in the Machine API": scene.mirrors,
            "as OpenStackMachine": scene.infrastructure,
        }
        if left := [place for place, found in places.items() if moment.name in found]:
            return missing(f"{moment.name} still exists {' and '.join(left)}")
        new = [name for name in scene.machines if name not in moment.before.machines]
        return _each(scene, count, _not_running) or met(
            f"{moment.name} is gone on both sides, with its OpenStackMachine; {', '.join(new)} runs in its place"
        )

    return look


def conversion_is_refused(scene: Scene, moment: Moment[Scene]) -> Observed:
    row = _row(scene, moment.name)
    said = row.synchronized if row else None
    if said is None:
        return missing(f"{moment.name} has no Synchronized condition")
    if (said.status, said.reason, said.message) != ("False", Reason.FAILED_TO_CONVERT_TO_MAPI, REFUSAL):
        return missing(f"{moment.name} has Synchronized={said.status} {said.reason}: {said.message}")
    there = scene.machines.get(moment.name)
    if there is None or there.object.spec.deletion.node_drain_timeout_seconds is None:
        # The next step needs the machine that has it, and each API has its own watch.
        return missing(f"{moment.name} is not seen with a node drain time-out yet")
    return met(f"Synchronized={said.status}, reason {said.reason}, message: {said.message}")


def conversion_succeeds_again(scene: Scene, moment: Moment[Scene]) -> Observed:
    row = _row(scene, moment.name)
    if row is None:
        return missing(f"{moment.name} does not exist")
    if problem := _not_running(row, scene):
        return missing(f"{moment.name}: {problem}")
    return met(f"Synchronized=True, reason {Reason.RESOURCE_SYNCHRONIZED}, message: {FROM_CLUSTER_API.message}")


def _each(scene: Scene, count: int, shortcoming: Callable[[MachineRow, Scene], str]) -> Observed | None:
    """The first thing that `count` machines lack, None if they lack nothing."""
    rows = scene.rows_of(MACHINE_SET)
    if len(rows) != count:
        return missing(f"there are {len(rows)} machines, not {count}")
    for row in rows:
        if problem := shortcoming(row, scene):
            return missing(f"{row.name}: {problem}")
    return None


def _set_not_in_sync(scene: Scene) -> Observed | None:
    row = next((row for row in scene.set_rows if row.name == MACHINE_SET), None)
    if row is None or row.machine_api is None or row.unsynced:
        return missing(f"the mirror of MachineSet {MACHINE_SET} is not synchronized")
    return None


def _not_mirrored(row: MachineRow, _: Scene) -> str:
    return not_in_sync(row, CLUSTER_API)


def _not_running(row: MachineRow, scene: Scene) -> str:
    return not_running(row, scene, CLUSTER_API)


def not_in_sync(row: MachineRow, authority: str) -> str:
    """What a machine lacks to be mirrored under this authority; empty if nothing."""
    if row.cluster_api is None:
        return "does not exist in Cluster API"
    if row.machine_api is None:
        return "has no mirror in the Machine API"
    if row.authority != authority:
        return f"its mirror has authority {row.authority or '(none)'}, not {authority}"
    said = row.synchronized
    if said is None:
        return "its mirror has no Synchronized condition"
    if said.status != "True":
        return f"Synchronized={said.status} {said.reason}: {said.message}"
    return ""


def not_running(row: MachineRow, scene: Scene, authority: str) -> str:
    """What a machine lacks to run under this authority with a complete mirror; empty if nothing."""
    if problem := not_in_sync(row, authority):
        return problem
    assert row.machine_api is not None
    assert row.cluster_api is not None
    for api, side in (("Cluster API", row.cluster_api), ("the Machine API", row.machine_api)):
        if side.phase != "Running":
            return f"has phase {side.phase or '(none)'} in {api}, not Running"
    if not row.machine_api.provider_id or row.machine_api.provider_id != row.cluster_api.provider_id:
        return f"its mirror has provider ID {row.machine_api.provider_id!r}, not {row.cluster_api.provider_id!r}"
    if not row.machine_api.node:
        return "its mirror names no Node"
    if not scene.address(row.name):
        return "its mirror has no addresses"
    if row.generation is None or row.generation.behind:
        return "its mirror is behind the generation of the authority"
    return ""


def _row(scene: Scene, name: str) -> MachineRow | None:
    return next((row for row in scene.rows if row.name == name), None)


# The expectations of the second act: machines move from one API to the other and keep their instances.

POOL: Final = "demo-pool"
POOL_SIZE: Final = 3

_NAMES: Final = {MACHINE_API: "the Machine API", CLUSTER_API: "Cluster API"}


def machine_api_runs_a_set(scene: Scene, _: Moment[Scene]) -> Observed:
    """The MachineSet of this act, with its machines, under the Machine API; Cluster API has paused mirrors of all."""
    if problem := _problem(scene, MACHINE_API):
        return missing(problem)
    return met(
        f"the Machine API made {POOL_SIZE} Machines, which run; Windlass made a paused mirror of all in Cluster API"
    )


def handed_over(to: str) -> Expectation:
    """MachineSet and machines under the API `to`, on the instances that they had before."""

    def look(scene: Scene, moment: Moment[Scene]) -> Observed:
        if scene.code not in (0, None):
            return missing(f"`windlass migrate` ended with code {scene.code}")
        if problem := _problem(scene, to):
            return missing(problem)
        before, after = _instances(moment.before), _instances(scene)
        if before != after:
            return missing(f"the instances are {', '.join(sorted(after))}, and were {', '.join(sorted(before))}")
        if scene.code is None:
            return missing("`windlass migrate` has not ended")
        return met(
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


def _problem(scene: Scene, authority: str) -> str:
    """The first difference from the state under `authority`; empty if there is none."""
    rows = scene.rows_of(POOL)
    if len(rows) != POOL_SIZE:
        return f"{POOL} has {len(rows)} machines, not {POOL_SIZE}"
    for row in rows:
        problem = not_running(row, scene, authority)
        if problem := problem or _standing(scene.mirrors.get(row.name), scene.machines.get(row.name), authority):
            return f"{row.name}: {problem}"
    found = next((row for row in scene.set_rows if row.name == POOL), None)
    if found is None or found.authority != authority:
        return f"MachineSet {POOL} has authority {found.authority if found else '(none)'}, not {authority}"
    if found.unsynced:
        return f"MachineSet {POOL} is not synchronized"
    there = scene.sets.get(POOL)
    problem = _standing(scene.mirror_sets.get(POOL), there, authority) or _selecting(there, authority)
    return f"MachineSet {POOL}: {problem}" if problem else ""


def _standing(
    here: Present[mapi.Machine] | Present[mapi.MachineSet] | None,
    there: Present[capi.Machine] | Present[capi.MachineSet] | None,
    authority: str,
) -> str:
    """The controllers that are not paused although they should be, or are although they should not be."""
    for api, found in ((MACHINE_API, here), (CLUSTER_API, there)):
        status = (found.tree.get("status") or {}) if found else {}
        if is_true(status.get("conditions") or [], "Paused") == (api == authority):
            return f"{_NAMES[api]} {'has paused' if api == authority else 'has not paused'}"
    return ""


def _selecting(found: Present[capi.MachineSet] | None, authority: str) -> str:
    """Whether Cluster API has not yet completed the selector of the set that it now has authority over.

    It does so a while after it was unpaused, and `windlass migrate` waits until the set no longer changes.
    """
    if authority != CLUSTER_API or (found and CLUSTER_NAME_LABEL in found.object.spec.selector.match_labels):
        return ""
    return f"{_NAMES[CLUSTER_API]} has not completed the selector"
