"""Recorded runs of OpenShift's synchronization of machines: how objects are called, and where ours end elsewhere."""

from tests.unit.machine_sync.trees import Tree

from .runs import Deviation, tagged

CONDITION = {f"machine_api.status.conditions[1].{field}" for field in ("status", "severity", "reason", "message")}
LABELS = "machine_api.metadata.labels.machine.openshift.io"
DERIVED_LABELS = {f"{LABELS}/{label}" for label in ("instance-type", "zone")}


def seed(*status: str) -> Deviation:
    return Deviation(
        "status, authority and our finalizer are there as soon as the mirror is; upstream needs its migration "
        "controller, further passes and a third writer for them",
        {"machine_api.metadata.finalizers[1]", *status},
    )


def compared_at_last(*paths: str) -> Deviation:
    return Deviation(
        "upstream cannot compare provider specs of OpenStack, so it reports an error for ever; ours synchronizes",
        {
            "error",
            "machine_api.spec.metadata",
            "machine_api.status.synchronizedGeneration",
            *CONDITION,
            *DERIVED_LABELS,
            *paths,
        },
    )


QUIET_END = Deviation(
    "upstream takes its finalizer off, then reports `failed to remove finalizer: %!w(<nil>)`", {"error"}
)

NOT_ADOPTABLE = Deviation(
    "the Cluster controls the mirror of a Machine that no MachineSet owns, so that no set of Cluster API adopts it",
    {"cluster_api.metadata.ownerReferences[0].controller"},
)

TAINTED = Deviation(
    "upstream refuses a machine with taints; ours mirrors it, without taints while Cluster API takes none",
    {"error", "infra_machine", "cluster_api", *CONDITION},
)


def told_while_it_waits(*paths: str) -> Deviation:
    return Deviation(
        "while a deletion waits, upstream leaves the mirror as it was; ours keeps it up to date",
        {
            "machine_api.spec.metadata",
            "machine_api.status.conditions[1]",
            "machine_api.status.synchronizedGeneration",
            "machine_api.status.nodeRef",
            "machine_api.status.phase",
            *DERIVED_LABELS,
            *paths,
        },
    )


FIELD_NAMED = Deviation(
    "upstream says what a list must be, and not which", {"machine_api.status.conditions[1].message"}
)

