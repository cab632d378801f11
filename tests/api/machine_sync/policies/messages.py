"""What the policies answer, word for word."""

from windlass.api import capi, mapi

from .policed import Kind

MACHINES: tuple[Kind, ...] = (mapi.Machine, capi.Machine)

PROVISIONING = "Cannot update .spec.authoritativeAPI when machine is in Provisioning phase"
DELETING = "Cannot update .spec.authoritativeAPI when machine has a non-zero deletion timestamp"
SET_DELETING = "Cannot update .spec.authoritativeAPI when machine set has a non-zero deletion timestamp"
NO_INFRASTRUCTURE = (
    "spec.authoritativeAPI may only be updated when the Cluster API Machine's "
    "status.initialization.infrastructureProvisioned is true."
)
TWIN_DELETING = (
    "spec.authoritativeAPI cannot be modified while the corresponding CAPI Machine is being deleted "
    "(metadata.deletionTimestamp is set)."
)
NOT_SYNCHRONIZED = (
    "Updating .spec.authoritativeAPI when the Synchronized condition is not true means changes may not take effect"
)


def is_machine_api(kind: Kind) -> bool:
    return kind.RESOURCE.group == mapi.Machine.RESOURCE.group


def because(kind: Kind) -> str:
    return f"This is because status.authoritativeAPI is set to {'Cluster' if is_machine_api(kind) else 'Machine'} API."


def spec_message(kind: Kind) -> str:
    if is_machine_api(kind):
        return (
            "You may only modify spec.authoritativeAPI. Any other change inside .spec is not allowed. "
            "This is because status.authoritativeAPI is set to Cluster API."
        )
    return f"Changing .spec is not allowed. {because(kind)}"


def label_message(kind: Kind) -> str:
    return (
        "Cannot add, modify or delete any machine.openshift.io/*, kubernetes.io/* or cluster.x-k8s.io/* label. "
        f"{because(kind)}"
    )


def annotation_message(kind: Kind) -> str:
    return (
        "Cannot add, modify or delete any machine.openshift.io/* or cluster.x-k8s.io/* or clusters.x-k8s.io/* "
        f"annotation. {because(kind)}"
    )


def mirrored_message(kind: Kind) -> str:
    other = "Cluster API" if is_machine_api(kind) else "Machine API"
    noun = "machine" if kind in MACHINES else "MachineSet"
    return f"Cannot modify a {other} controlled label except to match the {other} mirrored {noun}. {because(kind)}"
