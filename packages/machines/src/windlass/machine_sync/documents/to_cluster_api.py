"""From documents to Machines and MachineSets of Cluster API, with their infra machines and templates.

Only Machines and MachineSets of the Machine API are converted. They need the cluster's Infrastructure, which has its
name and platform; if it does not name the platform, the kind of the provider spec does. If the infra cluster is among
the documents, Machines must fit it too. Each Machine and MachineSet succeeds or fails by itself.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import UNSET, UnsetType

from windlass.api import mapi
from windlass.api.config import Infrastructure
from windlass.capability.documents import ConversionOutcome, Document
from windlass.capability.documents.unknown import ignored
from windlass.capability.goquote import quote
from windlass.machine_sync.constants import CLUSTER_API_NAMESPACE
from windlass.machine_sync.conversion.machine_set_to_cluster_api import cluster_api_machine_set
from windlass.machine_sync.documents.outcome import (
    Referred,
    Refused,
    check_content,
    decoded,
    outcomes,
)
from windlass.machine_sync.documents.pairing import DocumentIndex
from windlass.machine_sync.mirroring import taints
from windlass.machine_sync.platforms import PLATFORMS, Platform

_MACHINE = mapi.Machine.RESOURCE
_SET = mapi.MachineSet.RESOURCE
_API = "Machine API"


def convert_to_cluster_api(
    documents: Iterable[Document], *, namespace: str | None = None
) -> Iterator[ConversionOutcome]:
    """The outcome for every Machine API Machine and MachineSet among `documents`, in their order.

    `namespace` is that of all results, by default Cluster API's on OpenShift.
    """
    return outcomes(documents, {_MACHINE: _machine, _SET: _machine_set}, namespace=namespace or CLUSTER_API_NAMESPACE)


def _machine(document: Document, index: DocumentIndex, referred: Referred, notes: list[str]) -> ConversionOutcome:
    machine = decoded(document, mapi.Machine, _MACHINE)
    notes += ignored(document, mapi.Machine)
    value = machine.spec.provider_spec.value
    check_content(document, _MACHINE, notes, api=_API, is_one=value is not None)
    infrastructure = _infrastructure(document, index, referred, notes=notes)
    platform = _platform(infrastructure, value, notes)
    cluster = _cluster(document, index, referred, platform=platform, infrastructure=infrastructure)
    converted = platform.to_cluster_api(machine, infrastructure, infra_cluster=cluster)
    results = () if converted.errors else (converted.machine, converted.infra_machine)
    needed = taints.needs_gate(converted.machine.spec.taints) if converted.machine is not None else ()
    return ConversionOutcome(document.title, results, converted.errors, (*converted.remarks, *needed), tuple(notes))


def _machine_set(document: Document, index: DocumentIndex, referred: Referred, notes: list[str]) -> ConversionOutcome:
    machine_set = decoded(document, mapi.MachineSet, _SET)
    notes += ignored(document, mapi.MachineSet)
    value = machine_set.spec.template.spec.provider_spec.value
    check_content(document, _SET, notes, api=_API, is_one=value is not None)
    infrastructure = _infrastructure(document, index, referred, notes=notes)
    platform = _platform(infrastructure, value, notes)
    cluster = _cluster(document, index, referred, platform=platform, infrastructure=infrastructure)
    converted = cluster_api_machine_set(platform, machine_set, infrastructure, infra_cluster=cluster)
    made = converted.machine_set
    results = () if made is None else (made, converted.infra_template)
    needed = taints.needs_gate(made.spec.template.spec.taints) if made is not None else ()
    return ConversionOutcome(document.title, results, converted.errors, (*converted.remarks, *needed), tuple(notes))


def _cluster(
    document: Document, index: DocumentIndex, referred: Referred, *, platform: Platform, infrastructure: Infrastructure
) -> Any | UnsetType:
    found = index.named_cluster(document, platform.infra_cluster, infrastructure.status.infrastructure_name)
    return UNSET if found is None else referred.decode(found, platform.infra_cluster)


def _infrastructure(
    document: Document, index: DocumentIndex, referred: Referred, *, notes: list[str]
) -> Infrastructure:
    found = index.infrastructure(document)
    if found.document is None:
        raise Refused(found.note)
    if found.note:
        notes.append(found.note)
    infrastructure = referred.decode(found.document, Infrastructure)
    assert isinstance(infrastructure, Infrastructure)
    return infrastructure


def _platform(infrastructure: Infrastructure, provider_spec: Any, notes: list[str]) -> Platform:
    """The platform of the cluster, else of the provider spec, with a note. Raises Refused."""
    status = infrastructure.status
    name = (status.platform_status.type if status.platform_status is not None else "") or status.platform
    if name:
        platform = PLATFORMS.get(name)
        if platform is None:
            raise Refused(f"the Infrastructure has platform {quote(name)}, supported are {', '.join(PLATFORMS)}")
        return platform
    kind = provider_spec.get("kind") if isinstance(provider_spec, dict) else None
    kinds = {platform.provider_spec.__name__: platform for platform in PLATFORMS.values()}
    platform = kinds.get(kind) if isinstance(kind, str) else None
    if platform is None:
        where = "the Infrastructure has no status.platformStatus.type, and the provider spec no kind that is known"
        raise Refused(f"{where} ({', '.join(kinds)}): say one of them")
    notes.append(f"the Infrastructure does not say its platform, taken as {platform.name} by the provider spec")
    return platform
