"""Objects as trees that a test changes where its case differs, and what tests ask of them."""

import copy
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from windlass.api.apiextensions import CustomResourceDefinition
from windlass.api.core import Namespace
from windlass.api.meta import KubernetesObject
from windlass.kube.control.question import Answers, Live, LiveIfAllowed, Question
from windlass.kube.control.seen import Absent, Seen, seen
from windlass.kube.object import Object
from windlass.machine_sync.constants import Namespaces
from windlass.machine_sync.mirroring.looking import home
from windlass.machine_sync.mirroring.synchronized import SYNCHRONIZED
from windlass.model import MemoryApi

Tree = dict[str, Any]

NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
EARLIER = "2026-01-01T00:00:00Z"
GONE: Tree = {"deletionTimestamp": "2026-05-01T11:59:00Z", "deletionGracePeriodSeconds": 0}
SYNC = "sync.machine.openshift.io/finalizer"
PAUSED = "cluster.x-k8s.io/paused"
AUTHORITY = "sync.machine.openshift.io/authoritative-api"
OURS, THEIRS = "openshift-machine-api", "openshift-cluster-api"

CLUSTER: Tree = {"metadata": {"name": "c", "namespace": THEIRS, "uid": "cluster-uid"}}
INFRA_CLUSTER: Tree = {"metadata": {"name": "c", "namespace": THEIRS, "uid": "infra-cluster-uid"}}
INFRASTRUCTURE: Tree = {
    "metadata": {"name": "cluster", "uid": "infrastructure-uid"},
    "status": {"infrastructureName": "c", "platformStatus": {"type": "OpenStack"}},
}
PROVIDER_SPEC: Tree = {
    "apiVersion": "machine.openshift.io/v1alpha1",
    "kind": "OpenstackProviderSpec",
    "flavor": "m1.large",
    "image": "rhcos",
    "cloudsSecret": {"name": "openstack-cloud-credentials"},
    "cloudName": "openstack",
    "userDataSecret": {"name": "worker-user-data"},
}
"""What a Machine is made from on OpenStack."""


def changed(tree: Tree, **fields: Any) -> Tree:
    """A copy with `a__b=value` set at path a.b; None removes the field."""
    result = copy.deepcopy(tree)
    for path, value in fields.items():
        *parents, leaf = path.split("__")
        place = result
        for parent in parents:
            place = place.setdefault(parent, {})
        if value is None:
            place.pop(leaf, None)
        else:
            place[leaf] = value
    return result


def told(names: Mapping[type[KubernetesObject], tuple[str, Seen[Any]]]) -> Answers:
    """The answers of an API server that has these objects under these names, whose kinds and namespaces all stay."""
    places = Namespaces()
    stays = [LiveIfAllowed(CustomResourceDefinition, kind.RESOURCE.name) for kind in names]
    answers: dict[Question[Any], Any] = dict.fromkeys(stays, Absent(confirmed=True))
    answers |= {LiveIfAllowed(Namespace, place): Absent(confirmed=True) for place in places}
    answers |= {Live(kind, name, home(kind, places)): found for kind, (name, found) in names.items()}
    return Answers.of(answers, at=NOW)


def look(kind: type[KubernetesObject], tree: Tree | None) -> Seen[Any]:
    """As a reader would report it; an absence is confirmed."""
    return Absent(confirmed=True) if tree is None else seen(Object.of(kind, tree))


def typed(kind: type[KubernetesObject], tree: Tree) -> Tree:
    return {"apiVersion": kind.RESOURCE.api_version, "kind": kind.RESOURCE.kind, **tree}


def tree_of(api: MemoryApi, kind: type[KubernetesObject], name: str, namespace: str | None) -> Tree | None:
    found = api.peek(kind, name, namespace=namespace)
    return None if found is None else found.tree()


def synchronized(of_machine_api: Tree | None) -> Tree:
    """The Synchronized condition, empty if there is none (or something else in its place)."""
    status = (of_machine_api or {}).get("status")
    conditions = status.get("conditions") if isinstance(status, dict) else None
    found = conditions if isinstance(conditions, list) else []
    return next((dict(one) for one in found if isinstance(one, dict) and one.get("type") == SYNCHRONIZED), {})


def said(api: MemoryApi, kind: type[KubernetesObject]) -> list[str]:
    """What the object of this kind has ever said about being in sync, each change once."""
    statuses = [synchronized(change.tree).get("status") for change in api.changes_since(0) if change.kind is kind]
    told = [status for status in statuses if status is not None]
    return [status for number, status in enumerate(told) if number == 0 or told[number - 1] != status]


def leaked(tree: Tree) -> str:
    """What nobody in this world would ever let go of."""
    return "it is stuck in deletion" if tree["metadata"].get("deletionTimestamp") else ""


def holds_for_nobody(tree: Tree) -> str:
    """`leaked`, for scenarios that end without a mirror: nothing of ours may be left."""
    held = SYNC in tree["metadata"].get("finalizers", ())
    return leaked(tree) or ("our finalizer, without a mirror to clean up" if held else "")


def with_defaults(value: Any) -> Any:
    """The spec with a default in each of its objects."""
    if isinstance(value, list):
        return [with_defaults(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {"brandNew": "default", **{key: with_defaults(inner) for key, inner in value.items()}}
