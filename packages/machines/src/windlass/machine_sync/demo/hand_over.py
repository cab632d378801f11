"""The expectations of the second act: machines move from one API to the other and keep their instances.

Pure functions, as in `expectations`.
"""

from typing import Final

from windlass.api import capi, mapi
from windlass.demo.story import Moment, Observed, met, missing
from windlass.kube.conditions import is_true
from windlass.kube.control.seen import Present
from windlass.machine_sync.constants import CLUSTER_API, MACHINE_API
from windlass.machine_sync.conversion.metadata import CLUSTER_NAME_LABEL
from windlass.machine_sync.demo.expectations import Expectation, not_running
from windlass.machine_sync.demo.scene import Scene

MACHINE_SET: Final = "demo-pool"
COUNT: Final = 3

_NAMES: Final = {MACHINE_API: "the Machine API", CLUSTER_API: "Cluster API"}


def machine_api_runs_a_set(scene: Scene, _: Moment[Scene]) -> Observed:
    """The MachineSet of this act, with its machines, under the Machine API; Cluster API has paused mirrors of all."""
    if problem := _problem(scene, MACHINE_API):
        return missing(problem)
    return met(f"the Machine API made {COUNT} Machines, which run; Windlass made a paused mirror of all in Cluster API")


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
            f"{MACHINE_SET} and its {COUNT} Machines belong to {_NAMES[to]}. "
            "No instance was made or deleted, and on none did both APIs act."
        )

    return look


def _instances(scene: Scene) -> set[str]:
    """The instances of this act; one on which both APIs acted at once is marked."""
    return {
        f"{one.id} (fought over)" if one.seizures else one.id
        for one in scene.instances
        if one.machine.startswith(f"{MACHINE_SET}-") and one.alive
    }


def _problem(scene: Scene, authority: str) -> str:
    """The first difference from the state under `authority`; empty if there is none."""
    rows = scene.rows_of(MACHINE_SET)
    if len(rows) != COUNT:
        return f"{MACHINE_SET} has {len(rows)} machines, not {COUNT}"
    for row in rows:
        problem = not_running(row, scene, authority)
        if problem := problem or _standing(scene.mirrors.get(row.name), scene.machines.get(row.name), authority):
            return f"{row.name}: {problem}"
    found = next((row for row in scene.set_rows if row.name == MACHINE_SET), None)
    if found is None or found.authority != authority:
        return f"MachineSet {MACHINE_SET} has authority {found.authority if found else '(none)'}, not {authority}"
    if found.unsynced:
        return f"MachineSet {MACHINE_SET} is not synchronized"
    there = scene.sets.get(MACHINE_SET)
    problem = _standing(scene.mirror_sets.get(MACHINE_SET), there, authority) or _selecting(there, authority)
    return f"MachineSet {MACHINE_SET}: {problem}" if problem else ""


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
