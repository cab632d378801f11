"""The rules of the CRDs of Machine API Machines and MachineSets, for a model of the API server (`windlass.model`)."""

from collections.abc import Mapping

from windlass.api.meta import KubernetesObject
from windlass.model.checks import Rule
from windlass.model.schema import Rules, Shape, Tree


def _generation_holds(before: Tree, after: Tree) -> bool:
    old, new = before.get("synchronizedGeneration"), after.get("synchronizedGeneration")
    if old is None or (new is not None and new >= old):
        return True
    return before.get("authoritativeAPI") == "Migrating" and after.get("authoritativeAPI") not in ("Migrating", None)


MACHINE_AUTHORITY: tuple[Rule, ...] = (
    Rule(
        "status",
        _generation_holds,
        "synchronizedGeneration must not decrease unless authoritativeAPI is transitioning from Migrating to another "
        "value",
        shown="",
        reported="status.synchronizedGeneration",
    ),
    Rule(
        "status",
        lambda old, new: "authoritativeAPI" in new or "authoritativeAPI" not in old,
        "authoritativeAPI may not be removed once set",
        shown="",
    ),
    Rule(
        "status.authoritativeAPI",
        lambda old, new: new == old or "Migrating" in (old, new),
        "The authoritativeAPI field must not transition directly from MachineAPI to ClusterAPI or vice versa. "
        "It must transition through Migrating.",
    ),
)
"""How authority and the synchronized generation may change."""

MACHINE_FIELDS: Mapping[str, Shape] = {
    "spec.authoritativeAPI": Shape(type="string", enum=("MachineAPI", "ClusterAPI")),
    "status.authoritativeAPI": Shape(type="string", enum=("MachineAPI", "ClusterAPI", "Migrating")),
    "status.synchronizedGeneration": Shape(type="integer", minimum=0),
}
"""What their fields admit."""


def machine_api(kind: type[KubernetesObject]) -> Rules:
    """The rules of Machine API kind `kind` (Machine or MachineSet) as its CRD gives them: fields, transitions, default.

    A kind whose recorded objects were never defaulted or validated is registered without rules instead.
    """
    default = {"spec.authoritativeAPI": "MachineAPI"}
    return Rules(kind, fields=MACHINE_FIELDS, defaults=default, checks=MACHINE_AUTHORITY)
