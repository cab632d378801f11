"""Objects that are being deleted, and what a plan does about them."""

from typing import Any

from windlass.kube.control.plan import Plan, RemoveFinalizers

from .cases import AUTHORITY, CAPI_SET, GONE, PAUSED, THEIRS, Tree, changed

MIRROR = changed(CAPI_SET, metadata__annotations={PAUSED: "", AUTHORITY: "MachineAPI"})


def going(tree: Tree, **fields: Any) -> Tree:
    return changed(tree, metadata={**tree["metadata"], **GONE, **fields})


def machine(name: str) -> Tree:
    """A Machine of Cluster API, as far as it matters here."""
    return {"metadata": {"name": name, "namespace": THEIRS, "uid": f"uid-of-{name}", "resourceVersion": "7"}}


def steps(plan: Plan) -> list[tuple[str, type[Any]]]:
    return [(type(action).__name__, action.target.kind) for action in plan.needed]


def taken_off(plan: Plan) -> dict[type[Any], list[str]]:
    """What is left of the finalizers of each object."""
    return {one.target.kind: one.desired for one in plan.needed if isinstance(one, RemoveFinalizers)}
