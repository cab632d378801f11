"""Objects that are being deleted, and what a plan deletes and releases."""

from typing import Any

from windlass.api import capi, capo, mapi
from windlass.kube.control.plan import Delete, Plan, RemoveFinalizers

from .cases import GONE, Tree, changed


def going(tree: Tree, **fields: Any) -> Tree:
    return changed(tree, metadata__deletionTimestamp=GONE["deletionTimestamp"], **fields)


def steps(plan: Plan) -> list[tuple[str, str]]:
    names = {capi.Machine: "cluster_api", mapi.Machine: "machine_api", capo.OpenStackMachine: "infra_machine"}
    return [
        (type(action).__name__, names[action.target.kind])  # type: ignore[index]
        for action in plan.needed
        if isinstance(action, Delete | RemoveFinalizers)
    ]
