"""Objects of Cluster API's version v1beta1 as those of v1beta2, as far as plans look at them.

Nearly all manifests that people copy are of v1beta1. On a cluster the API server converts them; a file has nobody who
does. Of the differences only two matter here: references name a group in place of a version, and the status says in
`initialization` what is there.
"""

import copy
from typing import Any, Final

from windlass.api.capi import Cluster

Tree = dict[str, Any]

OLD: Final = f"{Cluster.RESOURCE.group}/v1beta1"
_READY: Final = {"infrastructureReady": "infrastructureProvisioned", "controlPlaneReady": "controlPlaneInitialized"}


def of_today(tree: Tree) -> Tree:
    """A converted copy of a Cluster, Machine, MachineSet or MachineDeployment. Fields of an unexpected type stay."""
    tree = copy.deepcopy(tree)
    tree["apiVersion"] = Cluster.RESOURCE.api_version
    spec = tree.get("spec")
    if isinstance(spec, dict):
        template = spec.get("template")
        inner = template.get("spec") if isinstance(template, dict) else None
        for each in (spec, inner):
            if isinstance(each, dict):
                _refer(each)
    status = tree.pop("status", None)
    if isinstance(status, dict):
        known = {new: True for old, new in _READY.items() if status.get(old) is True}
        kept = {name: status[name] for name in ("addresses", "phase", "observedGeneration") if name in status}
        tree["status"] = {**kept, **({"initialization": known} if known else {})}
    return tree


def _refer(spec: Tree) -> None:
    for holder, name in ((spec, "infrastructureRef"), (spec, "controlPlaneRef"), (spec.get("bootstrap"), "configRef")):
        reference = holder.get(name) if isinstance(holder, dict) else None
        if isinstance(reference, dict) and "apiGroup" not in reference:
            group = str(reference.get("apiVersion", "")).partition("/")[0]
            assert isinstance(holder, dict)
            holder[name] = {"apiGroup": group, "kind": reference.get("kind", ""), "name": reference.get("name", "")}
