"""Recorded runs of OpenShift's synchronization of MachineSets: how objects are called, and where ours end elsewhere."""

from tests.unit.machine_sync.trees import Tree

from .runs import Deviation, tagged

CONDITIONS = "cluster_api.status.conditions"
SYNCHRONIZED = "machine_api.status.conditions[1]"


def said(*fields: str) -> set[str]:
    return {f"{SYNCHRONIZED}.{field}" for field in fields}


CONDITIONS_AT_LAST = Deviation(
    "upstream overwrites the converted conditions of v1beta2 with the observed ones; ours are written", {CONDITIONS}
)
STATUS_UNGATED = Deviation(
    "upstream writes the mirror's status when the Machine API has observed its generation; ours is what there is",
    {
        CONDITIONS,
        "cluster_api.status.availableReplicas",
        "cluster_api.status.deprecated.v1beta1.conditions",
        "cluster_api.status.deprecated.v1beta1.readyReplicas",
        "cluster_api.status.observedGeneration",
        "cluster_api.status.readyReplicas",
        "cluster_api.status.selector",
    },
)
SAID_AT_LAST = Deviation("upstream says nothing on the object when the Cluster is missing", {SYNCHRONIZED})
LEFT_TO_CLUSTER_API = Deviation(
    "upstream takes Cluster API's finalizer off a mirror that is not paused, of which Cluster API does so itself",
    {"cluster_api", "machine_api"},
)

LABELLED = "template ms-user"
"""It has the label of the set, and a name that conversion never gives: a user made it."""
STAYS = Deviation("upstream deletes each template with the label of the set; ours those of its own names", {LABELLED})


def and_stays(deviation: Deviation) -> Deviation:
    return Deviation(f"{deviation.why}; {STAYS.why}", {*deviation.paths, LABELLED})


def tainted(template: str) -> Deviation:
    return Deviation(
        "upstream refuses a set with taints; ours mirrors it, without taints while Cluster API takes none",
        {"error", "cluster_api", f"template {template}", *said("status", "reason", "message", "severity")},
    )


def compared_at_last(*paths: str) -> Deviation:
    return Deviation(
        "upstream cannot compare provider specs of OpenStack, so it reports an error for ever; ours synchronizes",
        {"error", "machine_api.spec.template.spec.metadata", *paths},
    )


NOTED = ("machine_api.status.observedGeneration", "machine_api.status.synchronizedGeneration")

DEVIATIONS: dict[str, Deviation] = {
    "AWS-mapi-auth-conversion-error": tainted("ms-23ae470c"),
    "OpenStack-mapi-auth-conversion-error": tainted("ms-daf5082f"),
    "AWS-mapi-auth-create": CONDITIONS_AT_LAST,
    "AWS-mapi-auth-create-nofinalizer": CONDITIONS_AT_LAST,
    "AWS-mapi-auth-labelled-outdated-template-deleted": and_stays(CONDITIONS_AT_LAST),
    "AWS-mapi-auth-observed-generation-behind": STATUS_UNGATED,
    "AWS-mapi-auth-no-cluster": SAID_AT_LAST,
    "AWS-mapi-auth-no-infracluster": Deviation(
        "the recording ends after two passes; a mirror has its status when it is at rest", {"cluster_api.status"}
    ),
    "AWS-mapi-auth-deleting": and_stays(LEFT_TO_CLUSTER_API),
    "AWS-capi-auth-capi-deleting-done": STAYS,
    "OpenStack-capi-auth-capi-deleting-done": STAYS,
    "AWS-mapi-auth-capi-deleting": LEFT_TO_CLUSTER_API,
    "AWS-capi-auth-capi-generation-not-observed": Deviation(
        "upstream writes the mirror's status when Cluster API has observed its generation; ours is what there is",
        {"machine_api.status.readyReplicas"},
    ),
    "OpenStack-mapi-auth-create": CONDITIONS_AT_LAST,
    "OpenStack-mapi-auth-labelled-outdated-template-deleted": and_stays(CONDITIONS_AT_LAST),
    "OpenStack-mapi-auth-observed-generation-behind": STATUS_UNGATED,
    "OpenStack-mapi-auth-no-cluster": SAID_AT_LAST,
    "OpenStack-capi-auth-no-capi": compared_at_last(*said("message"), "machine_api.status.synchronizedGeneration"),
    "OpenStack-capi-auth-in-sync": compared_at_last(SYNCHRONIZED, *NOTED),
    "OpenStack-capi-auth-replicas-changed": compared_at_last(SYNCHRONIZED, *NOTED, "machine_api.spec.replicas"),
    "OpenStack-capi-auth-selector-preserved": compared_at_last(SYNCHRONIZED, *NOTED, "machine_api.spec.replicas"),
    "OpenStack-capi-auth-template-labels-removed-in-capi-are-kept": Deviation(
        "as before; and what is removed from the template goes from the mirror's",
        {
            *compared_at_last(SYNCHRONIZED, *NOTED, "machine_api.spec.replicas").paths,
            "machine_api.spec.template.metadata.labels.old",
        },
    ),
    "OpenStack-capi-auth-clustername-empty": Deviation(
        "upstream says so in an Event alone; ours says so on the object too", {SYNCHRONIZED}
    ),
}


for _run in (
    "OpenStack-mapi-auth-create",
    "OpenStack-mapi-auth-labelled-outdated-template-deleted",
    "OpenStack-mapi-auth-observed-generation-behind",
    "OpenStack-capi-auth-no-capi",
):
    DEVIATIONS[_run] = tagged(
        DEVIATIONS.get(_run),
        "cluster_api.spec.template.spec.infrastructureRef.name",
        "template ms-ff640ffb",
        "template ms-daf5082f",
    )
"""A template is named by a hash of its spec."""


def label(tree: Tree) -> str:
    """What an object is called here; empty if it is not compared."""
    if tree["kind"] == "MachineSet":
        return "machine_api" if tree["apiVersion"].startswith("machine.openshift.io") else "cluster_api"
    return f"template {tree['metadata']['name']}" if tree["kind"].endswith("MachineTemplate") else ""
