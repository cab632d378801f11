"""An object that a user creates by hand must not become a second authority for the same machine.

A new object has no facts about the object of its name in the other API, so these rules have that API's objects as
parameters. That is expensive: the API server evaluates the rule once for each of them. Machines that a MachineSet
creates are not skipped: only a label could tell them from others before that, and its author chooses it.
"""

from typing import Final

from windlass.api import capi, mapi
from windlass.capability.manifests.cel import literal
from windlass.capability.manifests.policy import CREATE, Policy, Rule, Twins
from windlass.machine_sync.constants import (
    CLUSTER_API,
    MACHINE_API,
    PAUSED_ANNOTATION,
    Namespaces,
)

_SPEC_AUTHORITY: Final = "object.?spec.?authoritativeAPI.orValue('<unset>')"
_TWIN_AUTHORITY: Final = "params.?status.?authoritativeAPI.orValue('<unset>')"
_NAME: Final = "object.metadata.name"
_TWIN_IS_PAUSED: Final = "params.?status.?conditions.orValue([]).exists(c, c.type == 'Paused' && c.status == 'True')"
_IS_PAUSED: Final = f"{literal(PAUSED_ANNOTATION)} in object.metadata.?annotations.orValue({{}})"


def policies(namespaces: Namespaces, *, exempt: tuple[str, ...], exempt_makers: tuple[str, ...]) -> tuple[Policy, ...]:
    """Two for each API. `exempt_makers`: users who are exempt from those of Cluster API."""
    return (
        Policy(
            name="openshift-only-create-mapi-machine-if-authoritative-api-capi",
            kinds=(mapi.Machine,),
            namespace=namespaces.machine_api,
            operations=(CREATE,),
            exempt=exempt,
            twins=Twins(capi.Machine, namespaces.cluster_api),
            rules=(
                _as_mirror(
                    f"'Can\\'t create Machine API Machine ' + {_NAME} + ' with authoritativeAPI=' + "
                    f"{_SPEC_AUTHORITY} + ' because a Cluster API Machine with the same name already exists.'"
                ),
            ),
        ),
        Policy(
            name="openshift-prevent-authoritative-mapi-machineset-create-when-capi-exists",
            kinds=(mapi.MachineSet,),
            namespace=namespaces.machine_api,
            operations=(CREATE,),
            exempt=exempt,
            twins=Twins(capi.MachineSet, namespaces.cluster_api),
            rules=(
                _as_mirror(
                    f"'Can\\'t create Machine API MachineSet ' + {_NAME} + ' with spec.authoritativeAPI: ' + "
                    f"{_SPEC_AUTHORITY} + ' because a Cluster API MachineSet with the same name already exists.'"
                ),
            ),
        ),
        Policy(
            name="openshift-validate-capi-machine-creation",
            kinds=(capi.Machine,),
            namespace=namespaces.cluster_api,
            operations=(CREATE,),
            exempt=exempt_makers,
            twins=Twins(mapi.Machine, namespaces.machine_api),
            rules=_not_both_active("Machine", "machine"),
        ),
        Policy(
            name="openshift-validate-capi-machine-set-creation",
            kinds=(capi.MachineSet,),
            namespace=namespaces.cluster_api,
            operations=(CREATE,),
            exempt=exempt_makers,
            twins=Twins(mapi.MachineSet, namespaces.machine_api),
            rules=_not_both_active("MachineSet", "machine set"),
        ),
    )


def _as_mirror(message: str) -> Rule:
    return Rule(f"object.?spec.?authoritativeAPI.orValue('') == {literal(CLUSTER_API)}", message, computed=True)


def _not_both_active(kind: str, noun: str) -> tuple[Rule, ...]:
    return (
        Rule(
            f"{_TWIN_AUTHORITY} != {literal(MACHINE_API)} || {_IS_PAUSED}",
            f"'Can\\'t create Cluster API {kind} ' + {_NAME} + ' in an un-paused state. Either pause the {noun}, or "
            f"change the authoritative API of the MAPI {noun}: ' + {_NAME} + '.'",
            computed=True,
        ),
        Rule(
            f"{_TWIN_AUTHORITY} != {literal(CLUSTER_API)} || {_TWIN_IS_PAUSED}",
            f"'Can\\'t create Cluster API {kind} ' + {_NAME} + ' as a Machine API {kind} with status.authoritativeAPI: "
            f"' + {_TWIN_AUTHORITY} + ' already exists and is not paused.'",
            computed=True,
        ),
    )
