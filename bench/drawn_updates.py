"""Draws clusters and the courses of their updates by chance: what an estimate is judged by.

Nothing here knows how estimates are made. Operators are updated level by level, those of a level at the same time;
nodes drain, pull an image, write and reboot, and each of these has its own law: some drains hang on a budget, some
pulls are slow, some operators take several times as long as usual, bare metal boots slowly. Orders of magnitude are
those of recorded updates: an hour for a control plane, 4 to 20 minutes for a node.
"""

from bisect import bisect_right
from collections.abc import Iterator
from random import Random
from typing import Final

from msgspec import Struct

from windlass.update_status.assessment.pools import summarize
from windlass.update_status.history import followed
from windlass.update_status.record import Record
from windlass.update_status.report import ControlPlane, Health, Node, Operator, Phase, Pool, Report, State, Versions
from windlass.update_status.times import HOUR, SECOND, ZERO, Moment, moment

_LEVELS: Final = (
    {"etcd": 480.0},
    {"kube-apiserver": 840.0},
    {"kube-controller-manager": 330.0, "kube-scheduler": 300.0},
    {"config-operator": 15.0, "cloud-credential": 20.0, "openshift-apiserver": 210.0, "authentication": 260.0},
    {"machine-api": 45.0, "cluster-autoscaler": 20.0, "cloud-controller-manager": 60.0, "machine-approver": 15.0},
    {"image-registry": 50.0, "ingress": 70.0, "storage": 110.0, "csi-snapshot-controller": 40.0, "console": 60.0},
    {"openshift-controller-manager": 50.0, "service-ca": 20.0, "marketplace": 20.0, "monitoring": 170.0},
    {"node-tuning": 40.0, "openshift-samples": 20.0, "operator-lifecycle-manager": 50.0, "insights": 20.0},
    {"network": 330.0},
    {"dns": 160.0},
)
MACHINE_CONFIG: Final = "machine-config"
BEGIN: Final[Moment] = moment("2026-03-01T08:00:00Z")


class DrawnPool(Struct, frozen=True, kw_only=True):
    """`drain`, `boot`: usual seconds. `hanging`: the share of drains that hang."""

    name: str
    nodes: int
    at_a_time: int
    drain: float
    boot: float
    hanging: float


class DrawnCluster(Struct, frozen=True, kw_only=True):
    """`slowness` of its operators, and of its registry."""

    pools: tuple[DrawnPool, ...]
    slowness: float
    registry: float


class Walk(Struct, frozen=True, kw_only=True):
    """A node on its way, in seconds from the start."""

    pool: str
    begun: float
    drained: float
    ended: float


class Course(Struct, frozen=True, kw_only=True):
    """What happened in one update, in seconds from `start`. `begun` and `ended` are of operators."""

    number: int
    start: Moment
    begun: dict[str, float]
    ended: dict[str, float]
    nodes: dict[str, Walk]
    plane_ended: float

    def ended_pool(self, name: str) -> float:
        return max(walk.ended for walk in self.nodes.values() if walk.pool == name)

    @property
    def end(self) -> float:
        return max(self.plane_ended, *(walk.ended for walk in self.nodes.values()))

    @property
    def occasions(self) -> list[float]:
        """All times at which something changes."""
        walks = [time for walk in self.nodes.values() for time in (walk.begun, walk.drained, walk.ended)]
        return sorted({*self.begun.values(), *self.ended.values(), *walks, self.plane_ended})


