"""From documents to Machines and MachineSets of the Machine API.

Only Machines and MachineSets of Cluster API are converted; other documents are used if they are referred to. Each
succeeds or fails by itself.
"""

from collections.abc import Iterable, Iterator

from windlass.api import capi
from windlass.api.config import Infrastructure
from windlass.capability.documents import ConversionOutcome, Document
from windlass.capability.documents.unknown import ignored
from windlass.capability.goquote import quote
from windlass.machine_sync.constants import MACHINE_API_NAMESPACE
from windlass.machine_sync.conversion.machine_set_to_machine_api import machine_api_machine_set
from windlass.machine_sync.documents.outcome import (
    Referred,
    Refused,
    check_content,
    decoded,
    outcomes,
)
from windlass.machine_sync.documents.pairing import DocumentIndex, FoundDocument
from windlass.machine_sync.platforms import PLATFORMS, Platform, platform_of_kind

_MACHINE = capi.Machine.RESOURCE
_SET = capi.MachineSet.RESOURCE
_API = "Cluster API"


def convert_to_machine_api(
    documents: Iterable[Document], *, namespace: str | None = None
) -> Iterator[ConversionOutcome]:
    """The outcome for every Cluster API Machine and MachineSet among `documents`, in their order.

    `namespace` is that of all results, by default the Machine API's on OpenShift.
    """
    return outcomes(documents, {_MACHINE: _machine, _SET: _machine_set}, namespace=namespace or MACHINE_API_NAMESPACE)


def _machine(document: Document, index: DocumentIndex, referred: Referred, notes: list[str]) -> ConversionOutcome:
    machine = decoded(document, capi.Machine, _MACHINE)
    notes += ignored(document, capi.Machine)
    reference = machine.spec.infrastructure_ref
    check_content(document, _MACHINE, notes, api=_API, is_one=bool(reference.kind))
    platform = platform_of_kind(reference.kind)
    if platform is None or platform.infra_machine.RESOURCE.kind != reference.kind:
        kinds = ", ".join(one.infra_machine.RESOURCE.kind for one in PLATFORMS.values())
        raise Refused(f"spec.infrastructureRef.kind: {quote(reference.kind)} is not supported, only {kinds}")
    infra_machine = index.infra_machine(document, reference)
    cluster = _cluster(document, index, machine.spec.cluster_name, platform=platform)
    _note(notes, infra_machine, cluster)
    notes += _ignored(infra_machine, platform.infra_machine)
    converted = platform.to_machine_api(
        machine,
        referred.decode(infra_machine.document, platform.infra_machine),
        referred.decode(cluster.document, platform.infra_cluster),
        infrastructure=referred.decode(index.infrastructure(document).document, Infrastructure),
    )
    results = () if converted.machine is None else (converted.machine,)
    return ConversionOutcome(document.title, results, converted.errors, converted.remarks, tuple(notes))


def _machine_set(document: Document, index: DocumentIndex, referred: Referred, notes: list[str]) -> ConversionOutcome:
    machine_set = decoded(document, capi.MachineSet, _SET)
    notes += ignored(document, capi.MachineSet)
    reference = machine_set.spec.template.spec.infrastructure_ref
    check_content(document, _SET, notes, api=_API, is_one=bool(reference.kind))
    platform = platform_of_kind(reference.kind)
    if platform is None or platform.infra_template.RESOURCE.kind != reference.kind:
        path = "spec.template.spec.infrastructureRef.kind"
        kinds = ", ".join(one.infra_template.RESOURCE.kind for one in PLATFORMS.values())
        raise Refused(f"{path}: {quote(reference.kind)} is not supported, only {kinds}")
    template = index.infra_template(document, reference)
    cluster = _cluster(document, index, machine_set.spec.cluster_name, platform=platform)
    _note(notes, template, cluster)
    notes += _ignored(template, platform.infra_template)
    converted = machine_api_machine_set(
        platform,
        machine_set,
        referred.decode(template.document, platform.infra_template),
        infra_cluster=referred.decode(cluster.document, platform.infra_cluster),
        infrastructure=referred.decode(index.infrastructure(document).document, Infrastructure),
    )
    results = () if converted.machine_set is None else (converted.machine_set,)
    return ConversionOutcome(document.title, results, converted.errors, converted.remarks, tuple(notes))


def _cluster(document: Document, index: DocumentIndex, cluster_name: str, *, platform: Platform) -> FoundDocument:
    return index.infra_cluster(document, cluster_name, platform.infra_cluster.RESOURCE.kind)


def _note(notes: list[str], *found: FoundDocument) -> None:
    notes += [one.note for one in found if one.note]


def _ignored(found: FoundDocument, kind: type) -> list[str]:
    document = found.document
    return [] if document is None else [f"{document.title}: {text}" for text in ignored(document, kind)]
