"""What people make of exported objects: a copy, a restored object, something that names a server."""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Final

from msgspec import Struct, field

from tests.unit.openstack.clouded import secret
from windlass.api import capi
from windlass.api.meta import KubernetesObject
from windlass.machine_sync.constants import CLUSTER_API_FINALIZER
from windlass.openstack.constants import ADOPT_ANNOTATION

from .manifests import Tree
from .oracle import Place, Self


class Export(Struct, frozen=True):
    """Objects as somebody has written them to a file, and whose they were then."""

    trees: list[Tree] = field(default_factory=list)
    whose: Self | None = None
    identity: int | None = None
    of: int | None = None
    origin: Place | None = None
    confirmed: Place | None = None


_SERVERS_OWN: Final = (
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "generation",
    "deletionTimestamp",
    "finalizers",
    "ownerReferences",
)


def is_of(given: Tree, kind: type[KubernetesObject]) -> bool:
    return (given["apiVersion"], given["kind"]) == (kind.RESOURCE.api_version, kind.RESOURCE.kind)


def stripped(given: Tree, *, status: bool, held: bool = False) -> Tree:
    """As people leave out what the API server gives; core's finalizer is set again by core. `held`: they keep the
    finalizers."""
    new = {name: value for name, value in deepcopy(given).items() if status or name != "status"}
    given_by_server = {*_SERVERS_OWN} - ({"finalizers"} if held else set())
    new["metadata"] = {name: value for name, value in new["metadata"].items() if name not in given_by_server}
    if given["kind"] in ("Machine", "Cluster") and given["apiVersion"] == capi.Machine.RESOURCE.api_version:
        new["metadata"]["finalizers"] = [CLUSTER_API_FINALIZER]
    return new


def renamed(given: Tree, name: str, server: str) -> Tree:
    """Under another name, and naming this server if any."""
    meta, spec = given["metadata"], given["spec"]
    meta["name"] = name
    spec.pop("providerID", None)
    if "infrastructureRef" in spec:
        spec["infrastructureRef"]["name"] = name
    if "bootstrap" in spec:
        spec["bootstrap"]["dataSecretName"] = f"{name}-data"
    if "poolRef" in spec:
        spec["poolRef"]["name"] = name
    if server and given["kind"] == "OpenStackServer":
        meta["annotations"] = {**meta.get("annotations", {}), ADOPT_ANNOTATION: server}
    elif server and given["kind"] in ("Machine", "OpenStackMachine"):
        spec["providerID"] = f"openstack:///{server}"
    return given


def user_data(place: str, trees: Sequence[Tree]) -> Iterator[Tree]:
    """The Secrets that objects name."""
    for each in trees:
        spec = each["spec"]
        if name := spec.get("bootstrap", {}).get("dataSecretName") or spec.get("userDataRef", {}).get("name"):
            yield {**secret(), "metadata": {"name": name, "namespace": place}, "data": {"value": "e30="}}


def named(trees: Sequence[Tree], *, status: bool) -> str:
    """The server or network that restored objects name."""
    for each in trees:
        annotations = each["metadata"].get("annotations") or {}
        told = each.get("status") if status else None
        recorded = (told or {}).get("instanceID") or ((told or {}).get("network") or {}).get("id")
        provider_id = each["spec"].get("providerID", "").rpartition("/")[2]
        if which := provider_id or recorded or annotations.get(ADOPT_ANNOTATION):
            return str(which)
    return ""
