"""Clusters at some moment of an update, drawn by hypothesis.

`clusters` draws what an API server can hold: unique names, all times present, the newest update first.
`troubled_clusters` draws the same with a trouble, and how an insight into it begins.
`odd_clusters` draws what files can hold besides: anything may be missing, empty or repeated; only times are times.
"""

from collections.abc import Mapping
from enum import Enum
from functools import cache
from types import UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin

from hypothesis import strategies as st
from msgspec import structs

from windlass.api.config import (
    ClusterOperator,
    ClusterOperatorStatus,
    ClusterVersion,
    ClusterVersionSpec,
    ClusterVersionStatus,
    DesiredUpdate,
    OperandVersion,
    Release,
    UpdateHistory,
)
from windlass.api.core import Node, NodeSpec, NodeStatus
from windlass.api.machineconfiguration import (
    MachineConfigNode,
    MachineConfigNodeStatus,
    MachineConfigPool,
    MachineConfigPoolSpec,
    MachineConfigPoolStatus,
    PoolConfiguration,
)
from windlass.api.machineosconfig import MachineOSBuild, MachineOSBuildSpec, MachineOSBuildStatus
from windlass.api.meta import (
    Condition,
    LabelSelector,
    LabelSelectorRequirement,
    NamedReference,
    ObjectMeta,
    PlainCondition,
)
from windlass.update_status.constants import (
    CURRENT_CONFIG,
    CURRENT_IMAGE,
    DESIRED_CONFIG,
    DESIRED_DRAIN,
    DESIRED_IMAGE,
    LAST_APPLIED_DRAIN,
    LAYERING_LABEL,
    NEWEST_IMAGE,
    OS_LABEL,
    REASON,
    STATE,
    WINDOWS,
)
from windlass.update_status.sources import Alert, AlertAnnotations, AlertLabels, Sources
from windlass.update_status.times import HOUR, SECOND, moment, rfc3339

START = moment("2024-02-27T12:00:00Z")
NOW = START + HOUR
"""The update of a drawn cluster began at START; nothing in it is later than NOW."""