def draw_cluster(chance: Random) -> DrawnCluster:
    metal = chance.random() < 0.3
    boot = chance.uniform(420, 900) if metal else chance.uniform(110, 240)
    worker = chance.choice([3, 6, 12, 24, 40])
    pools = [DrawnPool(name="master", nodes=3, at_a_time=1, drain=50, boot=boot, hanging=0.0)]
    pools.append(
        DrawnPool(
            name="worker",
            nodes=worker,
            at_a_time=chance.choice([1, 1, 1, 2, 3, max(1, worker // 10)]),
            drain=chance.lognormvariate(4.2, 0.6),
            boot=boot * chance.uniform(0.8, 1.5),
            hanging=chance.choice([0.0, 0.02, 0.05, 0.1]),
        )
    )
    if chance.random() < 0.5:
        pools.append(
            DrawnPool(
                name="infra",
                nodes=chance.randint(3, 6),
                at_a_time=chance.choice([1, 1, 2]),
                drain=chance.lognormvariate(4.6, 0.5),
                boot=boot,
                hanging=chance.choice([0.0, 0.05]),
            )
        )
    return DrawnCluster(
        pools=tuple(pools), slowness=chance.lognormvariate(0.0, 0.3), registry=chance.lognormvariate(4.7, 0.5)
    )


def draw_course(cluster: DrawnCluster, number: int, chance: Random) -> Course:
    """The update `number` of the cluster, of which each begins a month after the one before."""
    slowness = cluster.slowness * chance.lognormvariate(0.0, 0.15)
    begun: dict[str, float] = {}
    ended: dict[str, float] = {}
    now = chance.uniform(30, 120)
    for level in _LEVELS:
        for name, usual in level.items():
            takes = usual * slowness * chance.lognormvariate(0.0, 0.25)
            if chance.random() < 0.03:
                takes *= chance.uniform(2, 5)
            begun[name], ended[name] = now + chance.uniform(0, 5), now + 5 + takes
        now = max(ended[name] for name in level) + chance.uniform(2, 20)
    begun[MACHINE_CONFIG] = now
    now += chance.uniform(90, 300) * slowness
    registry = cluster.registry * (chance.uniform(2, 4) if chance.random() < 0.1 else chance.uniform(0.8, 1.25))
    nodes = {name: walk for pool in cluster.pools for name, walk in _walks(pool, now, registry, chance)}
    ended[MACHINE_CONFIG] = max(walk.ended for walk in nodes.values() if walk.pool == "master") + chance.uniform(10, 60)
    return Course(
        number=number,
        start=BEGIN + number * 30 * 24 * HOUR,
        begun=begun,
        ended=ended,
        nodes=nodes,
        plane_ended=ended[MACHINE_CONFIG] + chance.uniform(5, 90),
    )


def _walks(pool: DrawnPool, now: float, registry: float, chance: Random) -> Iterator[tuple[str, Walk]]:
    free = [now + chance.uniform(0, 30) for _ in range(pool.at_a_time)]
    today = chance.lognormvariate(0.0, 0.12)
    for number in range(pool.nodes):
        place = free.index(min(free))
        begun = free[place] + chance.uniform(2, 25)
        drain = 5 + pool.drain * chance.lognormvariate(0.0, 0.8)
        if chance.random() < pool.hanging:
            drain += chance.uniform(8, 80) * 60
        pull = registry * chance.lognormvariate(0.0, 0.3) * (3 if chance.random() < 0.04 else 1)
        rest = pull + (pool.boot + 70) * today * chance.lognormvariate(0.0, 0.12)
        free[place] = begun + drain + rest
        yield f"{pool.name}-{number}", Walk(pool=pool.name, begun=begun, drained=begun + drain, ended=free[place])


def report_at(cluster: DrawnCluster, course: Course, time: float) -> Report:
    """What is seen `time` seconds after the start."""
    operators = tuple(_operator(course, name, time) for name in course.begun)
    changes = [one.since for one in operators if one.since > course.start]
    running = time < course.plane_ended
    return Report(
        control_plane=ControlPlane(
            updating="True" if running else "False",
            since=course.start,
            versions=Versions(target=f"4.16.{course.number + 1}", previous=f"4.16.{course.number}"),
            started=course.start,
            completed=None if running else _at(course, course.plane_ended),
            last_progress=max(changes, default=None),
            baseline=HOUR,
            operators=operators,
        ),
        pools=tuple(_pool(course, pool, time) for pool in cluster.pools),
    )


def _at(course: Course, time: float) -> Moment:
    return course.start + int(time) * SECOND


def _operator(course: Course, name: str, time: float) -> Operator:
    state, since = State.PENDING, ZERO
    if time >= course.ended[name]:
        state, since = State.UPDATED, _at(course, course.ended[name])
    elif time >= course.begun[name]:
        state, since = State.PROGRESSING, _at(course, course.begun[name])
    return Operator(name=name, state=state, health=Health.HEALTHY, since=since, health_since=ZERO)


def _pool(course: Course, pool: DrawnPool, time: float) -> Pool:
    nodes = tuple(_node(name, walk, time) for name, walk in course.nodes.items() if walk.pool == pool.name)
    return Pool(name=pool.name, summary=summarize(nodes), nodes=nodes)


_PHASES: Final = (Phase.PENDING, Phase.DRAINING, Phase.UPDATING, Phase.UPDATED)


def _node(name: str, walk: Walk, time: float) -> Node:
    phase = _PHASES[bisect_right((walk.begun, walk.drained, walk.ended), time)]
    return Node(name=name, phase=phase, updating=phase in (Phase.DRAINING, Phase.UPDATING))


class Recorder:
    """Keeps the records of updates as the controller does: by looking whenever something changes."""

    def __init__(self, cluster: DrawnCluster) -> None:
        self._cluster = cluster
        self._records: dict[str, Record] = {}

    @property
    def records(self) -> list[Record]:
        return [*self._records.values()]

    def look(self, course: Course, time: float) -> Report:
        """Look at this time, and record what is new."""
        report = report_at(self._cluster, course, time)
        for record in followed(self._records.values(), report, {}, now=_at(course, time)):
            self._records[record.name] = record
        return report

    def whole(self, course: Course) -> None:
        """Look at all that happens in an update."""
        for time in (*course.occasions, course.end + 1):
            self.look(course, time)
