"""When spec.authoritativeAPI may change: only while authority over the machine can move.

| must hold | where it is read |
|---|---|
| not being provisioned, not being deleted | the Machine itself |
| the infrastructure of the Cluster API Machine is provisioned | status.phase, which is mirrored |
| the Cluster API Machine is not being deleted | status.phase, and the mirror is deleted with it |
| Synchronized is True, else a warning | the Machine or MachineSet itself |

The third is required only of machines that are mirrored, which the sync finalizer shows. Under the Machine API, the
phase decides what the mirror says about its infrastructure. Under Cluster API, the phase is that of the Cluster API
Machine, which gets its provider ID when its infrastructure is provisioned.
"""

from typing import Any, Final

from windlass.api import mapi
from windlass.capability.manifests.cel import literal
from windlass.capability.manifests.policy import Policy, Rule
from windlass.machine_sync.constants import CLUSTER_API, SYNC_FINALIZER, Namespaces
from windlass.machine_sync.conversion.machine_to_cluster_api import PROVISIONED_PHASES
from windlass.machine_sync.policies.authority import CHANGES_AUTHORITY, authority_is

_PHASE: Final = "oldObject.?status.?phase.orValue('')"
_DELETING: Final = "Deleting"
_IS_NOT_PROVISIONING: Final = f"{_PHASE} != 'Provisioning'"
_IS_NOT_DELETING: Final = "!has(oldObject.metadata.deletionTimestamp)"
_HAS_PROVIDER_ID: Final = "oldObject.?spec.?providerID.orValue('') != ''"
_IS_MIRRORED: Final = f"{literal(SYNC_FINALIZER)} in oldObject.metadata.?finalizers.orValue([])"
_IS_SYNCHRONIZED: Final = (
    "object.?status.?conditions.orValue([]).exists(c, c.type == 'Synchronized' && c.status == 'True')"
)


def policies(namespaces: Namespaces, *, exempt: tuple[str, ...], exempt_movers: tuple[str, ...]) -> tuple[Policy, ...]:
    """Four policies. `exempt_movers`: users who are exempt from that about the Cluster API Machine."""
    common: dict[str, Any] = {"namespace": namespaces.machine_api, "when": {"authority-changes": CHANGES_AUTHORITY}}
    return (
        Policy(
            name="openshift-prevent-migration-when-machine-updating",
            kinds=(mapi.Machine,),
            exempt=exempt,
            rules=(
                Rule(
                    _IS_NOT_PROVISIONING,
                    "Cannot update .spec.authoritativeAPI when machine is in Provisioning phase",
                ),
                _not_deleting("machine"),
            ),
            **common,
        ),
        Policy(
            name="prevent-migration-when-machine-set-deleting",
            kinds=(mapi.MachineSet,),
            exempt=exempt,
            rules=(_not_deleting("machine set"),),
            **common,
        ),
        Policy(
            name="openshift-mapi-authoritative-api-transition-requires-capi-infrastructure-ready-and-not-deleting",
            kinds=(mapi.Machine,),
            exempt=exempt_movers,
            namespace=namespaces.machine_api,
            when={
                "authority-changes": CHANGES_AUTHORITY,
                "is-mirrored": _IS_MIRRORED,
                # If two policies refuse, the API server shows one of them, and not always the same.
                "is-not-refused-already": f"{_IS_NOT_PROVISIONING} && {_IS_NOT_DELETING}",
            },
            rules=(
                Rule(
                    f"{_PHASE} in {literal(sorted(PROVISIONED_PHASES))} ||\n"
                    f"({authority_is(CLUSTER_API)} && {_HAS_PROVIDER_ID})",
                    "spec.authoritativeAPI may only be updated when the Cluster API Machine's "
                    "status.initialization.infrastructureProvisioned is true.",
                ),
                Rule(
                    f"{_PHASE} != {literal(_DELETING)}",
                    "spec.authoritativeAPI cannot be modified while the corresponding CAPI Machine is being deleted "
                    "(metadata.deletionTimestamp is set).",
                ),
            ),
        ),
        Policy(
            name="openshift-provide-warning-when-not-synchronized",
            kinds=(mapi.Machine, mapi.MachineSet),
            exempt=exempt,
            rules=(
                Rule(
                    _IS_SYNCHRONIZED,
                    "Updating .spec.authoritativeAPI when the Synchronized condition is not true means changes may not "
                    "take effect",
                ),
            ),
            warns=True,
            **common,
        ),
    )


def _not_deleting(noun: str) -> Rule:
    return Rule(
        _IS_NOT_DELETING,
        f"Cannot update .spec.authoritativeAPI when {noun} has a non-zero deletion timestamp",
    )
