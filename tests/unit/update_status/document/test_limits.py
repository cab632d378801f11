"""What is too much or invalid is left out, the least important first, and it is said."""

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
from msgspec import structs

from tests.unit.update_status.document.parts import NOW, degraded_node, node, operator, report, unobserved
from windlass.api.update import UpdateStatusStatus
from windlass.update_status.assessment.pools import summarize
from windlass.update_status.document import read, write
from windlass.update_status.document.limits import within_limits
from windlass.update_status.document.sections import Before, Settled, sections
from windlass.update_status.document.validity import trouble
from windlass.update_status.document.writer import Writer
from windlass.update_status.estimate import progress
from windlass.update_status.report import Health, Level, Node, Phase, Pool, Report, State, Versions

MEBIBYTE = 1024 * 1024


def worker(name: str, nodes: Iterable[Node]) -> Pool:
    members = tuple(nodes)
    return Pool(name=name, summary=summarize(members), nodes=members)


def many(count: int, start: int = 0, **changes: Any) -> list[Node]:
    return [node(name=f"n{number:04}", **changes) for number in range(start, start + count)]


def with_pools(*pools: Pool) -> Report:
    return structs.replace(report(), pools=pools)


def truncated(status: UpdateStatusStatus) -> tuple[str, str]:
    found = next(one for one in status.conditions if one.type == "Truncated")
    return found.reason, found.message


def test_nodes_at_rest_have_no_insights_and_are_read_as_they_were() -> None:
    nodes = [*many(900, phase=Phase.UPDATED), *many(300, start=900, phase=Phase.DRAINING, updating=True)]
    whole = with_pools(worker("worker", nodes))
    status = write(whole, now=NOW)
    assert unobserved(read(status, now=NOW)) == whole
    (pool,) = status.worker_pools
    assert [one.name for one in pool.nodes] == [one.name for one in nodes[:900]]
    assert sum(entry.insight.node is not None for one in pool.informers for entry in one.insights) == 300
    assert truncated(status) == ("AsExpected", "")
    assert len(msgspec.json.encode(pool.nodes)) < 900 * 110


def test_1000_nodes_at_rest_take_less_than_a_tenth_of_a_mebibyte() -> None:
    nodes = many(1000, phase=Phase.UPDATED, since=NOW, version="4.15.0")
    assert len(msgspec.json.encode(write(with_pools(worker("worker", nodes)), now=NOW))) < MEBIBYTE // 10


def test_of_too_many_nodes_at_rest_updated_ones_go_first_and_operators_stay() -> None:
    states = (*[State.UPDATED] * 20, *[State.PENDING] * 13)
    operators = tuple(operator(f"o{number}", state=state) for number, state in enumerate(states))
    long = [node(name=f"n{number:04}.{'x' * 60}.{'y' * 60}.{'z' * 60}") for number in range(2400)]
    nodes = [structs.replace(one, phase=Phase.UPDATED) if place % 2 else one for place, one in enumerate(long)]
    pools = (worker("a", nodes[:1200]), worker("b", nodes[1200:]))
    whole = structs.replace(report(operators=operators), pools=pools)
    status = write(whole, now=NOW)
    found = read(status, now=NOW)
    kept = [one for pool in found.pools for one in pool.nodes]
    assert sum(one.phase is Phase.PENDING for one in kept) == 1200
    assert [pool.summary for pool in found.pools] == [pool.summary for pool in pools]
    said = [f"{1200 - len(pool.nodes)} nodes at rest of pool {pool.name} were left out" for pool in found.pools]
    assert truncated(status) == ("LeftOut", "; ".join(said))
    assert 400 * 1024 < sum(len(msgspec.json.encode(pool.nodes)) for pool in status.worker_pools) <= 448 * 1024
    assert progress(found.control_plane, NOW) == progress(whole.control_plane, NOW)
    assert write(whole, now=NOW, previous=status) == status


def test_a_node_at_rest_whose_name_is_none_is_quarantined() -> None:
    status = write(with_pools(worker("worker", [*many(2), node(name="Not a name")])), now=NOW)
    assert [one.name for one in read(status, now=NOW).pools[0].nodes] == ["n0000", "n0001"]
    assert truncated(status)[0] == "InvalidInsights"
    assert trouble(status) == ""


