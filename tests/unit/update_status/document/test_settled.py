"""What was settled by an earlier write only saves work: a process that has just started writes the same."""

from collections.abc import Callable
from functools import partial

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.update_status.document import parts
from tests.unit.update_status.document.written import entries, the_node
from tests.unit.update_status.drawn import NOW, clusters
from windlass.api.update import UpdateStatusStatus
from windlass.update_status.assessment import assess
from windlass.update_status.document import Settled, write
from windlass.update_status.report import Phase, Report
from windlass.update_status.times import MINUTE, SECOND

reports = clusters().map(lambda sources: assess(sources, now=NOW))

LATER = parts.NOW + 30 * SECOND


def warm(most: int = 4096) -> tuple[Settled, Callable[..., UpdateStatusStatus]]:
    """What is settled by the writes of one process, and how that writes."""
    settled = Settled(most)
    return settled, partial(write, settled=settled)


def test_an_insight_that_did_not_change_is_the_one_that_stands() -> None:
    _, write = warm()
    first = write(parts.report(), now=parts.NOW)
    second = write(parts.report(), now=LATER, previous=first)
    third = write(parts.report(), now=LATER + SECOND, previous=second)
    changed = {uid for uid, entry in entries(third).items() if entry is not entries(first)[uid]}
    assert changed <= {"cv-version"}


def test_that_a_text_was_cut_is_said_each_time() -> None:
    _, write = warm()
    long = parts.report(operators=(parts.operator(message="x" * 100_000),))
    status = write(long, now=parts.NOW)
    for seconds in range(3):
        status = write(long, now=LATER + seconds * SECOND, previous=status)
        assert {one.type: one.status for one in status.conditions}["Truncated"] == "True"


def test_what_is_settled_stays_small() -> None:
    settled, write = warm(2)
    first = write(parts.report(), now=parts.NOW)
    second = write(parts.report(), now=parts.NOW, previous=first)
    assert 0 < len(settled) <= 2
    assert second == first


def test_what_time_alone_changes_is_written_again() -> None:
    _, write = warm()
    first = write(parts.report(), now=parts.NOW)
    for _ in range(2):
        first = write(parts.report(), now=parts.NOW, previous=first)
    later = write(parts.report(), now=parts.NOW + 25 * MINUTE, previous=first)
    assert entries(later)["cv-version"] != entries(first)["cv-version"]


def test_another_part_and_another_entry_are_not_taken_for_what_is_settled() -> None:
    _, write = warm()
    drained = parts.report(of=parts.node(phase=Phase.DRAINING, updating=True))
    first = write(drained, now=parts.NOW)
    write(drained, now=parts.NOW, previous=first)
    other = parts.report(of=parts.node(phase=Phase.REBOOTING, updating=True))
    second = write(other, now=LATER, previous=first)
    assert the_node(second) != the_node(first)
    third = write(drained, now=LATER, previous=second)
    assert the_node(third).conditions[0].reason == the_node(first).conditions[0].reason


def test_the_size_of_what_was_written_last_is_known() -> None:
    settled, write = warm()
    status = write(parts.report(), now=parts.NOW)
    whole = len(msgspec.json.encode(status))
    assert 0.6 * whole < settled.size < whole


@pytest.mark.slow
@given(reports, reports, st.lists(st.sampled_from((0, 1, 90)), min_size=1, max_size=3), st.integers(0, 1))
def test_a_warm_write_and_a_cold_one_are_the_same(one: Report, other: Report, passed: list[int], turn: int) -> None:
    _, write_again = warm()
    status = write_again(one, now=NOW)
    for seconds in passed:  # to and fro: the present may also be the one of the first write again
        now = NOW + seconds * SECOND
        write_again(one, now=now, previous=status)
        report = (one, other)[turn]
        after = write_again(report, now=now + turn * SECOND, previous=status)
        again = write_again(report, now=NOW, previous=after)
        assert write(report, now=now + turn * SECOND, previous=status) == after
        assert write(report, now=NOW, previous=after) == again
        status = after