_VERSIONS = ("4.14.9", "4.15.0", "4.16.0")
_RELEASES = {"old": "4.15.0", "new": "4.16.0", "newer": "4.16.0"}
_ROLES = ("master", "worker", "infra", "gpu", "arbiter")
_STATES = ("Done", "Working", "Rebooting", "Degraded", "Unreconcilable")
_TEXTS = st.sampled_from(("", "it waits", "one\ntwo", "a\tb", 'n1 says "no" \u200b'))
_STATUSES = st.sampled_from(("True", "False", "Unknown"))
_TIMES = st.integers(0, HOUR // SECOND).map(lambda seconds: rfc3339(START + seconds * SECOND))
_CONFIGS = st.sampled_from((*_RELEASES, "gone"))


def _some(values: dict[str, st.SearchStrategy[str]]) -> st.SearchStrategy[dict[str, str]]:
    """Any of these keys."""
    return st.fixed_dictionaries({}, optional=values)


def _conditions(kind: Any, *types: str) -> st.SearchStrategy[list[Any]]:
    """At most one of each type; in no order."""
    one = st.builds(
        kind, type=st.sampled_from(types), status=_STATUSES, last_transition_time=_TIMES, reason=_TEXTS, message=_TEXTS
    )
    return st.lists(one, max_size=len(types), unique_by=lambda each: each.type)


@st.composite
def _histories(draw: st.DrawFn) -> list[UpdateHistory]:
    """Each earlier item took an hour; the newest began at START, and is completed or not."""
    items = []
    for hours in range(draw(st.integers(0, 5))):
        state = draw(st.sampled_from(("Completed", "Partial")))
        began = START - 2 * hours * HOUR
        ended = None if not hours and state == "Partial" else rfc3339(began + HOUR)
        version, image = draw(st.sampled_from(_VERSIONS)), draw(st.sampled_from(("single", "multi")))
        items.append(
            UpdateHistory(state=state, started_time=rfc3339(began), completion_time=ended, version=version, image=image)
        )
    return items


_OPERANDS = st.builds(
    OperandVersion, name=st.sampled_from(("operator", "operator-image")), version=st.sampled_from(_VERSIONS)
)


@cache
def _operator(name: str) -> st.SearchStrategy[ClusterOperator]:
    status = st.builds(
        ClusterOperatorStatus,
        conditions=_conditions(PlainCondition, "Available", "Progressing", "Degraded", "Upgradeable"),
        versions=st.lists(_OPERANDS, max_size=3),
    )
    annotations = st.sampled_from(({"include.release.openshift.io/x": "true"}, {}))
    metadata = st.builds(ObjectMeta, name=st.just(name), annotations=annotations)
    return st.builds(ClusterOperator, metadata=metadata, status=status)


@cache
def _pool(name: str) -> st.SearchStrategy[MachineConfigPool]:
    label = f"node-role.kubernetes.io/{name}"
    by_label = LabelSelector(match_labels={label: ""})
    by_requirement = LabelSelector(match_expressions=[LabelSelectorRequirement(key=label, operator="Exists")])
    spec = st.builds(
        MachineConfigPoolSpec,
        node_selector=st.sampled_from((by_label, by_requirement, None)),
        paused=st.booleans(),
        configuration=st.builds(PoolConfiguration, name=_CONFIGS),
    )
    metadata = st.builds(
        ObjectMeta,
        name=st.just(name),
        labels=_some({LAYERING_LABEL: st.just("")}),
        annotations=_some({NEWEST_IMAGE: st.sampled_from(("", "a", "b"))}),
    )
    status = st.builds(
        MachineConfigPoolStatus,
        conditions=_conditions(
            PlainCondition, "Updating", "Degraded", "RenderDegraded", "NodeDegraded", "ImageBuildDegraded", "Building"
        ),
    )
    return st.builds(MachineConfigPool, metadata=metadata, spec=spec, status=status)


@cache
def _node(name: str) -> st.SearchStrategy[Node]:
    drains = st.sampled_from(("", "drain-old", "drain-new", "uncordon-old", "uncordon-new"))
    images = st.sampled_from(("", "a", "b"))
    annotations = {
        CURRENT_CONFIG: _CONFIGS,
        DESIRED_CONFIG: _CONFIGS,
        STATE: st.sampled_from(_STATES),
        REASON: _TEXTS,
        DESIRED_DRAIN: drains,
        LAST_APPLIED_DRAIN: drains,
        CURRENT_IMAGE: images,
        DESIRED_IMAGE: images,
    }
    roles = st.lists(st.sampled_from(_ROLES), max_size=2, unique=True)
    system = st.sampled_from(("linux", "linux", WINDOWS))
    metadata = st.builds(
        ObjectMeta,
        name=st.just(name),
        labels=st.builds(
            lambda found, os: {OS_LABEL: os, **{f"node-role.kubernetes.io/{role}": "" for role in found}}, roles, system
        ),
        annotations=_some(annotations),
    )
    conditions = _conditions(PlainCondition, "Ready", "DiskPressure", "NetworkUnavailable", "MemoryPressure")
    return st.builds(
        Node,
        metadata=metadata,
        spec=st.builds(NodeSpec, unschedulable=st.booleans()),
        status=st.builds(NodeStatus, conditions=conditions),
    )


_ALERTS = st.builds(
    Alert,
    labels=st.builds(
        AlertLabels,
        alertname=st.sampled_from(("", "Slow", "PodDisruptionBudgetLimit")),
        namespace=st.sampled_from(("", "default")),
        severity=st.sampled_from(("critical", "warning", "info")),
    ),
    annotations=st.builds(AlertAnnotations, summary=_TEXTS, description=_TEXTS, message=_TEXTS),
    state=st.sampled_from(("firing", "pending")),
    active_at=_TIMES,
)


_STEPS = st.builds(
    MachineConfigNode,
    status=st.builds(
        MachineConfigNodeStatus,
        conditions=_conditions(Condition, "Updated", "NodeDegraded", "UpdateExecuted", "Drained", "RebootedNode"),
    ),
)


_BUILDS = st.builds(
    MachineOSBuild,
    metadata=st.builds(ObjectMeta, name=st.just("build"), creation_timestamp=_TIMES),
    spec=st.builds(
        MachineOSBuildSpec,
        machine_config=st.builds(NamedReference, name=_CONFIGS),
        machine_os_config=st.builds(NamedReference, name=st.sampled_from(_ROLES)),
    ),
    status=st.builds(
        MachineOSBuildStatus, conditions=_conditions(Condition, "Prepared", "Building", "Failed", "Succeeded")
    ),
)
_REQUESTS = st.builds(
    DesiredUpdate, version=st.sampled_from(("", *_VERSIONS)), architecture=st.sampled_from(("", "", "Multi"))
)


@st.composite
def clusters(draw: st.DrawFn, *, operators: int = 6, pools: int = 5, nodes: int = 6) -> Sources:
    """At least one operator, and at most so many of each; the first two pools are master and worker."""
    names = ("machine-config", *(f"operator-{number}" for number in range(1, operators)))
    versions = ClusterVersionStatus(
        desired=Release(version=draw(st.sampled_from(_VERSIONS))),
        history=draw(_histories()),
        conditions=[
            PlainCondition(type="Progressing", status=draw(_STATUSES), last_transition_time=draw(_TIMES)),
            *draw(_conditions(PlainCondition, "Failing", "Available", "ReleaseAccepted")),
        ],
    )
    node_names = [f"node-{number}.example.com" for number in range(draw(st.integers(0, nodes)))]
    progress = st.dictionaries(st.sampled_from(node_names), _STEPS) if node_names else st.just({})
    return Sources(
        cluster_version=ClusterVersion(
            metadata=ObjectMeta(name="version"),
            spec=ClusterVersionSpec(desired_update=draw(st.none() | _REQUESTS)),
            status=versions,
        ),
        operators=draw(st.tuples(*map(_operator, names[: draw(st.integers(1, operators))]))),
        # As the API server lists them.
        pools=draw(st.tuples(*map(_pool, sorted(_ROLES[: draw(st.integers(2, max(2, pools)))])))),
        nodes=draw(st.tuples(*map(_node, node_names))),
        versions=_RELEASES,
        operator_image=draw(st.sampled_from(("", *_VERSIONS))),
        alerts=tuple(draw(st.lists(_ALERTS, max_size=3))),
        progress=draw(progress),
        builds=tuple(draw(st.lists(_BUILDS, max_size=2))),
    )


class Troubled(NamedTuple):
    """A cluster, and what an insight into its trouble begins with."""

    sources: Sources
    summary: str


@st.composite
def troubled_clusters(draw: st.DrawFn) -> Troubled:
    """A drawn cluster whose update goes on, and that has a trouble besides whatever was drawn."""
    found = draw(clusters())
    status = found.cluster_version.status
    newest = UpdateHistory(state="Completed", started_time=rfc3339(START), completion_time=None, version="4.16.0")
    updating = PlainCondition(type="Progressing", status="True", last_transition_time=rfc3339(START))
    others = [one for one in status.conditions if one.type not in ("Progressing", "ReleaseAccepted", "Invalid")]
    status = structs.replace(status, history=[newest, *status.history[1:]], conditions=[updating, *others])
    version = structs.replace(found.cluster_version, spec=ClusterVersionSpec(), status=status)
    pools = tuple(structs.replace(pool, spec=_whole(pool)) for pool in _pools(found))
    found = structs.replace(found, cluster_version=version, pools=pools, builds=())
    return draw(st.sampled_from((_refused, _degraded, _failed_build, _in_several, _unclear, _down)))(found)


def _whole(pool: MachineConfigPool) -> MachineConfigPoolSpec:
    selector = LabelSelector(match_labels={f"node-role.kubernetes.io/{pool.metadata.name}": ""})
    return MachineConfigPoolSpec(node_selector=selector, configuration=PoolConfiguration(name="new"))


def _true(kind: str) -> PlainCondition:
    return PlainCondition(type=kind, status="True", last_transition_time=rfc3339(START), message="why")


def _refused(found: Sources) -> Troubled:
    version = found.cluster_version
    refusal = PlainCondition(type="ReleaseAccepted", status="False", last_transition_time=rfc3339(START))
    status = structs.replace(version.status, conditions=[*version.status.conditions, refusal])
    spec = ClusterVersionSpec(desired_update=DesiredUpdate(version="4.99.0"))
    changed = structs.replace(version, spec=spec, status=status)
    return Troubled(structs.replace(found, cluster_version=changed), "The update to 4.99.0 was refused")


def _on_worker(found: Sources, kind: str) -> Sources:
    status = MachineConfigPoolStatus(conditions=[_true(kind)])
    pools = [structs.replace(pool, status=status) if pool.metadata.name == "worker" else pool for pool in _pools(found)]
    return structs.replace(found, pools=tuple(pools))


def _degraded(found: Sources) -> Troubled:
    return Troubled(_on_worker(found, "RenderDegraded"), "Pool worker cannot render its configuration")


def _failed_build(found: Sources) -> Troubled:
    return Troubled(_on_worker(found, "BuildFailed"), "The OS image of pool worker failed to build")


def _bare(name: str, *roles: str, **said: str) -> Node:
    labels = {f"node-role.kubernetes.io/{role}": "" for role in roles}
    annotations = {CURRENT_CONFIG: "old", DESIRED_CONFIG: "new", **said}
    return Node(metadata=ObjectMeta(name=name, labels=labels, annotations=annotations))


def _in_several(found: Sources) -> Troubled:
    names = [pool.metadata.name for pool in _pools(found)]
    more = tuple(
        MachineConfigPool(
            metadata=ObjectMeta(name=name), spec=_whole(MachineConfigPool(metadata=ObjectMeta(name=name)))
        )
        for name in ("infra", "gpu")
        if name not in names
    )
    nodes = (*_nodes(found), _bare("both", "infra", "gpu"))
    return Troubled(
        structs.replace(found, pools=(*_pools(found), *more), nodes=nodes), "Node both is in 2 custom pools"
    )


def _unclear(found: Sources) -> Troubled:
    status = ClusterOperatorStatus(
        conditions=[PlainCondition(type="Available", status="Unknown", last_transition_time=rfc3339(START))]
    )
    metadata = ObjectMeta(name="dns", annotations={"include.release.openshift.io/x": "true"})
    operators = (*found.operators, ClusterOperator(metadata=metadata, status=status))
    return Troubled(
        structs.replace(found, operators=operators), "Cluster Operator dns does not say whether it is available"
    )


def _down(found: Sources) -> Troubled:
    node = _bare("down", "worker", **{STATE: "Rebooting"})
    not_ready = PlainCondition(type="Ready", status="Unknown", last_transition_time=rfc3339(START))
    node = structs.replace(node, status=NodeStatus(conditions=[not_ready]))
    worker = next(pool for pool in _pools(found) if pool.metadata.name == "worker")
    # The node has no image, so it counts as available where the pool has one.
    has_image = LAYERING_LABEL in worker.metadata.labels and worker.metadata.annotations.get(NEWEST_IMAGE)
    text = "has been updated for longer than nodes take" if has_image else "has not become available after its restart"
    return Troubled(structs.replace(found, nodes=(*_nodes(found), node)), f"Node down {text}")


def _pools(found: Sources) -> tuple[MachineConfigPool, ...]:
    assert isinstance(found.pools, tuple)
    return found.pools


def _nodes(found: Sources) -> tuple[Node, ...]:
    assert isinstance(found.nodes, tuple)
    return found.nodes


_ODD_TEXTS = st.sampled_from(
    [
        *(
            "",
            "-",
            "\x00",
            "\ud800 \U0001fae8",
            "True",
            "Partial",
            "Completed",
            "Degraded",
            "In",
            "Exists",
            "drain-new",
        ),
        *("Progressing", "Ready", "operator", "machine-config", "master", "worker", "4.16.0", "old", "new"),
    ]
)
_ODD_TIMES = st.sampled_from(
    (None, "", "0001-01-01T00:00:00Z", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59.9-12:00", rfc3339(START))
)
_ODD_KEYS = st.sampled_from(
    [
        *(CURRENT_CONFIG, DESIRED_CONFIG, STATE, REASON, DESIRED_DRAIN, LAST_APPLIED_DRAIN, CURRENT_IMAGE),
        *(
            DESIRED_IMAGE,
            LAYERING_LABEL,
            NEWEST_IMAGE,
            "include.release.openshift.io/",
            "node-role.kubernetes.io/master",
        ),
        *("", "-", "old", "new", "master"),
    ]
)


def _odd(kind: Any, name: str = "") -> st.SearchStrategy[Any]:
    """Anything that has this type. A field whose name ends in time or at is a time."""
    origin, arguments = get_origin(kind), get_args(kind)
    if name.endswith(("_time", "_at")):
        return _ODD_TIMES
    if origin is Annotated:
        return _odd(arguments[0], name)
    if kind is ObjectMeta:
        maps = _odd(dict[str, str])
        return st.builds(ObjectMeta, name=_ODD_TEXTS, labels=maps, annotations=maps)
    if kind is str:
        return _ODD_TEXTS
    if isinstance(kind, type) and issubclass(kind, Enum):
        return st.sampled_from(kind)
    if kind in (bool, int):
        return st.sampled_from((False, True)).map(kind)
    if origin in (Union, UnionType):
        return st.one_of(*(_odd(each) for each in arguments))
    if origin is list:
        return st.lists(_odd(arguments[0]), max_size=3)
    if origin is tuple:
        return st.lists(_odd(arguments[0]), max_size=3).map(tuple)
    if origin in (dict, Mapping):
        return st.dictionaries(_ODD_KEYS, _odd(arguments[1]), max_size=4)
    if kind is type(None):
        return st.none()
    return st.builds(kind, **{field.name: _odd(field.type, field.name) for field in structs.fields(kind)})


def odd_clusters() -> st.SearchStrategy[Sources]:
    """Sources of which nothing is sure but the types, and that times are times."""
    return _odd(Sources)