def test_insights_of_level_info_go_before_warnings_and_updated_operators() -> None:
    infos = [degraded_node(pool="", level=Level.INFO, resources=(), reference=f"https://i/{n}") for n in range(60)]
    warnings = [
        degraded_node(pool="", level=Level.WARNING, resources=(), reference=f"https://w/{n}") for n in range(60)
    ]
    updated = tuple(operator(f"o{number}", state=State.UPDATED) for number in range(20))
    status = write(report(*infos, *warnings, operators=updated), now=NOW)
    found = read(status, now=NOW)
    assert [one.level for one in found.insights].count(Level.WARNING) == 60
    assert len(found.insights) == 60 + 47
    assert len(found.control_plane.operators) == 20
    assert truncated(status)[1] == "13 insights of level Info of the control plane were left out"


def test_the_whole_object_stays_below_a_mebibyte() -> None:
    said = "x" * 2000
    nodes = [node(name=f"n{number}", degraded=True, why_degraded=said) for number in range(450)]
    pools = [worker(name, many(300, start=place, phase=Phase.UPDATED)) for place, name in enumerate("abc")]
    status = write(with_pools(worker("worker", nodes), *pools), now=NOW)
    assert len(msgspec.json.encode(status)) < MEBIBYTE
    assert write(with_pools(worker("worker", nodes), *pools), now=NOW, previous=status) == status
    in_pools = {pool.name: pool for pool in read(status, now=NOW).pools}
    assert len(in_pools["a"].nodes) == 300
    assert len(in_pools["worker"].nodes) < 450
    assert "insights of pool worker were left out" in truncated(status)[1]


def test_pools_and_cluster_version_stay_whatever_room_there_is() -> None:
    whole = with_pools(worker("worker", many(3)))
    found = sections(whole, whole.pools, Before({}, {}, Settled()), Writer(NOW, []), [])
    kept = [[entry.uid for entry in entries] for entries in within_limits(found, [], most_bytes=0)[0]]
    assert kept == [["cv-version"], [], ["mcp-worker"]]


def test_it_stays_so_if_every_text_is_as_long_as_it_may_be_and_each_character_takes_six_bytes() -> None:
    long = "\x01" * 40000
    operators = tuple(operator(f"o{number}", message=long, health_message=long, reason=long) for number in range(40))
    plane = structs.replace(report().control_plane, message=long, reason=long, operators=operators)
    nodes = many(20, degraded=True, why_degraded=long)
    whole = Report(
        control_plane=plane,
        pools=(worker("master", nodes), worker("worker", nodes)),
        insights=tuple(degraded_node(description=long, reference=f"https://i/{number}") for number in range(20)),
        unassigned=tuple(f"n{number}" for number in range(300)),
        alerts=long,
        gaps=(long,) * 200,
    )
    status = write(whole, now=NOW)
    assert trouble(status) == ""
    assert len(msgspec.json.encode(status)) < MEBIBYTE
    assert "136 gaps were left out" in truncated(status)[1]
    assert "44 nodes without a pool were left out" in truncated(status)[1]


def test_500_nodes_fit_whole() -> None:
    nodes = many(500, unavailable=True, why_unavailable="Not ready | Node is marked unschedulable")
    status = write(with_pools(worker("worker", nodes)), now=NOW)
    assert truncated(status) == ("AsExpected", "")
    assert unobserved(read(status, now=NOW)).pools[0].nodes == tuple(nodes)


def test_of_too_many_pools_those_that_have_nothing_to_do_go_first() -> None:
    done = [worker(f"done{number}", many(1, phase=Phase.UPDATED)) for number in range(30)]
    busy = [worker(f"busy{number}", many(1)) for number in range(10)]
    status = write(with_pools(*done, *busy), now=NOW)
    assert [pool.name for pool in status.worker_pools] == [pool.name for pool in (*done[:22], *busy)]
    assert truncated(status) == ("LeftOut", "8 pools were left out")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        pytest.param("Etcd!", "ClusterOperator 'Etcd!': Expected `str` matching regex", id="capitals"),
        pytest.param("dns\n", "ClusterOperator 'dns\\n': A name ends with a newline", id="newline"),
        pytest.param("etcd", "ClusterOperator 'etcd': there are two of this name", id="twice"),
    ],
)
def test_an_invalid_insight_is_quarantined_and_the_others_are_written(name: str, said: str) -> None:
    status = write(report(operators=(operator("etcd"), operator(name))), now=NOW)
    assert trouble(status) == ""
    assert [one.name for one in read(status, now=NOW).control_plane.operators] == ["etcd"]
    reason, message = truncated(status)
    assert reason == "InvalidInsights"
    assert said in message


