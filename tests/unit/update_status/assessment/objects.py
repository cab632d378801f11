"""Objects of a cluster whose update from 4.15.0 to 4.16.0 began at START, as its API server has them."""

from collections.abc import Iterable

from msgspec import structs

from windlass.api.config import (
    ClusterOperator,
    ClusterOperatorStatus,
    ClusterVersion,
    ClusterVersionStatus,
    OperandVersion,
    Release,
    UpdateHistory,
)
from windlass.api.core import Node, NodeSpec, NodeStatus
from windlass.api.machineconfiguration import (
    MachineConfigPool,
    MachineConfigPoolSpec,
    MachineConfigPoolStatus,
    PoolConfiguration,
)
from windlass.api.machineosconfig import MachineOSBuild, MachineOSBuildSpec, MachineOSBuildStatus
from windlass.api.meta import Condition, LabelSelector, NamedReference, ObjectMeta, PlainCondition
from windlass.update_status.sources import Known, Sources
from windlass.update_status.times import SECOND, Moment, moment, rfc3339

START = moment("2024-02-27T12:00:00Z")
PREVIOUS, TARGET = "4.15.0", "4.16.0"
RELEASES = {"old": PREVIOUS, "new": TARGET, "newer": TARGET}
"""The MachineConfigs, with the release of each."""

MCO = "machineconfiguration.openshift.io/"
OF_THE_RELEASE = {"include.release.openshift.io/self-managed-high-availability": "true"}


def after(minutes: float) -> Moment:
    """The moment so long after START."""
    return START + int(minutes * 60) * SECOND


def at(minutes: float) -> str:
    """The same as a text."""
    return rfc3339(after(minutes))


def said(kind: str, status: str, minutes: float | None = 0, *, reason: str = "", message: str = "") -> PlainCondition:
    """A condition since so many minutes after START; None: without a time."""
    when = None if minutes is None else at(minutes)
    return PlainCondition(type=kind, status=status, last_transition_time=when, reason=reason, message=message)


CALM = (said("Available", "True"), said("Progressing", "False"), said("Degraded", "False"))
UNDER_WAY = (said("Progressing", "True"), said("Failing", "False"))


def operator(
    name: str,
    *changes: PlainCondition,
    version: str = TARGET,
    images: Iterable[str] = (),
    without: str = "",
    annotations: dict[str, str] = OF_THE_RELEASE,
) -> ClusterOperator:
    """One that is well but for `changes`; `without` is a condition that it lacks."""
    changed = {one.type for one in changes} | {without}
    return ClusterOperator(
        metadata=ObjectMeta(name=name, annotations=annotations),
        status=ClusterOperatorStatus(
            conditions=[*(one for one in CALM if one.type not in changed), *changes],
            versions=[
                OperandVersion(name="operator", version=version),
                *(OperandVersion(name="operator-image", version=image) for image in images),
            ],
        ),
    )


def item(
    version: str, *, state: str = "Completed", started: float | None, completed: float | None = None, image: str = ""
) -> UpdateHistory:
    """An item of the history, in minutes after START."""
    return UpdateHistory(
        state=state,
        version=version,
        image=image,
        started_time=None if started is None else at(started),
        completion_time=None if completed is None else at(completed),
    )


INSTALLED = item("4.14.0", started=-3000, completed=-2900)
UPDATED_BEFORE = item(PREVIOUS, started=-2000, completed=-1900)
BEGUN = item(TARGET, state="Partial", started=0)
HISTORY = (BEGUN, UPDATED_BEFORE, INSTALLED)


def cluster_version(
    *conditions: PlainCondition, history: Iterable[UpdateHistory] = HISTORY, desired: str = TARGET
) -> ClusterVersion:
    return ClusterVersion(
        metadata=ObjectMeta(name="version"),
        status=ClusterVersionStatus(
            desired=Release(version=desired), history=list(history), conditions=list(conditions or UNDER_WAY)
        ),
    )


def role(name: str) -> dict[str, str]:
    return {f"node-role.kubernetes.io/{name}": ""}


def pool(
    name: str,
    *,
    config: str = "new",
    paused: bool = False,
    selector: LabelSelector | None = None,
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
) -> MachineConfigPool:
    """Selects the nodes of the role of its name, if `selector` is None."""
    return MachineConfigPool(
        metadata=ObjectMeta(name=name, labels=labels or {}, annotations=annotations or {}),
        spec=MachineConfigPoolSpec(
            node_selector=LabelSelector(match_labels=role(name)) if selector is None else selector,
            paused=paused,
            configuration=PoolConfiguration(name=config),
        ),
    )


MASTER, WORKER = pool("master"), pool("worker")


def bad(kind: str, status: str, minutes: float | None = 0, *, message: str = "") -> PlainCondition:
    """A condition of a node since so many minutes after START."""
    when = None if minutes is None else at(minutes)
    return PlainCondition(type=kind, status=status, last_transition_time=when, reason="R", message=message)


def node(
    name: str = "n1",
    *conditions: PlainCondition,
    current: str | None = "old",
    desired: str | None = "old",
    state: str | None = "Done",
    roles: Iterable[str] = ("worker",),
    unschedulable: bool = False,
    **said: str | None,
) -> Node:
    """A node that waits for its update. `said` are further annotations; it lacks those that are None."""
    annotations = {"currentConfig": current, "desiredConfig": desired, "state": state, **said}
    return Node(
        metadata=ObjectMeta(
            name=name,
            labels={key: value for one in roles for key, value in role(one).items()},
            annotations={MCO + key: value for key, value in annotations.items() if value is not None},
        ),
        spec=NodeSpec(unschedulable=unschedulable),
        status=NodeStatus(conditions=list(conditions)),
    )


def sources(
    *operators: ClusterOperator,
    version: ClusterVersion | None = None,
    pools: Iterable[MachineConfigPool] = (MASTER, WORKER),
    nodes: Iterable[Node] = (),
    operator_image: Known[str] = "",
) -> Sources:
    return Sources(
        cluster_version=version or cluster_version(),
        operators=operators or (operator("dns"), operator("network", version=PREVIOUS)),
        pools=tuple(pools),
        nodes=tuple(nodes),
        versions=RELEASES,
        operator_image=operator_image,
    )


def having(found: MachineConfigPool, *conditions: PlainCondition) -> MachineConfigPool:
    return structs.replace(found, status=MachineConfigPoolStatus(conditions=list(conditions)))


def build(
    true: str = "",
    *,
    name: str = "worker-1",
    config: str = "new",
    began: float = 1,
    message: str = "m",
    of: str = "worker",
) -> MachineOSBuild:
    kinds = ("Prepared", "Building", "Failed", "Interrupted", "Succeeded")
    conditions = [
        Condition(type=kind, status=str(kind == true), reason="R", message=message, last_transition_time=at(30))
        for kind in kinds
    ]
    return MachineOSBuild(
        metadata=ObjectMeta(name=name, creation_timestamp=at(began)),
        spec=MachineOSBuildSpec(machine_config=NamedReference(name=config), machine_os_config=NamedReference(name=of)),
        status=MachineOSBuildStatus(conditions=conditions),
    )


def true(kind: str, *, reason: str = "", message: str = "why") -> PlainCondition:
    return said(kind, "True", 30, reason=reason, message=message)
