"""What must be so for one of the two APIs to be in charge of a machine or a set, as claims with names.

Pure functions of what there is on both sides, so that a test which waits in vain can say what is missing.
"""

from collections.abc import Mapping

from windlass.kube.conditions import find, is_true
from windlass.machine_sync.constants import (
    AUTHORITY_ANNOTATION,
    CLUSTER_API,
    MACHINE_API,
    PAUSED_ANNOTATION,
    SYNC_FINALIZER,
)
from windlass.machine_sync.conversion.metadata import CLUSTER_NAME_LABEL

from ..api.machine_sync.examples import Example, Tree
from ..api.machine_sync.stage import condition, finalizers


def shortcoming(found: Mapping[str, Tree | None], authority: str, *, example: Example) -> str:
    """What is missing for a machine to be under `authority`, at rest, and Running; empty if nothing is."""
    mirror, source, infra = (found[side] for side in ("mirror", "source", "infra"))
    if mirror is None or source is None or infra is None:
        return f"not all three exist: {[side for side, tree in found.items() if tree is None]}"
    all_three = (mirror, source, infra)
    provider_id = mirror["spec"].get("providerID")
    claims = {
        **_authority_claims(mirror, source, authority),
        "phase Running in the Machine API": status_of(mirror).get("phase") == "Running",
        "phase Running in Cluster API": status_of(source).get("phase") == "Running",
        "a provider ID": bool(provider_id),
        "the same in Cluster API": source["spec"].get("providerID") == provider_id,
        "the infra machine paused if the Machine API is in charge": is_annotated(infra) == (authority == MACHINE_API),
        "our finalizer on each once": all(finalizers(one).count(SYNC_FINALIZER) == 1 for one in all_three),
    }
    if example.simulated.reports_paused:
        claims["Paused of the infra machine"] = is_paused(infra) == (authority == MACHINE_API)
    return ", ".join(claim for claim, holds in claims.items() if not holds)


def set_shortcoming(found: Mapping[str, Tree | None], authority: str, *, replicas: int) -> str:
    """What is missing for a MachineSet to be under `authority`, at rest, with all its machines; empty if nothing is."""
    mirror, source = found["mirror"], found["source"]
    if mirror is None or source is None:
        return f"not both exist: {[side for side, tree in found.items() if tree is None]}"
    claims = {
        **_authority_claims(mirror, source, authority),
        "replicas on both sides": mirror["spec"].get("replicas") == source["spec"].get("replicas") == replicas,
        "those of the Machine API ready": status_of(mirror).get("readyReplicas", 0) == replicas,
        "those of Cluster API ready": status_of(source).get("readyReplicas", 0) == replicas,
        # Its manager completes the selector of a set that is handed over to it, a while after it has said that it is
        # no longer paused.
        "selector completed by Cluster API": authority != CLUSTER_API or CLUSTER_NAME_LABEL in _selector(source),
    }
    return ", ".join(claim for claim, holds in claims.items() if not holds)


def _selector(machine_set: Tree) -> Tree:
    return machine_set["spec"]["selector"].get("matchLabels") or {}


def _authority_claims(mirror: Tree, source: Tree, authority: str) -> dict[str, bool]:
    here = authority == MACHINE_API
    generation = (mirror if here else source)["metadata"]["generation"]
    status = status_of(mirror)
    marked = (source["metadata"].get("annotations") or {}).get(AUTHORITY_ANNOTATION)
    return {
        "authority as asked for": status.get("authoritativeAPI") == mirror["spec"].get("authoritativeAPI") == authority,
        "no other synchronizedAPI": status.get("synchronizedAPI", authority) == authority,
        "Synchronized": condition(mirror).get("status") == "True",
        "the generation of the authority": status.get("synchronizedGeneration") == generation,
        "Paused of the Machine API": is_paused(mirror) == (not here),
        "Paused of Cluster API": is_paused(source) == here,
        "paused annotation in Cluster API": is_annotated(source) == here,
        "mark of the mirror in Cluster API": marked == (MACHINE_API if here else None),
    }


def is_annotated(tree: Tree) -> bool:
    """Whether its controllers are told to stand still."""
    return PAUSED_ANNOTATION in (tree["metadata"].get("annotations") or {})


def is_paused(tree: Tree) -> bool:
    """Whether its controllers say that they stand still."""
    return is_true(status_of(tree).get("conditions") or [], "Paused")


def since(tree: Tree, kind: str) -> str:
    """The time since when a condition has been what it is."""
    found = find(status_of(tree).get("conditions") or [], kind)
    return str((found or {}).get("lastTransitionTime", ""))


def status_of(tree: Tree) -> Tree:
    return tree.get("status") or {}
