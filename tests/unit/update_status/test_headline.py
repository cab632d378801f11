"""What is so, in a sentence: one situation of a cluster each, as its objects are read."""

from typing import Any

import pytest
from hypothesis import given
from msgspec import structs

from tests.unit.update_status.assessment.objects import (
    BEGUN,
    INSTALLED,
    MASTER,
    PREVIOUS,
    TARGET,
    UPDATED_BEFORE,
    WORKER,
    after,
    bad,
    build,
    cluster_version,
    having,
    item,
    node,
    operator,
    pool,
    said,
    sources,
    true,
)
from tests.unit.update_status.drawn import NOW as DRAWN_NOW
from tests.unit.update_status.drawn import Troubled, clusters, troubled_clusters
from windlass.api.config import ClusterVersionSpec, DesiredUpdate, Release
from windlass.update_status.assessment import assess
from windlass.update_status.document import read, write
from windlass.update_status.headline import Headline, Tone, headline
from windlass.update_status.sources import Sources, Unknown

BUSY, CALM, WARN, BAD = Tone.BUSY, Tone.CALM, Tone.WARN, Tone.BAD
NOW = after(30)
DONE = item(TARGET, started=0, completed=20)
AT_REST = (said("Progressing", "False"), said("Failing", "False"))
UPDATED = cluster_version(*AT_REST, history=(DONE, UPDATED_BEFORE, INSTALLED))
RESTING = cluster_version(*AT_REST, history=(UPDATED_BEFORE, INSTALLED), desired=PREVIOUS)
MASTERS = tuple(node(f"m{n}", current="new", desired="new", roles=("master",)) for n in range(3))
OLD_MASTERS = tuple(node(f"m{n}", roles=("master",)) for n in range(3))
WAITING = tuple(node(f"w{n}") for n in range(3))
RENDER = having(WORKER, true("RenderDegraded", message="unknown version"), true("Degraded"))
PAUSED = pool("worker", paused=True)
REBOOTING: dict[str, Any] = {"desired": "new", "state": "Rebooting", "unschedulable": True}
HALF = (operator("dns"), operator("etcd"), operator("network", version=PREVIOUS), operator("ingress", version=PREVIOUS))
EARLY = tuple(
    structs.replace(
        one,
        status=structs.replace(
            one.status,
            conditions=[said("Progressing", "False", -150), said("Available", "True"), said("Degraded", "False")],
        ),
    )
    for one in HALF
)
"""The last change of an operator was 150 minutes before START."""


def asked(found: Any, *conditions: Any) -> Any:
    """The same ClusterVersion while somebody asks for 4.17.0."""
    status = structs.replace(found.status, conditions=[*found.status.conditions, *conditions])
    status = structs.replace(status, desired=Release(version=PREVIOUS))
    return structs.replace(
        found, spec=ClusterVersionSpec(desired_update=DesiredUpdate(version="4.17.0")), status=status
    )


def of(*operators: Any, **found: Any) -> Sources:
    return sources(*(operators or (operator("dns"),)), **found)


def degraded(name: str, why: str = "disk of {} is full") -> Any:
    return node(name, state="Degraded", reason=why.format(name))


REFUSED = said("ReleaseAccepted", "False", 5, reason="RetrievePayload", message="The update cannot be verified")