def test_a_pool_that_kubernetes_would_not_allow_is_quarantined() -> None:
    status = write(with_pools(worker("worker", many(1)), worker("Not A Pool", many(1))), now=NOW)
    assert [pool.name for pool in status.worker_pools] == ["worker"]
    assert truncated(status)[0] == "InvalidInsights"


def test_versions_that_are_none_are_left_out_and_the_rest_stays() -> None:
    plane = structs.replace(report().control_plane, versions=Versions(target="latest", previous="4.14.1"))
    status = write(structs.replace(report(), control_plane=plane), now=NOW)
    assert read(status, now=NOW).control_plane == structs.replace(plane, versions=None)
    assert truncated(status)[1] == "the versions of the update were left out: 'latest' is not a version"


def test_the_version_of_a_node_that_is_none_is_left_out_and_the_node_stays() -> None:
    status = write(report(of=node(version="mine")), now=NOW)
    assert read(status, now=NOW).pools[0].nodes[0].version == ""
    assert "the version of Node n1.example.org was left out" in truncated(status)[1]


def test_a_link_that_is_no_url_is_left_out() -> None:
    status = write(report(degraded_node(reference="javascript:alert(1)")), now=NOW)
    assert read(status, now=NOW).insights[0].reference == ""
    assert "the link of 'Node n1.example.org is degraded' was left out" in truncated(status)[1]


def test_a_long_message_is_shortened() -> None:
    status = write(report(operators=(operator(message="m" * 40000),)), now=NOW)
    message = read(status, now=NOW).control_plane.operators[0].message
    assert len(message) == 32768
    assert message.endswith("m…")
    assert truncated(status) == ("LeftOut", "the message of ClusterOperator etcd was shortened to 32768 characters")


def test_the_message_of_a_node_begins_as_its_condition_does_and_loses_nothing() -> None:
    said = "failed to drain node: " + "x" * 200
    status = write(report(of=node(degraded=True, why_degraded=said)), now=NOW)
    (found,) = [entry.insight.node for entry in status.worker_pools[0].informers[0].insights if entry.insight.node]
    assert found.message == said[:99] + "…"
    assert read(status, now=NOW).pools[0].nodes[0].why_degraded == said
    assert truncated(status)[0] == "AsExpected"


def test_missing_sources_are_a_degradation_of_the_controller() -> None:
    whole = structs.replace(report(), gaps=("nodes: forbidden",), alerts="Unable to fetch alerts")
    found = next(one for one in write(whole, now=NOW).conditions if one.type == "Degraded")
    assert (found.status, found.reason) == ("True", "SourcesMissing")
    assert found.message == "Unable to fetch alerts; nodes: forbidden"


def test_the_update_in_a_line() -> None:
    operators = (operator("a", state=State.UPDATED), operator("b", health=Health.DEGRADED), operator("c"))
    masters = worker("master", many(3, phase=Phase.UPDATED))
    workers = worker("worker", [*many(1, phase=Phase.UPDATED), *many(2, start=1)])
    found = [degraded_node(), degraded_node(level=Level.WARNING), degraded_node(level=Level.INFO)]
    whole = structs.replace(report(*found, operators=operators), pools=(masters, workers))
    overview = write(whole, now=NOW).overview
    assert msgspec.to_builtins(overview) == {
        "state": "Updating",
        "assessment": "Progressing",
        "previous": "4.14.1",
        "target": "4.15.0",
        "completionPercent": 33,
        "totalOperators": 3,
        "operatorsLeft": 2,
        "totalWorkers": 3,
        "workersLeft": 2,
        "worstLevel": "Error",
        "warningInsights": 1,
        "errorInsights": 1,
        "criticalInsights": 0,
    }


def test_nodes_of_the_pool_arbiter_are_no_workers() -> None:
    arbiter, worker = (
        structs.replace(report(of=node(name=name)).pools[0], name=name) for name in ("arbiter", "worker")
    )
    overview = write(structs.replace(report(), pools=(arbiter, worker)), now=NOW).overview
    assert overview is not None
    assert (overview.total_workers, overview.workers_left) == (1, 1)
