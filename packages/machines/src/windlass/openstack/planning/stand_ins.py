"""Adds what others would make of the objects in files, so that they can be planned before they are created.

| given | added |
|---|---|
| an object with `identityRef`, and a cloud of the user's clouds.yaml | the Secret with the credentials of that cloud |
| a MachineSet or MachineDeployment with its OpenStackMachineTemplate | a Machine and an OpenStackMachine for all |
| a Machine whose OpenStackMachine is given | the owner reference between both |
| a Machine without bootstrap data | its Secret, empty |
| a Cluster, unless its network is yet to be made | the mark of Cluster API that its infrastructure is there |
| a Cluster whose OpenStackCluster is given | the owner reference between both |
"""

import base64
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Final

import yaml
from msgspec import Struct, field

from windlass.api.capi import Machine, MachineSet
from windlass.api.capo import OpenStackMachine, OpenStackMachineTemplate
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.core import Secret
from windlass.api.meta import KubernetesObject, ObjectMeta, Resource
from windlass.kube.object import NamespacedName
from windlass.openstack.cloud.credentials import Credentials
from windlass.openstack.constants import CLUSTER_LABEL
from windlass.openstack.identity.find import CLOUDS, CLUSTER_IDENTITY

Tree = dict[str, Any]


class MachineDeployment(Struct, frozen=True, kw_only=True):
    """Only its name and the template of its Machines are looked at."""

    RESOURCE: ClassVar[Resource] = Resource("cluster.x-k8s.io", "v1beta2", "MachineDeployment", "machinedeployments")

    metadata: ObjectMeta = field(default_factory=ObjectMeta)


SETS: Final[tuple[type[KubernetesObject], ...]] = (MachineSet, MachineDeployment)
READ: Final[tuple[type[KubernetesObject], ...]] = (*SETS, OpenStackMachineTemplate)
"""Kinds that are looked at in files, beside those that controllers read."""


class StandIns:
    """Adds them to the `trees` of files. `replicas`: how many machines those stand for that were made from a set, by
    namespace and name."""

    def __init__(self) -> None:
        self.replicas: dict[NamespacedName, int] = {}

    def __call__(self, trees: Iterable[Tree], *, credentials: Credentials | None) -> tuple[Tree, ...]:
        """All objects. `credentials` are those of the user's own cloud."""
        found = {_key(tree): tree for tree in trees}
        for tree in [tree for made in list(_sets(found)) for tree in self._machine(made, found)]:
            found.setdefault(_key(tree), tree)
        for tree in list(found.values()):
            match tree["kind"]:
                case "Machine" if tree["apiVersion"] == Machine.RESOURCE.api_version:
                    _boot(tree, found)
                case "Cluster":
                    if not _makes_its_network(_infra(tree, OpenStackCluster, found)):
                        found[_key(tree)] = _provisioned(tree)
                    _own(tree, OpenStackCluster, found, cluster=tree["metadata"]["name"])
        if credentials is not None:
            for secret in _secrets(found.values(), credentials):
                found[_key(secret)] = secret
        return tuple(found.values())

    def _machine(self, made: Tree, found: Mapping[tuple[str, str, str], Tree]) -> Iterator[Tree]:
        template = made["spec"].get("template") or {}
        spec = dict(template.get("spec") or {})
        reference = spec.get("infrastructureRef") or {}
        place, name = _place(made), f"{made['metadata']['name']}-0"
        infra = found.get((OpenStackMachineTemplate.RESOURCE.kind, place, str(reference.get("name"))))
        if infra is None:
            return
        replicas = made["spec"].get("replicas")
        self.replicas[place, name] = 1 if replicas is None else int(replicas)
        if not self.replicas[place, name]:
            return
        labels = {**(template.get("metadata") or {}).get("labels", {}), CLUSTER_LABEL: spec.get("clusterName", "")}
        to = {**reference, "kind": OpenStackMachine.RESOURCE.kind, "name": name}
        yield _tree(Machine, place, name, {**spec, "infrastructureRef": to}, labels=labels)
        wanted = ((infra.get("spec") or {}).get("template") or {}).get("spec") or {}
        yield _tree(OpenStackMachine, place, name, wanted, labels=labels)


