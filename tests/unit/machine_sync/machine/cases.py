"""Machines to decide about, as trees that tests change where a case differs."""

import copy
from typing import Any

from windlass.api import capi, config, mapi
from windlass.kube.control.plan import AddFinalizer, Create, Delete, Emit, Merge, Plan, RemoveFinalizers, Retry
from windlass.kube.control.question import Cached, Indexed, Question
from windlass.kube.control.seen import Absent, metadata_of
from windlass.machine_sync.machine.decide import decide
from windlass.machine_sync.machine.observe import BY_MACHINE
from windlass.machine_sync.machine.snapshot import MachineSnapshot
from windlass.machine_sync.mirroring.collector import ORPHAN
from windlass.machine_sync.platforms import OPENSTACK, Platform

# Tests have these from here, like the rest.
from ..trees import AUTHORITY as AUTHORITY
from ..trees import CLUSTER as CLUSTER
from ..trees import EARLIER as EARLIER
from ..trees import GONE as GONE
from ..trees import INFRA_CLUSTER as INFRA_CLUSTER
from ..trees import INFRASTRUCTURE as INFRASTRUCTURE
from ..trees import NOW as NOW
from ..trees import PAUSED as PAUSED
from ..trees import PROVIDER_SPEC, told
from ..trees import SYNC as SYNC
from ..trees import THEIRS as THEIRS
from ..trees import Tree as Tree
from ..trees import changed as changed
from ..trees import look as look

MACHINE_API_FINALIZER = "machine.machine.openshift.io"
CLUSTER_API_FINALIZER = "machine.cluster.x-k8s.io"
INFRA_FINALIZER = "openstackmachine.infrastructure.cluster.x-k8s.io"

