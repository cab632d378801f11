"""Reads must-gathers, archives of the Insights Operator, other dumps of a cluster, and files.

The moment of the report is the beginning of the gathering, which `oc` writes into a file `timestamp`, or the last
transition of a condition if that is later or there is no such file. Alerts are those of a must-gather's
`monitoring/prometheus/rules.json`, or of a file with the answer of Prometheus.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec
from msgspec import structs

from windlass.api.apps import Deployment
from windlass.api.config import ClusterOperator, ClusterVersion, Infrastructure
from windlass.api.core import Node, Pod
from windlass.api.machineconfiguration import MachineConfig, MachineConfigNode, MachineConfigPool
from windlass.api.machineosconfig import MachineOSBuild
from windlass.api.meta import K
from windlass.api.policy import PodDisruptionBudget
from windlass.api.update_record import UpdateRecord
from windlass.capability.documents import (
    Document,
    Input,
    Interest,
    Undecodable,
    UnreadableInput,
    open_inputs,
    read_opened,
    read_path,
)
from windlass.kube.foreign import one_line
from windlass.update_status.assessment import Problem, assess
from windlass.update_status.causes.drains import long_drains
from windlass.update_status.constants import CLUSTER_VERSION, MCO_DEPLOYMENT, MCO_NAMESPACE
from windlass.update_status.reading import HOSTED, Reading
from windlass.update_status.reading.alerts import alerts_of_rules, read_alerts
from windlass.update_status.reading.building import Read, image_of, lost_configs, sources_of
from windlass.update_status.reading.clock import last_transition
from windlass.update_status.reading.objects import check_times
from windlass.update_status.record import record_of
from windlass.update_status.sources import Alert, Known, Unknown, Workload
from windlass.update_status.times import ZERO, Moment, moment

_CLUSTER_SCOPED: Final = (
    ClusterVersion,
    ClusterOperator,
    MachineConfigPool,
    Node,
    MachineConfig,
    MachineConfigNode,
    MachineOSBuild,
    UpdateRecord,
    Infrastructure,
)
INTEREST: Final = Interest(
    cluster_scoped=tuple(kind.RESOURCE for kind in _CLUSTER_SCOPED),
    in_namespaces=((MCO_NAMESPACE, Deployment.RESOURCE),),
)
"""The part of a must-gather that is read."""
_OF_DRAINS: Final = Interest(namespaced=(Pod.RESOURCE, PodDisruptionBudget.RESOURCE))
"""The part that is read too if a node drains for long."""

_MISSING: Final = "not among the files"
_MOST_KINDS: Final = 8
"""Kinds that an error names."""
_WRITTEN: Final = re.compile(r"(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?) ([+-]\d\d)(\d\d)")
"""How Go writes a time: `2023-11-21 15:04:15.123456789 +0000 UTC m=+0.12`."""


def read_dump(inputs: Sequence[str], *, stdin: BinaryIO, wall: Moment) -> Reading:
    """The sources in files, directories and tar archives. Of an object that several inputs have, the last counts.

    Raises Problem, UnreadableDump if that is about the files. `wall` is the moment if the files tell of none.
    """
    with open_inputs(inputs) as opened:
        return _read_dump(opened, stdin=stdin, wall=wall)


def _read_dump(inputs: Sequence[Input], *, stdin: BinaryIO, wall: Moment) -> Reading:
    documents, problems = read_opened(inputs, stdin=stdin, interest=INTEREST)
    if problems:
        raise UnreadableDump("; ".join(problems))
    found = _Found(documents)
    version = {one.metadata.name: one for one in found.must(ClusterVersion)}.get(CLUSTER_VERSION)
    operators = found.must(ClusterOperator)
    if version is None or not operators:
        raise UnreadableDump(_lacking(inputs, documents, version=version is not None, operators=bool(operators)))
    if any(one.status.is_hosted for one in found.each(Infrastructure)):
        raise Problem(HOSTED)
    nodes, configs = Read(found.known(Node)), found.each(MachineConfig)
    found.gaps += lost_configs(nodes.objects, {config.metadata.name for config in configs}, _MISSING)
    sources = sources_of(
        version,
        Read(operators),
        pools=Read(found.known(MachineConfigPool)),
        nodes=nodes,
        configs=Read(configs),
        image=_operator_image(found.each(Deployment)),
        steps=Read(found.known(MachineConfigNode)),
        builds=Read(found.known(MachineOSBuild)),
        records=map(record_of, found.each(UpdateRecord)),
    )
    now = max(_gathered(inputs), last_transition(sources))
    now = wall if now == ZERO else now
    report = assess(sources, now=now)
    if nodes_that_wait := long_drains(report, now=now) if report.updating else ():
        found.add(read_opened(_directories(inputs), stdin=stdin, interest=_OF_DRAINS)[0])
        workload = Workload(nodes=nodes_that_wait, pods=found.known(Pod), budgets=found.known(PodDisruptionBudget))
        sources = structs.replace(sources, workload=workload)
    sources = structs.replace(sources, gaps=tuple(found.gaps))
    if (answer := _alerts(documents, inputs)) is not None:
        sources = structs.replace(sources, alerts=answer[0], alerts_trouble=answer[1])
    elif report.updating:
        sources = structs.replace(sources, gaps=(*sources.gaps, f"alerts: {_MISSING}"))
    return Reading(sources=sources, now=now, wall=now)


def _lacking(inputs: Sequence[Input], documents: Iterable[Document], *, version: bool, operators: bool) -> str:
    """The sentence that says which kinds are missing, what is there instead, and what would help."""
    missing = [*(() if version else ("ClusterVersion version",)), *(() if operators else ("ClusterOperators",))]
    counted = Counter(one.kind or "objects without a kind" for one in documents)
    there = ", ".join(f"{count} {kind}" for kind, count in counted.most_common(_MOST_KINDS)) or "no object of a cluster"
    names = ", ".join(one_line(one.name) for one in inputs)
    return (
        f"no report can be made of {names}: it lacks {' and '.join(missing)}; found: {there}. "
        "Name a must-gather, an archive of the Insights Operator, or files with the output of "
        "`oc get clusterversion,clusteroperators,machineconfigpools,nodes -o yaml`"
    )


class UnreadableDump(Problem):
    """The files cannot be read, or lack what every report needs."""


class _Found:
    """The objects of the files by kind and name, and what cannot be read of them."""

    def __init__(self, documents: Iterable[Document]) -> None:
        self.gaps: list[str] = []
        self._documents: dict[tuple[str, str, str, str], Document] = {}
        self.add(documents)

    def add(self, documents: Iterable[Document]) -> None:
        for one in documents:
            self._documents[one.api_version, one.kind, one.namespace, one.name] = one

    def must(self, kind: type[K]) -> tuple[K, ...]:
        """All objects of a kind. Raises Problem for one that cannot be read."""
        return tuple(_decoded(document, kind) for document in self._of(kind))

    def each(self, kind: type[K]) -> tuple[K, ...]:
        """Those that can be read; the others are gaps."""
        found = []
        for document in self._of(kind):
            try:
                found.append(_decoded(document, kind))
            except Problem as problem:
                self.gaps.append(str(problem))
        return tuple(found)

    def known(self, kind: type[K]) -> Known[tuple[K, ...]]:
        """The same, Unknown if there are none."""
        return self.each(kind) or Unknown(_MISSING)

    def _of(self, kind: type[K]) -> Iterator[Document]:
        identity = kind.RESOURCE.api_version, kind.RESOURCE.kind
        return (one for key, one in self._documents.items() if key[:2] == identity)


def _decoded(document: Document, kind: type[K]) -> K:
    try:
        found = document.decode(kind)
    except Undecodable as error:
        raise UnreadableDump(f"{document.place}: {kind.RESOURCE.kind} {document.name}: {error}") from None
    check_times(found, source=document.place)
    return found


def _operator_image(deployments: Iterable[Deployment]) -> Known[str]:
    for one in deployments:
        if (one.metadata.namespace, one.metadata.name) == (MCO_NAMESPACE, MCO_DEPLOYMENT):
            return image_of(one)
    return Unknown(f"Deployment {MCO_NAMESPACE}/{MCO_DEPLOYMENT}: {_MISSING}")


def _alerts(documents: Iterable[Document], inputs: Iterable[Input]) -> tuple[tuple[Alert, ...], str] | None:
    """The alerts of the last file that has any, and the line that says what is wrong with it."""
    found: tuple[tuple[Alert, ...], str] | None = None
    gathered = [document for path in _monitoring(inputs) for document in _read(path)]
    for one in (*gathered, *documents):
        if one.kind or one.excess:
            continue
        tree = msgspec.json.decode(one.body) if isinstance(one.body, bytes) else one.body
        data = tree.get("data")
        if isinstance(data, dict) and "alerts" in data:
            found = read_alerts(msgspec.json.encode(tree))
        elif isinstance(data, dict) and "groups" in data:
            found = alerts_of_rules(tree), ""
    return found


def _monitoring(inputs: Iterable[Input]) -> Iterator[Path]:
    for directory in _roots(inputs):
        for name in ("rules.json", "alerts.json"):
            if (path := directory / "monitoring" / "prometheus" / name).is_file():
                yield path


def _read(path: Path) -> list[Document]:
    """Nothing if Prometheus did not answer when it was gathered."""
    try:
        return list(read_path(path, interest=INTEREST))
    except UnreadableInput:
        return []


def _gathered(inputs: Iterable[Input]) -> Moment:
    """When the gathering began; ZERO if the files do not tell."""
    began: list[Moment] = []
    for directory in _roots(inputs):
        path = directory / "timestamp"
        text: Any = path.read_text(errors="replace") if path.is_file() else ""
        if written := _WRITTEN.match(text):
            day, time, hours, minutes = written.groups()
            began.append(moment(f"{day}T{time}{hours}:{minutes}"))
    return max(began, default=ZERO)


def _directories(inputs: Iterable[Input]) -> list[Input]:
    return [one for one in inputs if one.path is not None and one.path.is_dir()]


def _roots(inputs: Iterable[Input]) -> Iterator[Path]:
    """The directories that may be the root of a gathering: those given, and those directly in them.

    An archive holds the directory that would have been given.
    """
    for one in _directories(inputs):
        assert one.path is not None
        yield one.path
        for below in ("*", "*/*") if one.is_archive else ("*",):
            yield from (child for child in sorted(one.path.glob(below)) if child.is_dir())
