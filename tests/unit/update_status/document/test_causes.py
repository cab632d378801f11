"""Causes and expected ends as the object has them."""

from typing import Any

import pytest
from msgspec import structs

from windlass.api.update import MOST_AFFECTED, MOST_CAUSES, UpdateStatusStatus
from windlass.api.update_insights import ExpectedEnd
from windlass.update_status.document import read, write
from windlass.update_status.document.validity import trouble
from windlass.update_status.report import Estimate, Level, Reference, Report
from windlass.update_status.times import HOUR, MINUTE, SECOND, Moment

from .parts import NOW, cause, degraded_node, estimate, report, unobserved


def with_causes(*causes: Any) -> Report:
    return structs.replace(report(), causes=causes)


def expecting(found: Estimate | None) -> Report:
    plain = report()
    (pool,) = plain.pools
    plane = structs.replace(plain.control_plane, expected=found)
    return structs.replace(plain, control_plane=plane, pools=(structs.replace(pool, expected=found),))


def truncated(status: UpdateStatusStatus) -> str:
    return next(one.message for one in status.conditions if one.type == "Truncated")


def test_causes_and_expected_ends_are_read_as_they_were_written() -> None:
    whole = structs.replace(
        expecting(estimate()),
        causes=(cause(), cause(about=(), level=Level.INFO, started=NOW - HOUR)),
        insights=(degraded_node(follows=Reference("config.openshift.io", "clusteroperators", "etcd")),),
    )
    status = write(whole, now=NOW)
    assert trouble(status) == ""
    assert unobserved(read(status, now=NOW)) == whole


def test_a_cause_remembers_when_it_was_first_seen() -> None:
    first = write(with_causes(cause()), now=NOW)
    later = write(with_causes(cause(description="another")), now=NOW + HOUR, previous=first)
    (found,) = read(later, now=NOW + HOUR).causes
    assert (found.started, found.first_seen, found.description) == (None, NOW, "another")
    assert later.causes[0].acquired_at != first.causes[0].acquired_at


def test_a_cause_that_stands_is_not_written_again() -> None:
    first = write(with_causes(cause()), now=NOW)
    assert write(with_causes(cause()), now=NOW + HOUR, previous=first).causes == first.causes


def test_the_least_of_too_many_causes_are_left_out() -> None:
    many = [cause(about=(Reference("", "pods", f"p{number}", "x"),)) for number in range(MOST_CAUSES)]
    status = write(with_causes(cause(level=Level.INFO), *many), now=NOW)
    assert {one.level for one in status.causes} == {"Warning"}
    assert truncated(status) == "1 causes were left out"


def test_too_many_objects_of_a_cause_are_counted() -> None:
    nodes = tuple(Reference("", "nodes", f"n{number}") for number in range(MOST_AFFECTED + 2))
    status = write(with_causes(cause(affected=nodes)), now=NOW)
    assert len(status.causes[0].affected) == MOST_AFFECTED
    assert "2 objects of the cause" in truncated(status)


def test_a_cause_that_the_api_server_would_refuse_is_left_out_alone() -> None:
    status = write(with_causes(cause(about=(Reference("", "pods", "", "x"),)), cause()), now=NOW)
    assert (len(status.causes), trouble(status)) == (1, "")
    assert "cause 'PodDisruptionBudget shop/shop" in truncated(status)


@pytest.mark.parametrize(
    ("left", "moved", "written"),
    [
        (20 * MINUTE, 0, False),
        (20 * MINUTE, MINUTE, False),
        (20 * MINUTE, 75 * SECOND, False),
        (20 * MINUTE, 2 * MINUTE, True),
        (2 * HOUR, 5 * MINUTE, False),
        (2 * HOUR, 7 * MINUTE, True),
        (MINUTE, 50 * SECOND, False),
    ],
)
@pytest.mark.parametrize("end", ["earliest", "middle", "latest"])
def test_a_range_is_written_again_when_an_end_of_it_moved(left: int, moved: int, written: bool, end: str) -> None:
    before = estimate(left / MINUTE)
    status = write(expecting(before), now=NOW)
    after = structs.replace(before, **{end: getattr(before, end) + moved})
    again = write(expecting(after), now=NOW, previous=status)
    assert (ends(again) != ends(status)) is written
    expected: Moment = getattr(after if written else before, end)
    (pool,) = read(again, now=NOW).pools
    assert pool.expected is not None
    assert getattr(pool.expected, end) == expected


def test_a_wide_range_stands_longer() -> None:
    wide = estimate(40, latest=NOW + 160 * MINUTE)
    status = write(expecting(wide), now=NOW)
    moved = structs.replace(wide, middle=wide.middle + 5 * MINUTE)
    assert ends(write(expecting(moved), now=NOW, previous=status)) == ends(status)


def test_a_new_basis_is_written_with_the_ends_that_stand() -> None:
    status = write(expecting(estimate()), now=NOW)
    again = write(expecting(estimate(20.5, basis="5 nodes")), now=NOW, previous=status)
    (before, after) = (ends(one)[0] for one in (status, again))
    assert before is not None
    assert after == structs.replace(before, basis="5 nodes")


def test_an_end_that_nothing_tells_of_any_more_goes() -> None:
    status = write(expecting(estimate()), now=NOW)
    assert ends(write(expecting(None), now=NOW, previous=status)) == [None, None]


def ends(status: UpdateStatusStatus) -> list[ExpectedEnd | None]:
    """Of the pool and of the control plane."""
    (pool,) = status.worker_pools
    pools = [entry.insight.machine_config_pool for one in pool.informers for entry in one.insights]
    assert status.control_plane
    planes = [entry.insight.cluster_version for one in status.control_plane.informers for entry in one.insights]
    return [*(one.expected_end for one in pools if one), *(one.expected_end for one in planes if one)]