def _sets(found: Mapping[tuple[str, str, str], Tree]) -> Iterator[Tree]:
    for tree in found.values():
        if any((tree["apiVersion"], tree["kind"]) == (one.RESOURCE.api_version, one.RESOURCE.kind) for one in SETS):
            yield tree


def _boot(machine: Tree, found: dict[tuple[str, str, str], Tree]) -> None:
    """What Cluster API's core and a bootstrap provider do for a Machine."""
    place, name = _place(machine), machine["metadata"]["name"]
    spec = dict(machine.get("spec") or {})
    bootstrap = dict(spec.get("bootstrap") or {})
    secret = bootstrap.setdefault("dataSecretName", f"{name}-bootstrap")
    found[_key(machine)] = {**machine, "spec": {**spec, "bootstrap": bootstrap}}
    found.setdefault((Secret.RESOURCE.kind, place, secret), _secret(place, secret, {"value": ""}))
    _own(machine, OpenStackMachine, found, cluster=spec.get("clusterName", ""))


def _own(owner: Tree, kind: type[KubernetesObject], found: dict[tuple[str, str, str], Tree], *, cluster: str) -> None:
    """What Cluster API's core does for the infrastructure object of a Machine or Cluster, if that is a `kind`."""
    name, infra = owner["metadata"]["name"], _infra(owner, kind, found)
    if infra is None or infra["metadata"].get("ownerReferences"):
        return
    uid = owner["metadata"].setdefault("uid", f"uid-of-{name}")
    by = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": name, "uid": uid}
    labels = {CLUSTER_LABEL: cluster, **infra["metadata"].get("labels", {})}
    found[_key(infra)] = {**infra, "metadata": {**infra["metadata"], "labels": labels, "ownerReferences": [by]}}


def _infra(owner: Tree, kind: type[KubernetesObject], found: Mapping[tuple[str, str, str], Tree]) -> Tree | None:
    """The infrastructure object of a Machine or Cluster, if that is a `kind` and is given."""
    reference = (owner.get("spec") or {}).get("infrastructureRef") or {}
    return found.get((kind.RESOURCE.kind, _place(owner), str(reference.get("name"))))


def _makes_its_network(infra: Tree | None) -> bool:
    """Whether there is no network yet that a machine could be planned on."""
    if infra is None:
        return False
    return bool((infra.get("spec") or {}).get("managedSubnets")) and not (infra.get("status") or {}).get("network")


def _provisioned(cluster: Tree) -> Tree:
    status = dict(cluster.get("status") or {})
    initialization = {"infrastructureProvisioned": True, **(status.get("initialization") or {})}
    return {**cluster, "status": {**status, "initialization": initialization}}


def _secrets(trees: Iterable[Tree], credentials: Credentials) -> Iterator[Tree]:
    """The Secrets that objects name, each with the user's cloud under every name that is asked for."""
    names: dict[tuple[str, str], set[str]] = {}
    for tree in trees:
        ref = (tree.get("spec") or {}).get("identityRef") or {}
        if ref.get("name") and ref.get("type") != CLUSTER_IDENTITY:
            names.setdefault((_place(tree), ref["name"]), set()).add(str(ref.get("cloudName", "")))
    for (place, name), clouds in names.items():
        data = {CLOUDS: yaml.safe_dump({"clouds": {cloud: dict(credentials.cloud) for cloud in sorted(clouds)}})}
        yield _secret(place, name, {**data, **({"cacert": credentials.cacert} if credentials.cacert else {})})


def _secret(place: str, name: str, data: Mapping[str, str]) -> Tree:
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
    return {**_tree(Secret, place, name), "data": encoded}


def _tree(
    kind: type[KubernetesObject],
    place: str,
    name: str,
    spec: Mapping[str, Any] | None = None,
    *,
    labels: Mapping[str, str] | None = None,
) -> Tree:
    resource = kind.RESOURCE
    metadata = {
        "name": name,
        "namespace": place,
        "uid": f"uid-of-{name}",
        "generation": 1,
        "labels": {**(labels or {})},
    }
    identity = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}
    return {**identity, "spec": dict(spec)} if spec is not None else identity


def _place(tree: Tree) -> str:
    return str(tree["metadata"].get("namespace", ""))


def _key(tree: Tree) -> tuple[str, str, str]:
    return tree["kind"], _place(tree), tree["metadata"]["name"]