CAPI_MACHINE: Tree = {
    "metadata": {
        "name": "w-0",
        "namespace": "openshift-cluster-api",
        "uid": "capi-uid",
        "resourceVersion": "70",
        "generation": 7,
        "labels": {"cluster.x-k8s.io/cluster-name": "c", "node-role.kubernetes.io/worker": ""},
        "finalizers": [CLUSTER_API_FINALIZER, SYNC],
        "ownerReferences": [
            {
                "apiVersion": "cluster.x-k8s.io/v1beta2",
                "kind": "MachineSet",
                "name": "ms",
                "uid": "capi-ms-uid",
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
    },
    "spec": {
        "clusterName": "c",
        "bootstrap": {"dataSecretName": "worker-user-data"},
        "infrastructureRef": {
            "apiGroup": "infrastructure.cluster.x-k8s.io",
            "kind": "OpenStackMachine",
            "name": "w-0-infra",
        },
        "providerID": "openstack:///1",
    },
    "status": {"phase": "Running", "nodeRef": {"name": "node-0"}},
}
INFRA: Tree = {
    "metadata": {
        "name": "w-0-infra",
        "namespace": "openshift-cluster-api",
        "uid": "infra-uid",
        "resourceVersion": "20",
        "generation": 2,
        "finalizers": [INFRA_FINALIZER, SYNC],
    },
    "spec": {"flavor": "m1.large", "image": {"filter": {"name": "rhcos"}}},
    "status": {"ready": True},
}
CAPI_SET: Tree = {"metadata": {"name": "ms", "namespace": "openshift-cluster-api", "uid": "capi-ms-uid"}}
MAPI_SET: Tree = {"metadata": {"name": "ms", "namespace": "openshift-machine-api", "uid": "mapi-ms-uid"}}
MAPI_MACHINE: Tree = {
    "metadata": {
        "name": "w-0",
        "namespace": "openshift-machine-api",
        "uid": "mapi-uid",
        "resourceVersion": "50",
        "generation": 4,
        "labels": {"machine.openshift.io/cluster-api-machine-role": "worker"},
        "finalizers": [MACHINE_API_FINALIZER, SYNC],
        "ownerReferences": [
            {
                "apiVersion": "machine.openshift.io/v1beta1",
                "kind": "MachineSet",
                "name": "ms",
                "uid": "mapi-ms-uid",
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
    },
    "spec": {
        "authoritativeAPI": "MachineAPI",
        "providerID": "openstack:///1",
        "providerSpec": {"value": PROVIDER_SPEC},
    },
    "status": {"authoritativeAPI": "MachineAPI", "phase": "Running", "nodeRef": {"kind": "Node", "name": "node-0"}},
}
"""A Machine of the Machine API that is authoritative. (A mirror of `CAPI_MACHINE` is what decisions make of it.)"""


def objects(
    *,
    cluster_api: Tree | None = CAPI_MACHINE,
    machine_api: Tree | None = None,
    infra_machine: Tree | None = INFRA,
    infra_cluster: Tree | None = INFRA_CLUSTER,
    machine_api_set: Tree | None = MAPI_SET,
    cluster_api_set: Tree | None = CAPI_SET,
    cluster: Tree | None = CLUSTER,
    infrastructure: Tree | None = INFRASTRUCTURE,
    platform: Platform = OPENSTACK,
) -> dict[str, tuple[type[Any], Tree | None]]:
    """The objects of a case, None for what there is not, each with its kind and under its name in the snapshot."""
    return {
        "cluster_api": (capi.Machine, cluster_api),
        "machine_api": (mapi.Machine, machine_api),
        "infra_machine": (platform.infra_machine, infra_machine),
        "infra_cluster": (platform.infra_cluster, infra_cluster),
        "machine_api_set": (mapi.MachineSet, machine_api_set),
        "cluster_api_set": (capi.MachineSet, cluster_api_set),
        "cluster": (capi.Cluster, cluster),
        "infrastructure": (config.Infrastructure, infrastructure),
    }


def snapshot(*, platform: Platform = OPENSTACK, **trees: Tree | None) -> MachineSnapshot:
    """What is seen of these `objects`."""
    there = objects(platform=platform, **trees)
    seen: dict[str, Any] = {name: look(kind, tree) for name, (kind, tree) in there.items()}
    infra = metadata_of(seen["infra_machine"])
    names = {"machine_api": "w-0", "cluster_api": "w-0", "infra_machine": infra.name if infra else "w-0"}
    answers = told({there[side][0]: (name, seen[side]) for side, name in names.items()})
    caches: dict[Question[Any], Any] = {
        Indexed(platform.infra_machine, BY_MACHINE, "w-0"): (),
        Cached(platform.infra_machine, "w-0", THEIRS): Absent(),
    }
    return MachineSnapshot(name="w-0", platform=platform, answers=answers, caches=caches, **seen)


def decided(**case: Any) -> Plan:
    return decide(snapshot(**case), now=NOW)


def after(plan: Plan, **case: Any) -> Tree:
    """The case as it is once the writes of `plan` have been made."""
    case = {**case_of(**case)}
    for action in plan.needed:
        side = SIDES.get(action.target.kind, "infra_machine")
        match action:
            case Create(body=body):
                case[side] = _created(side, action.target.name, body)
            case Merge(patch=patch):
                case[side] = _patched(case[side], patch)
            case AddFinalizer() | RemoveFinalizers():
                case[side] = _gone_if_nobody_holds(changed(case[side], metadata__finalizers=action.desired))
            case Delete(propagation=propagation):
                going = changed(case[side], metadata__deletionTimestamp=GONE["deletionTimestamp"])
                finalizers = going["metadata"].get("finalizers", [])
                if propagation == "Orphan" and ORPHAN not in finalizers:
                    going = changed(going, metadata__finalizers=[*finalizers, ORPHAN])
                case[side] = _gone_if_nobody_holds(going)
    return case


def rounds(**case: Any) -> list[Plan]:
    """The plans, one after the other, until there is nothing to do. Fails after more than eight."""
    return _played(case)[0]


def settled(**case: Any) -> Tree:
    """The case as those plans leave it."""
    return _played(case)[1]


def mirrored(**case: Any) -> Tree:
    """The mirror that the Machine API has while Cluster API is authoritative."""
    mirror: Tree = settled(**case)["machine_api"]
    return mirror


def under_machine_api(**case: Any) -> Tree:
    """`MAPI_MACHINE` and the mirror that Cluster API has of it: everything in sync."""
    return settled(**{"machine_api": MAPI_MACHINE, "cluster_api": None, "infra_machine": None, **case})


def condition(plan: Plan) -> Tree:
    """The Synchronized condition that the plan writes."""
    (write,) = [a for a in plan.needed if isinstance(a, Merge) and a.part == "status" and a.target.kind is mapi.Machine]
    (found,) = [c for c in write.desired["status"]["conditions"] if c["type"] == "Synchronized"]
    return dict(found)


def notes(plan: Plan) -> list[tuple[str, str]]:
    """Reasons and notes of the Events of the plan."""
    return [(action.reason, action.note) for action in plan.actions if isinstance(action, Emit)]


def writes(plan: Plan) -> list[tuple[str, str]]:
    """What the plan writes, and to which side; Events left out."""
    return [
        (f"{type(action).__name__} {action.subresource}".strip(), SIDES.get(action.target.kind, "infra_machine"))
        for action in plan.needed
        if not isinstance(action, Emit)
    ]


NEW = {"cluster_api": "capi", "machine_api": "mapi", "infra_machine": "infra"}
SIDES: dict[Any, str] = {capi.Machine: "cluster_api", mapi.Machine: "machine_api"}
MOST_ROUNDS = 8


def case_of(**case: Any) -> Tree:
    return {"cluster_api": CAPI_MACHINE, "machine_api": None, "infra_machine": INFRA, **case}


def _played(case: Tree) -> tuple[list[Plan], Tree]:
    plans: list[Plan] = []
    told: set[tuple[str, str]] = set()
    case = case_of(**case)
    while True:
        plan = decided(**case)
        if not writes(plan) and told.issuperset(notes(plan)):
            return plans, case
        plans.append(plan)
        assert len(plans) <= MOST_ROUNDS, "\n\n".join(map(str, plans[-2:]))
        told.update(notes(plan))
        case = after(plan, **case)
        if isinstance(plan.next, Retry):
            return plans, case


def _created(side: str, name: str, body: Any) -> Tree:
    tree: Tree = copy.deepcopy(dict(body))
    namespace = "openshift-machine-api" if side == "machine_api" else "openshift-cluster-api"
    tree["metadata"].update(
        name=name, namespace=namespace, uid=f"new-{NEW[side]}-uid", resourceVersion="1", generation=1
    )
    return tree


def _patched(tree: Tree, patch: Any) -> Tree:
    result = copy.deepcopy(tree)
    _patch(result, patch)
    if "spec" in patch:
        result["metadata"]["generation"] = result["metadata"].get("generation", 1) + 1
    return result


def _gone_if_nobody_holds(tree: Tree) -> Tree | None:
    """The collector has nothing to orphan, and does not keep anything."""
    meta = tree["metadata"]
    return None if meta.get("deletionTimestamp") and {*meta.get("finalizers", [])} <= {ORPHAN} else tree


def _patch(tree: Tree, patch: Any) -> None:
    for key, value in patch.items():
        if value is None:
            tree.pop(key, None)
        elif isinstance(value, dict):
            _patch(tree.setdefault(key, {}), value)
        else:
            tree[key] = value
