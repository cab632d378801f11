"""Whether Machine sync runs, and that it starts and stops by itself when that changes."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from tests.waiting import until
from windlass.api import capg
from windlass.api.config import ClusterVersion, FeatureGate, Infrastructure
from windlass.api.meta import KubernetesObject, ObjectMeta
from windlass.kube.control.permissions import rules
from windlass.kube.control.seen import Absent, NotServedKind, Seen, Unreadable, seen
from windlass.kube.object import Object
from windlass.kube.process.pool import CachePool
from windlass.machine_sync.activation import (
    WATCHED,
    Activation,
    Idle,
    Run,
    activation_permissions,
    needed_cluster,
    verdict,
)
from windlass.testing.clock import VirtualLoop

from .watched import WatchedApi

Tree = dict[str, Any]


def entry(version: str = "4.22.0", *, enabled: tuple[str, ...] = ("MachineAPIMigration",)) -> Tree:
    return {"version": version, "enabled": [{"name": name} for name in enabled]}


def tree(kind: type[KubernetesObject], name: str, status: Tree) -> Tree:
    resource = kind.RESOURCE
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name}, "status": status}


def gate(*entries: Tree) -> Tree:
    return tree(FeatureGate, "cluster", {"featureGates": list(entries)})


def platform(name: str) -> Tree:
    return tree(Infrastructure, "cluster", {"platformStatus": {"type": name}})


def version(desired: str) -> Tree:
    return tree(ClusterVersion, "version", {"desired": {"version": desired}})


GATE, OPENSTACK, VERSION = gate(entry()), platform("OpenStack"), version("4.22.0")


def decided(
    *,
    gate: Tree | Seen[Any] = GATE,
    infrastructure: Tree | Seen[Any] = OPENSTACK,
    version: Tree | Seen[Any] = VERSION,
    infra_cluster: Seen[Any] | None = None,
) -> Run | Idle:
    def look(kind: type[Any], found: Tree | Seen[Any]) -> Seen[Any]:
        return seen(Object.of(kind, found)) if isinstance(found, dict) else found

    return verdict(
        gate=look(FeatureGate, gate),
        infrastructure=look(Infrastructure, infrastructure),
        version=look(ClusterVersion, version),
        infra_cluster=infra_cluster,
    )


class TestVerdict:
    @pytest.mark.parametrize("name", ["AWS", "GCP", "OpenStack"])
    def test_an_enabled_gate_on_a_platform_that_is_served_runs(self, name: str) -> None:
        assert decided(infrastructure=platform(name)) == Run(name)

    def test_during_an_update_the_entry_of_the_desired_version_counts(self) -> None:
        both = gate(entry("4.21.0", enabled=()), entry("4.22.0"))
        assert decided(gate=both) == Run("OpenStack")
        going_back = decided(gate=both, version=version("4.21.0"))
        assert going_back == Idle("feature gate MachineAPIMigration is not enabled for version 4.21.0", "FeatureGate")

    @pytest.mark.parametrize("unknown", [Absent(), version(""), version("4.99.0"), NotServedKind("no CRD")])
    def test_without_a_match_the_only_entry_counts(self, unknown: Any) -> None:
        assert isinstance(decided(version=unknown), Run)

    def test_without_a_match_several_entries_are_no_answer(self) -> None:
        both = gate(entry("4.21.0"), entry("4.22.0"))
        assert decided(gate=both, version=version("4.23.0")) == Idle(
            "FeatureGate cluster has no entry for version 4.23.0; it has: 4.21.0, 4.22.0", "FeatureGate"
        )
        assert decided(gate=both, version=Absent()) == Idle(
            "FeatureGate cluster has no entry for version (unknown); it has: 4.21.0, 4.22.0", "FeatureGate"
        )

    def test_no_entry_is_no_answer(self) -> None:
        assert decided(gate=gate()) == Idle(
            "FeatureGate cluster has no entry for version 4.22.0; it has: none", "FeatureGate"
        )

    def test_a_gate_that_is_disabled_or_unknown_idles(self) -> None:
        disabled = {**entry(enabled=("Other",)), "disabled": [{"name": "MachineAPIMigration"}]}
        assert decided(gate=gate(disabled)) == Idle(
            "feature gate MachineAPIMigration is not enabled for version 4.22.0", "FeatureGate"
        )

    @pytest.mark.parametrize("name", ["PowerVS", "VSphere", "None"])
    def test_any_other_platform_idles(self, name: str) -> None:
        assert decided(infrastructure=platform(name)) == Idle(
            f"not implemented for platform {name}, nothing to do", "Platform"
        )

    @pytest.mark.parametrize("status", [{}, {"platformStatus": None}, {"platformStatus": {"type": ""}}])
    def test_a_cluster_that_does_not_say_its_platform_idles(self, status: Tree) -> None:
        found = decided(infrastructure=tree(Infrastructure, "cluster", status))
        assert "status.platformStatus.type" in str(found)

    @pytest.mark.parametrize(
        ("field", "missing", "why"),
        [
            ("gate", Absent(), "FeatureGate cluster does not exist"),
            ("gate", NotServedKind("no CRD"), "FeatureGate cluster cannot be read: no CRD"),
            ("gate", Unreadable(ObjectMeta(), "$.status"), "FeatureGate cluster cannot be read: $.status"),
            ("infrastructure", Absent(), "Infrastructure cluster does not exist"),
            ("infrastructure", NotServedKind("no CRD"), "Infrastructure cluster cannot be read: no CRD"),
        ],
    )
    def test_what_cannot_be_read_is_a_reason_to_idle(self, field: str, missing: Any, why: str) -> None:
        reason: Any = {"gate": "FeatureGate", "infrastructure": "Platform"}[field]
        assert decided(**{field: missing}) == Idle(why, reason)

    def test_google_cloud_idles_where_nobody_serves_its_kind_of_cluster(self) -> None:
        found = decided(infrastructure=platform("GCP"), infra_cluster=NotServedKind("gcpclusters: no CRD"))
        why = "platform GCP needs Cluster API's provider, and its kind of cluster is not there: gcpclusters: no CRD"
        assert found == Idle(why, "Platform")
        assert decided(infrastructure=platform("GCP"), infra_cluster=Absent()) == Run("GCP")

    def test_only_google_cloud_needs_its_kind_of_cluster(self) -> None:
        def needed(name: str) -> Any:
            return needed_cluster(seen(Object.of(Infrastructure, platform(name))))

        assert needed("GCP") == (capg.GCPCluster, "")
        assert [needed(name) for name in ("AWS", "OpenStack", "PowerVS", "VSphere")] == [None] * 4
        assert needed_cluster(Absent()) is None

    def test_verdicts_read_as_sentences(self) -> None:
        assert str(decided()) == "Machine sync runs: platform OpenStack"
        assert str(decided(gate=Absent())) == "Machine sync idles: FeatureGate cluster does not exist"


def test_asking_needs_to_list_and_watch_three_kinds() -> None:
    ((place, allowed),) = rules(activation_permissions()).items()
    assert place is None
    assert {(name, tuple(rule["verbs"])) for rule in allowed for name in rule["resources"]} == {
        (kind.RESOURCE.plural, ("list", "watch")) for kind in WATCHED
    }


class Following:
    """An Activation on an in-memory API server, and what it started and stopped."""

    def __init__(self, loop: VirtualLoop) -> None:
        self.loop = loop
        self.api = WatchedApi(*WATCHED)
        self.history: list[str] = []
        self.pool: CachePool
        self.activation: Activation

    async def started(self, platform: str) -> None:
        self.history.append(platform)

    async def stopped(self) -> None:
        self.history.append("stop")

    @asynccontextmanager
    async def running(self) -> Any:
        self.pool = CachePool(self.api, clock=self.loop.clock)
        self.activation = Activation(self.pool, start=self.started, stop=self.stopped)
        task = asyncio.create_task(self.activation.run())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            await self.pool.close()

    def change(self, *trees: Tree) -> None:
        self.api.load(*trees)

    def run(self, scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self.loop.run_until_complete(scenario())


@pytest.fixture
def following() -> Iterator[Following]:
    loop = VirtualLoop()
    yield Following(loop)
    loop.close()


class TestActivation:
    def test_it_starts_when_the_gate_is_enabled_and_stops_when_it_is_not(self, following: Following) -> None:
        async def scenario() -> None:
            following.change(gate(entry(enabled=())), OPENSTACK, VERSION)
            async with following.running():
                await until(lambda: following.activation.latest is not None)
                assert following.history == []
                following.change(GATE)
                await until(lambda: following.history == ["OpenStack"])
                following.change(gate(entry(enabled=())))
                await until(lambda: following.history == ["OpenStack", "stop"])

        following.run(scenario)

    def test_another_platform_is_a_stop_and_a_start(self, following: Following) -> None:
        async def scenario() -> None:
            following.change(GATE, OPENSTACK, VERSION)
            async with following.running():
                await until(lambda: following.history == ["OpenStack"])
                following.change(platform("AWS"))
                await until(lambda: following.history == ["OpenStack", "stop", "AWS"])

        following.run(scenario)

    def test_a_change_that_changes_no_answer_does_nothing(self, following: Following) -> None:
        async def scenario() -> None:
            following.change(GATE, OPENSTACK, VERSION)
            async with following.running():
                await until(lambda: bool(following.history))
                following.change(gate(entry(enabled=("MachineAPIMigration", "Another"))), version("4.22.0"))
                await asyncio.sleep(60)
                assert following.history == ["OpenStack"]

        following.run(scenario)

    def test_kinds_that_are_served_later_are_found(self, following: Following) -> None:
        async def scenario() -> None:
            following.api = WatchedApi()
            async with following.running():
                await until(lambda: following.activation.latest is not None)
                assert "cannot be read" in str(following.activation.latest)
                for kind in WATCHED:
                    following.api.install(kind)
                following.change(GATE, OPENSTACK, VERSION)
                await until(lambda: following.history == ["OpenStack"])

        following.run(scenario)

    def test_it_is_not_ready_before_it_has_asked(self, following: Following) -> None:
        async def scenario() -> None:
            following.change(GATE, OPENSTACK, VERSION)
            async with following.running():
                assert following.activation.report() == {"activation": "the feature gate has not been read yet"}
                await until(lambda: following.activation.latest is not None)
                assert following.activation.report() == {"activation": ""}

        following.run(scenario)

    def test_a_start_that_is_slow_delays_but_loses_nothing(self, following: Following) -> None:
        async def scenario() -> None:
            held = asyncio.Event()
            quickly: Callable[[str], Awaitable[None]] = following.started

            async def slowly(platform: str) -> None:
                await held.wait()
                await quickly(platform)

            following.started = slowly  # type: ignore[method-assign]
            following.change(GATE, OPENSTACK, VERSION)
            async with following.running():
                await until(lambda: following.activation.latest is not None)
                following.change(gate(entry(enabled=())))
                held.set()
                await until(lambda: following.history == ["OpenStack", "stop"])

        following.run(scenario)