DEVIATIONS: dict[str, Deviation] = {
    "AWS-mapi-auth-conversion-error-taints": TAINTED,
    "OpenStack-mapi-auth-conversion-error-taints": TAINTED,
    **dict.fromkeys(("AWS-capi-auth-two-owners", "OpenStack-capi-auth-two-owners"), FIELD_NAMED),
    **dict.fromkeys(
        (
            "AWS-mapi-auth-create-mirror",
            "AWS-mapi-auth-create-mirror-generation-not-synchronized",
            "AWS-mapi-auth-capi-spec-drift",
            "AWS-mapi-auth-infra-providerid-only-on-infra",
            "AWS-aws-conversion-warning-event",
            "AWS-aws-providerstatus-to-infra",
            "OpenStack-mapi-auth-create-from-nothing-nofinalizers",
            "OpenStack-mapi-auth-create-mirror",
            "OpenStack-mapi-auth-capi-label-drift-kept",
            "OpenStack-mapi-auth-capi-spec-drift",
            "OpenStack-mapi-auth-infra-spec-drift-recreates",
            "OpenStack-mapi-auth-infra-missing-recreated",
            "OpenStack-mapi-auth-no-owner-no-finalizer-adds-to-all",
        ),
        NOT_ADOPTABLE,
    ),
    "AWS-capi-only-owned-mapi-ms-exists-SEED": seed(
        "machine_api.status.providerStatus", "machine_api.status.authoritativeAPI"
    ),
    "AWS-capi-only-owned-mapi-ms-exists-nofinalizers-SEED": seed(
        "machine_api.status.providerStatus", "machine_api.status.authoritativeAPI"
    ),
    "OpenStack-capi-only-owned-mapi-ms-exists-nofinalizers-SEED": seed("machine_api.status"),
    "AWS-capi-only-owned-deleting": Deviation(
        "upstream ignores a machine that is being deleted without a mirror, so its finalizer holds it for ever",
        {"infra_machine.metadata.finalizers[1]", "cluster_api.metadata.finalizers[1]"},
    ),
    "OpenStack-capi-auth-status-changed": compared_at_last(
        "machine_api.status.addresses", "machine_api.status.nodeRef.name", "machine_api.status.phase"
    ),
    "OpenStack-capi-auth-spec-and-status-changed": compared_at_last(
        "machine_api.spec.providerSpec.value.flavor",
        "machine_api.metadata.labels.new",
        "machine_api.status.nodeRef.name",
    ),
    "OpenStack-capi-auth-owner-cluster-dropped": compared_at_last(
        "machine_api.metadata.ownerReferences", "machine_api.status.nodeRef", "machine_api.status.phase"
    ),
    "OpenStack-capi-auth-owner-machineset": compared_at_last(
        "machine_api.metadata.ownerReferences", "machine_api.status.nodeRef", "machine_api.status.phase"
    ),
    **dict.fromkeys(
        ("AWS-capi-auth-capi-deleting-waits-infra-finalizer", "AWS-capi-auth-mapi-deleting-propagates"),
        told_while_it_waits(f"{LABELS}/region", "machine_api.status.providerStatus"),
    ),
    "OpenStack-capi-auth-capi-deleting-waits-infra-finalizer": told_while_it_waits(),
    "AWS-mapi-auth-deleting-no-capi": QUIET_END,
    "OpenStack-mapi-auth-deleting-no-capi": QUIET_END,
    "AWS-capi-auth-no-capi-machine-creates-unpaused": Deviation(
        "the owner of the infra machine and the status of a Machine that is not paused are Cluster API's to write",
        {"infra_machine.metadata.ownerReferences", "cluster_api.status"},
    ),
    "OpenStack-capi-auth-no-capi-machine-creates-unpaused": Deviation(
        "as on AWS; and upstream cannot compare provider specs of OpenStack",
        {
            "error",
            "infra_machine.metadata.ownerReferences",
            "cluster_api.status",
            "machine_api.spec.metadata",
            "machine_api.status.synchronizedGeneration",
            *CONDITION,
            *DERIVED_LABELS,
        }
        | {"machine_api.status.nodeRef", "machine_api.status.phase"},
    ),
    "AWS-aws-infra-status-to-providerstatus": Deviation(
        "upstream writes a provider status only when something else changes too",
        {"machine_api.status.providerStatus.conditions[1]", "machine_api.status.providerStatus.instanceState"},
    ),
    "OpenStack-mapi-authority-empty": Deviation(
        "upstream leaves an empty authority to its migration controller; ours fills it, and goes on",
        {"cluster_api", "infra_machine", "machine_api.status.authoritativeAPI", "machine_api.status.conditions[1]"},
    ),
    "OpenStack-mapi-auth-infra-providerid-only-on-infra": Deviation(
        f"what only the provider sets is no difference, so the infra machine is not recreated; and {NOT_ADOPTABLE.why}",
        {
            "infra_machine.metadata.finalizers[0]",
            "infra_machine.metadata.finalizers[1]",
            "infra_machine.spec.providerID",
            *NOT_ADOPTABLE.paths,
        },
    ),
    "OpenStack-capi-auth-owner-machineset-no-mapi-ms": Deviation(
        "upstream only logs that the owner has no twin and leaves Synchronized as it was, True included",
        {"machine_api.status.conditions[1]"},
    ),
}


for _run in (
    "OpenStack-mapi-auth-create-from-nothing-nofinalizers",
    "OpenStack-mapi-auth-create-mirror",
    "OpenStack-mapi-auth-owned-by-long-machineset-name",
    "OpenStack-mapi-auth-infra-spec-drift-recreates",
    "OpenStack-mapi-auth-infra-missing-recreated",
    "OpenStack-capi-auth-no-capi-machine-creates-unpaused",
):
    DEVIATIONS[_run] = tagged(DEVIATIONS.get(_run), "infra_machine.spec.tags")


def label(tree: Tree) -> str:
    """What an object is called here; empty if it is not compared."""
    ours = tree["apiVersion"].startswith("machine.openshift.io")
    match tree["kind"]:
        case "Machine":
            return "machine_api" if ours else "cluster_api"
        case "MachineSet":
            return "machine_api_set" if ours else "cluster_api_set"
        case "AWSMachine" | "OpenStackMachine":
            return "infra_machine"
        case _:
            return ""
