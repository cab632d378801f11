"""Finds the infra machine and cluster of a Machine or MachineSet among documents.

In a cluster a Machine's references name objects in its own namespace. Files differ in two ways: namespaces are often
left out, and several files may have objects of the same name. So

* a document without a namespace fits any, if it is the only one of its kind and name;
* of several that fit, the last one in the Machine's own file or stream is used; one in a later input overrides it,
  unless its file has Machines or MachineSets of its own;
* the cluster is found through the Cluster, if it is given; else by the Machine's clusterName; else, if there is only
  one of the platform (in the Machine's own file, or else in all), that one is used, and a note says so;
* the same holds for the infra template of a MachineSet, whose name follows from its content, and for the
  Infrastructure, of which a cluster has only one.
"""

from collections.abc import Iterable

from msgspec import Struct

from windlass.api import capi, mapi
from windlass.api.config import Infrastructure
from windlass.api.meta import KubernetesObject
from windlass.capability.documents.reading import Document, Undecodable

_CONVERTED = frozenset(kind.RESOURCE.kind for kind in (capi.Machine, capi.MachineSet, mapi.Machine, mapi.MachineSet))
_SINGLETON = "cluster"
"""The name of the Infrastructure that every cluster has."""


class FoundDocument(Struct, frozen=True):
    """The document that was found, or None; `note` tells the user about the choice."""

    document: Document | None
    note: str = ""


class DocumentIndex:
    """Documents, found by the references to them."""

    def __init__(self, documents: Iterable[Document]) -> None:
        self._of_kind: dict[str, list[Document]] = {}
        self._named: dict[tuple[str, str], list[Document]] = {}
        self._with_machines: set[str] = set()
        for document in documents:
            if document.kind in _CONVERTED:
                self._with_machines.add(document.source)
            self._of_kind.setdefault(document.kind, []).append(document)
            self._named.setdefault((document.kind, document.name), []).append(document)

    def infra_machine(self, machine: Document, reference: capi.ContractReference) -> FoundDocument:
        """The object of the Machine's spec.infrastructureRef."""
        if fitting := self._fitting(machine, reference.kind, reference.name):
            return _last(fitting)
        return FoundDocument(None, _missing(reference.kind, machine.namespace, reference.name))

    def infra_template(self, machine_set: Document, reference: capi.ContractReference) -> FoundDocument:
        """The object of the infrastructureRef in the MachineSet's template."""
        if fitting := self._fitting(machine_set, reference.kind, reference.name):
            return _last(fitting)
        if only := _only(machine_set, self._of_kind.get(reference.kind, [])):
            said = f'the only one given; the MachineSet refers to "{reference.name}"'
            return FoundDocument(only, f"uses {_shown(only)}, {said}")
        return FoundDocument(None, _missing(reference.kind, machine_set.namespace, reference.name))

    def infrastructure(self, machine: Document) -> FoundDocument:
        """The cluster's Infrastructure."""
        resource = Infrastructure.RESOURCE
        ours = [one for one in self._of_kind.get(resource.kind, []) if one.group in (resource.group, "")]
        named = [one for one in ours if one.name == _SINGLETON]
        if named:
            return _last(self._nearest(machine, named))
        if only := _only(machine, ours):
            return FoundDocument(
                only, f'uses {_shown(only)}, the only one given; that of a cluster is named "{_SINGLETON}"'
            )
        remedy = "add what `oc get infrastructure cluster -o yaml` prints"
        return FoundDocument(None, f"{_missing(resource.kind, '', _SINGLETON)}: {remedy}")

    def said_again(self, machine: Document) -> str:
        """The note about a Machine or MachineSet that a later input has too; empty if none does."""
        named = self._named.get((machine.kind, machine.name), [])
        later = [
            one
            for one in named
            if one.layer > machine.layer and (one.group, one.namespace) == (machine.group, machine.namespace)
        ]
        return f"is there again, {later[-1].place}: each is converted" if later else ""

    def named_cluster(self, machine: Document, kind: type[KubernetesObject], name: str) -> Document | None:
        """The infra cluster of this name in any namespace: it need not be that of the Machines."""
        named = self._named.get((kind.RESOURCE.kind, name), [])
        return self._nearest(machine, named)[-1] if named else None

    def infra_cluster(self, machine: Document, cluster_name: str, kind: str) -> FoundDocument:
        """The cluster of the Machine, of the platform's `kind`."""
        name = self._infra_cluster_name(machine, cluster_name, kind)
        if fitting := self._fitting(machine, kind, name) or self._fitting(machine, kind, cluster_name):
            return _last(fitting)
        if only := _only(machine, self._of_kind.get(kind, [])):
            said = f'the only one given; the cluster of the {machine.kind} is "{name}"'
            return FoundDocument(only, f"uses {_shown(only)}, {said}")
        return FoundDocument(None, _missing(kind, machine.namespace, name))

    def _infra_cluster_name(self, machine: Document, cluster_name: str, kind: str) -> str:
        resource = capi.Cluster.RESOURCE
        for cluster in reversed(self._fitting(machine, resource.kind, cluster_name)):
            if cluster.group != resource.group:
                continue
            try:
                reference = cluster.decode(capi.Cluster).spec.infrastructure_ref
            except Undecodable:
                continue
            if reference.kind == kind:
                return reference.name
        return cluster_name

    def _fitting(self, machine: Document, kind: str, name: str) -> list[Document]:
        """All documents that a reference from `machine` to this kind and name may mean."""
        named = self._named.get((kind, name), [])
        fitting = [one for one in named if one.namespace == machine.namespace]
        if not fitting and len(named) == 1 and not (machine.namespace and named[0].namespace):
            fitting = named
        return self._nearest(machine, fitting)

    def _nearest(self, machine: Document, fitting: list[Document]) -> list[Document]:
        """The fitting documents that belong to `machine`; the last is preferred."""

        def overrides(one: Document) -> bool:
            return one.layer > machine.layer and one.source not in self._with_machines

        if any(map(overrides, fitting)):
            return sorted(fitting, key=overrides)
        return [one for one in fitting if one.source == machine.source] or fitting


def _only(machine: Document, candidates: list[Document]) -> Document | None:
    """The one candidate in the file of `machine`, else of all; None if there are several."""
    local = [one for one in candidates if one.source == machine.source]
    for those in (local, candidates):
        if len(those) == 1:
            return those[0]
    return None


def _last(fitting: list[Document]) -> FoundDocument:
    last = fitting[-1]
    if len(fitting) == 1:
        return FoundDocument(last)
    return FoundDocument(last, f"{last.title} is there {len(fitting)} times: the last counts, {last.place}")


def _shown(document: Document) -> str:
    return document.title if document.name else f"the {document.kind} without a name"


def _missing(kind: str, namespace: str, name: str) -> str:
    where = f" in namespace {namespace}" if namespace else ""
    return f'there is no {kind} named "{name}"{where} among the documents'
