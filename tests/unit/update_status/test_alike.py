"""What differs only in its object is told once, and nothing else is."""

import pytest
from msgspec import structs

from windlass.update_status.alike import alike
from windlass.update_status.report import Impact, Insight, Level, Reference


def of(name: str, summary: str, description: str = "", remedy: str = "", *, kind: str = "nodes") -> Insight:
    """An insight into one object, whose name is at {}."""
    return Insight(
        level=Level.ERROR,
        impact=Impact.UPDATE_STALLED,
        summary=summary.format(name),
        description=description.format(name),
        remedy=remedy.format(name),
        reference="",
        started=None,
        resources=(Reference("", kind, name),),
    )


@pytest.mark.parametrize(
    ("summary", "kind", "names", "told"),
    [
        ("Node {} is degraded", "nodes", "a", "Node a is degraded"),
        ("Node {} is degraded", "nodes", "ab", "Nodes a and b are degraded"),
        ("Node {} is degraded", "nodes", "abcde", "Nodes a, b, c and 2 more are degraded"),
        (
            "Node {} has not become available after its restart",
            "nodes",
            "ab",
            "Nodes a and b have not become available after their restart",
        ),
        (
            "Node {} has drained for longer than nodes do",
            "nodes",
            "ab",
            "Nodes a and b have drained for longer than nodes do",
        ),
        ("Not ready", "nodes", "a", "Node a: Not ready"),
        ("Not ready", "nodes", "ab", "Nodes a and b: Not ready"),
        (
            "Cluster Operator {} is unavailable (Gone)",
            "clusteroperators",
            "ab",
            "Cluster Operators a and b are unavailable (Gone)",
        ),
        (
            "Cluster Operator {} does not say whether it is available",
            "clusteroperators",
            "ab",
            "Cluster Operators a and b do not say whether they are available",
        ),
        ("Pool {} is degraded", "machineconfigpools", "a", "Pool a is degraded"),
    ],
)
def test_several_are_told_in_one_sentence(summary: str, kind: str, names: str, told: str) -> None:
    (group,) = alike(of(name, summary, kind=kind) for name in names)
    assert group.summary == told


def test_the_reason_names_no_object_and_what_to_do_names_all() -> None:
    (group,) = alike(of(name, "Node {} is degraded", "disk of {} is full\nmore", "See node {}.") for name in ("a", "b"))
    assert (group.reason, group.description) == ("disk of <node> is full", "disk of <node> is full\nmore")
    assert group.remedy == "See nodes a and b."


@pytest.mark.parametrize(
    "other",
    [
        of("b", "Node {} is degraded", "no disk"),
        of("b", "Node {} is unavailable", "full"),
        of("b", "Node {} is degraded", "full", kind="pods"),
        of("a", "Node {} is degraded", "full"),
        structs.replace(of("b", "Node {} is degraded", "full"), level=Level.WARNING),
        structs.replace(of("b", "Node {} is degraded", "full"), pool="infra"),
        structs.replace(of("b", "Node {} is degraded", "full"), follows=Reference("", "nodes", "b")),
    ],
)
def test_what_differs_otherwise_stays_apart(other: Insight) -> None:
    first = of("a", "Node {} is degraded", "full")
    assert [group.insights for group in alike((first, other))] == [(first,), (other,)]


def test_a_name_is_a_whole_word() -> None:
    """worker-1 is no part of worker-10."""
    group, other = alike(of(name, "Node {} is degraded", "worker-1 holds it") for name in ("worker-1", "worker-10"))
    assert (group.summary, other.summary) == ("Node worker-1 is degraded", "Node worker-10 is degraded")
    assert other.description == "worker-1 holds it"