CASES: dict[str, tuple[Sources, str, str, Tone]] = {
    "nothing": (
        of(operator("dns", version=PREVIOUS), version=RESTING),
        "Not updating: 4.15.0 runs",
        "",
        CALM,
    ),
    "completed": (of(version=UPDATED, nodes=MASTERS), "Not updating: 4.16.0 runs", "", CALM),
    "no history": (
        of(version=cluster_version(*AT_REST, history=())),
        "Not updating: an unknown version",
        "Empty history in ClusterVersion",
        WARN,
    ),
    "refused": (
        of(operator("dns", version=PREVIOUS), version=asked(RESTING, REFUSED)),
        "The update to 4.17.0 was refused",
        "The update cannot be verified",
        BAD,
    ),
    "asked for": (
        of(operator("dns", version=PREVIOUS), version=asked(RESTING)),
        "The update to 4.17.0 was asked for, and is not accepted yet",
        "",
        BUSY,
    ),
    "render-degraded at rest": (
        of(version=UPDATED, nodes=MASTERS, pools=(MASTER, RENDER)),
        "Not updating, 4.16.0 runs",
        "Pool worker cannot render its configuration: unknown version",
        BAD,
    ),
    "cannot reconcile": (
        of(
            version=cluster_version(
                said("Progressing", "False", message="Error while reconciling 4.16.0: dns is not available"),
                said("Failing", "True"),
                history=(DONE, UPDATED_BEFORE, INSTALLED),
            )
        ),
        "Not updating, and 4.16.0 is failing",
        "Error while reconciling 4.16.0: dns is not available",
        BAD,
    ),
    "unknown": (
        of(version=cluster_version(said("Progressing", "Unknown", message="lost"), said("Failing", "False"))),
        "Whether the cluster is updating is not known",
        "lost",
        WARN,
    ),
    "partial and at rest": (
        of(version=cluster_version(*AT_REST)),
        "Not updating: 4.16.0",
        "Progressing=False in ClusterVersion but last history item is not completed",
        WARN,
    ),
    "nodes may not be read": (
        structs.replace(of(version=UPDATED), pools=Unknown("forbidden")),
        "The control plane is not updating: 4.16.0 runs; its nodes could not be read",
        "",
        WARN,
    ),
    "operators": (of(*HALF), "Updating to 4.16.0: 2 of 4 operators updated", "", BUSY),
    "after one that was never completed": (
        of(*HALF, version=cluster_version(history=(BEGUN, item(PREVIOUS, state="Partial", started=-9), INSTALLED))),
        "Updating to 4.16.0: 2 of 4 operators updated",
        "",
        BUSY,
    ),
    "control plane nodes": (
        of(*HALF, nodes=(*MASTERS[:1], *OLD_MASTERS[1:])),
        "Updating to 4.16.0: 2 of 4 operators updated, 1 of 3 control plane nodes",
        "",
        BUSY,
    ),
    "arbiter": (
        of(*HALF, pools=(MASTER, pool("arbiter")), nodes=(*MASTERS[:2], node("a", roles=("arbiter",)))),
        "Updating to 4.16.0: 2 of 4 operators updated, 2 of 3 control plane nodes",
        "",
        BUSY,
    ),
    "single node": (
        of(*HALF, nodes=(node("m", roles=("master",), **REBOOTING),)),
        "Updating to 4.16.0: 2 of 4 operators updated; its only node is being updated, and nothing answers while it "
        "restarts",
        "",
        BUSY,
    ),
    "paused control plane": (
        of(*HALF, pools=(pool("master", paused=True), WORKER), nodes=OLD_MASTERS),
        "Updating to 4.16.0: 2 of 4 operators updated; pool master is paused, 3 nodes wait",
        "",
        BUSY,
    ),
    "installation": (
        of(*HALF, version=cluster_version(history=(BEGUN,))),
        "Installing 4.16.0: 2 of 4 operators updated",
        "",
        BUSY,
    ),
    "rollback": (
        of(*HALF, version=cluster_version(history=(BEGUN, item("4.17.0", started=-9, completed=-5), INSTALLED))),
        "Rolling back to 4.16.0: 2 of 4 operators updated",
        "",
        BUSY,
    ),
    "failing": (
        of(
            *HALF,
            version=cluster_version(
                said("Progressing", "True"),
                said("Failing", "True", reason="ClusterOperatorNotAvailable", message="Operator dns is not available"),
            ),
        ),
        "The update to 4.16.0 is failing",
        "Operator dns is not available",
        BAD,
    ),
    "failing, and more": (
        of(
            *HALF,
            pools=(MASTER, RENDER),
            nodes=WAITING,
            version=cluster_version(said("Progressing", "True"), said("Failing", "True", message="disk is full")),
        ),
        "The update to 4.16.0 is failing",
        "disk is full (and 1 more error)",
        BAD,
    ),
    "failing installation": (
        of(
            *HALF,
            version=cluster_version(
                said("Progressing", "True"),
                said("Failing", "True", message="Operator dns is not available"),
                history=(BEGUN,),
            ),
        ),
        "The installation of 4.16.0 is failing",
        "Operator dns is not available",
        BAD,
    ),
    "slow operator": (
        of(
            *HALF,
            version=cluster_version(
                said("Progressing", "True"),
                said("Failing", "Unknown", reason="SlowClusterOperator", message="waiting on dns over 30 minutes"),
            ),
        ),
        "Updating to 4.16.0: 2 of 4 operators updated",
        "waiting on dns over 30 minutes",
        WARN,
    ),
    "far behind": (
        of(
            *EARLY,
            version=cluster_version(history=(item(TARGET, state="Partial", started=-200), UPDATED_BEFORE, INSTALLED)),
        ),
        "The update to 4.16.0 is far behind: 2 of 4 operators updated",
        "",
        BAD,
    ),
    "operator down": (
        of(*HALF[1:], operator("dns", said("Available", "False", 0, reason="Gone", message="no Pod answers"))),
        "Updating to 4.16.0: 2 of 4 operators updated",
        "Cluster Operator dns is unavailable (Gone): no Pod answers",
        BAD,
    ),
    "workers": (
        of(version=UPDATED, nodes=(*MASTERS, *WAITING[1:], node("w0", current="new", desired="new"))),
        "Control plane updated to 4.16.0; pool worker: 1 of 3 nodes updated",
        "",
        BUSY,
    ),
    "joining node": (
        of(version=UPDATED, nodes=(*MASTERS, *WAITING, node("w9", current=None, desired=None, state=None))),
        "Control plane updated to 4.16.0; pool worker: 0 of 3 nodes updated",
        "",
        BUSY,
    ),
    "only a joining node": (
        of(version=UPDATED, nodes=(*MASTERS, node("w9", current=None, desired=None, state=None))),
        "Not updating: 4.16.0 runs",
        "",
        CALM,
    ),
    "Windows": (
        of(
            version=UPDATED,
            nodes=(
                *MASTERS,
                structs.replace(
                    (bare := node("win", current=None, desired=None, state=None)),
                    metadata=structs.replace(
                        bare.metadata, labels={**bare.metadata.labels, "kubernetes.io/os": "windows"}
                    ),
                ),
            ),
        ),
        "Not updating: 4.16.0 runs",
        "",
        CALM,
    ),
    "paused": (
        of(version=UPDATED, pools=(MASTER, PAUSED), nodes=(*MASTERS, *WAITING)),
        "Control plane updated to 4.16.0; pool worker is paused, 3 nodes wait",
        "",
        CALM,
    ),
    "one paused, one not": (
        of(
            version=UPDATED,
            pools=(MASTER, PAUSED, pool("infra")),
            nodes=(*MASTERS, WAITING[0], node("i0", roles=("infra",))),
        ),
        "Control plane updated to 4.16.0; pool infra: 0 of 1 nodes updated; pool worker is paused, 1 node waits",
        "",
        BUSY,
    ),
    "paused and render-degraded": (
        of(
            version=UPDATED,
            pools=(MASTER, having(PAUSED, true("RenderDegraded", message="unknown version"))),
            nodes=(*MASTERS, *WAITING),
        ),
        "Control plane updated to 4.16.0; pool worker stands still, 3 nodes wait",
        "Pool worker cannot render its configuration: unknown version",
        BAD,
    ),
    "three pools": (
        of(
            version=UPDATED,
            pools=(MASTER, WORKER, pool("a"), pool("b"), pool("c")),
            nodes=(*MASTERS, *WAITING, *(node(name, roles=(name,)) for name in "abc")),
        ),
        "Control plane updated to 4.16.0; pool worker: 0 of 3 nodes updated; pool a: 0 of 1 nodes updated; "
        "2 more pools to go",
        "",
        BUSY,
    ),
    "render-degraded": (
        of(version=UPDATED, pools=(MASTER, RENDER), nodes=(*MASTERS, *WAITING)),
        "Control plane updated to 4.16.0; pool worker stands still, 3 nodes wait",
        "Pool worker cannot render its configuration: unknown version",
        BAD,
    ),
    "image build failed": (
        structs.replace(
            of(version=UPDATED, nodes=(*MASTERS, *WAITING)), builds=(build("Failed", message="no space left"),)
        ),
        "Control plane updated to 4.16.0; pool worker stands still, 3 nodes wait",
        "The OS image of pool worker failed to build (MachineOSBuild worker-1): no space left",
        BAD,
    ),
    "stalled node": (
        of(version=UPDATED, nodes=(*MASTERS, *WAITING[1:], node("w0", bad("Ready", "False", 2), **REBOOTING))),
        "Control plane updated to 4.16.0; pool worker: 0 of 3 nodes updated",
        "Node w0 has not become available after its restart: It is rebooting. Not ready | Node is marked "
        "unschedulable.",
        BAD,
    ),
    "stalled pool": (
        of(
            version=cluster_version(*AT_REST, history=(item(TARGET, started=-400, completed=-300), UPDATED_BEFORE)),
            nodes=(*MASTERS, *WAITING),
            pools=(MASTER, having(WORKER, said("Updating", "True", -299))),
        ),
        "Control plane updated to 4.16.0; pool worker stands still, 3 nodes wait",
        "Pool worker makes no progress: No node of it is being updated. Waiting: w0, w1 and w2.",
        BAD,
    ),
    "degraded nodes": (
        of(version=UPDATED, nodes=(*MASTERS, degraded("w0"), degraded("w1"), degraded("w2"), *(node("w3"),))),
        "Control plane updated to 4.16.0; pool worker: 0 of 4 nodes updated",
        "Nodes w0, w1 and w2 are degraded: disk of <node> is full",
        BAD,
    ),
    "several troubles": (
        of(
            operator("dns", said("Available", "False", 27, reason="Gone", message="gone")),
            version=UPDATED,
            pools=(MASTER, RENDER),
            nodes=(*MASTERS, degraded("w0"), *WAITING[1:]),
        ),
        "Control plane updated to 4.16.0; pool worker stands still, 3 nodes wait",
        "Pool worker cannot render its configuration: unknown version (and 1 more error)",
        BAD,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_headline_says_what_is_so_and_the_worst_trouble(name: str) -> None:
    found, text, why, tone = CASES[name]
    report = assess(found, now=NOW)
    assert headline(report, now=NOW) == Headline(text=text, why=why, tone=tone)


@pytest.mark.parametrize("name", CASES)
def test_the_object_gives_the_same_headline(name: str) -> None:
    found, text, why, tone = CASES[name]
    kept = read(write(assess(found, now=NOW), now=NOW), now=NOW)
    assert headline(kept, now=NOW) == Headline(text=text, why=why, tone=tone)


def test_an_update_that_is_a_little_late_is_worth_a_warning() -> None:
    history = (item(TARGET, state="Partial", started=-200), UPDATED_BEFORE, INSTALLED)
    report = assess(of(*EARLY, version=cluster_version(history=history)), now=NOW)
    shown = [headline(report, now=after(minutes)) for minutes in range(-150, 30)]
    assert [*dict.fromkeys((one.text, one.tone) for one in shown)] == [
        ("Updating to 4.16.0: 2 of 4 operators updated", BUSY),
        ("Updating to 4.16.0: 2 of 4 operators updated, later than estimated", WARN),
        ("The update to 4.16.0 is far behind: 2 of 4 operators updated", BAD),
    ]


@pytest.mark.slow
@given(troubled_clusters())
def test_no_headline_keeps_quiet_about_a_trouble(found: Troubled) -> None:
    shown = headline(assess(found.sources, now=DRAWN_NOW), now=DRAWN_NOW)
    assert shown.tone is BAD


@given(clusters())
def test_no_headline_has_a_word_of_the_inside(found: Sources) -> None:
    shown = headline(assess(found, now=DRAWN_NOW), now=DRAWN_NOW)
    assert not {"Excluded", "AsExpected", "None", "Outdated"} & set(
        shown.text.replace(";", " ").replace(":", " ").split()
    )
