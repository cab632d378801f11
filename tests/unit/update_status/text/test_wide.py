"""The report in full."""

import re

import pytest
from msgspec import structs

from windlass.update_status.as_tree import tree
from windlass.update_status.report import (
    Cause,
    CauseKind,
    Estimate,
    Health,
    Level,
    Phase,
    Reference,
    Report,
    State,
    Versions,
)
from windlass.update_status.text.wide import render_wide
from windlass.update_status.times import HOUR, MINUTE, SECOND, Moment

from .reports import NOW, PENDING, START, UPDATED, control_plane, insight, lines, node, operator, pool, report


def wide(found: Report, now: Moment = NOW) -> str:
    return render_wide(found, now=now)


def section(found: Report, title: str) -> str:
    """The text of one section, without its title."""
    texts = {text.partition("\n")[0]: text.partition("\n")[2] for text in wide(found).rstrip("\n").split("\n\n")}
    return texts[f"= {title} ="] + "\n"


def test_an_update_in_full() -> None:
    plane = control_plane(
        UPDATED,
        operator("etcd", State.PROGRESSING, since=NOW - MINUTE, reason="NodeInstaller", message="1 of 3\nsecond line"),
        operator("dns", State.UNKNOWN, health=Health.UNAVAILABLE, why=("NoPods", "no\tPods")),
        PENDING,
        operator("auth", State.PENDING, health=Health.DEGRADED),
        last_progress=START + MINUTE,
    )
    plane = structs.replace(plane, message="Working towards 4.16.1: 3 of 5 done\n(60% complete)")
    found = report(
        plane,
        pool(
            "worker",
            structs.replace(
                node("w-0", Phase.DRAINING, degraded="no PDB\nallows it"), since=NOW - HOUR, step="draining"
            ),
            node("w-1", Phase.UPDATED),
        ),
        pool("infra", node("i-0", Phase.PAUSED), node("i-1", Phase.UPDATING, unavailable="Not ready"), paused=True),
        pool("edge"),
        pool("master", structs.replace(node("m-0", unavailable="Not ready"), unavailable_since=NOW - 90 * SECOND)),
        unassigned=("lost-0",),
        insights=(
            insight(
                "Outdated nodes in a paused pool 'infra' will not be updated",
                started=None,
                resources=(Reference("machineconfiguration.openshift.io", "machineconfigpools", "infra"),),
            ),
            insight("Node w-0 is degraded", Level.ERROR, description="no PDB\nallows it"),
        ),
        gaps=("pools: machineconfigpools is forbidden: User x", "a gap without a reason"),
        alerts="Unable to fetch alerts, ignoring alerts in 'Update Health':  no token",
    )
    assert wide(found) == lines("""
        = Control Plane =
        Assessment:      Progressing
        Message:         Working towards 4.16.1: 3 of 5 done
                         (60% complete)
        Target Version:  4.16.1 (from 4.16.0)
        Updating:        etcd
        Unknown:         dns
        Completion:      20% (1 operators updated, 1 updating, 2 waiting, 1 unknown)
        Started:         2024-02-27T12:00:00Z
        Duration:        14m (Est. Time Remaining: 55m)
        Operator Health: 3 Healthy, 1 Unavailable, 1 Available but degraded

        = Updating Cluster Operators =
        NAME   STATE      SINCE   MESSAGE
        etcd   Updating   1m      NodeInstaller: 1 of 3
                                  second line
        dns    Unknown    14m     no message given

        = Unhealthy Cluster Operators =
        NAME   HEALTH        SINCE   MESSAGE
        dns    Unavailable   14m     NoPods: no\\tPods
        auth   Degraded      14m     no message given

        = Pools =
        POOL     ASSESSMENT   COMPLETION   STATUS
        master   Pending      0% (0/1)     0 Available, 0 Progressing, 0 Draining, 1 Pending
        worker   Degraded     50% (1/2)    2 Available, 0 Progressing, 1 Draining, 1 Degraded
        infra    Paused       0% (0/2)     1 Available, 1 Progressing, 0 Draining, 1 Paused on purpose
        edge     Empty                     0 Total

        = Nodes =
        NAME     POOL     ASSESSMENT    PHASE      STEP       SINCE   VERSION   EST   MESSAGE
        m-0      master   Unavailable   Pending    -          -       4.16.0    ?     Not ready (for 1m30s)
        w-0      worker   Degraded      Draining   draining   1h      4.16.0    ?     no PDB
                                                                                      allows it
        w-1      worker   Completed     Updated    -          -       4.16.1    -
        i-1      infra    Progressing   Updating   -          -       4.16.0    +5m   Not ready
        i-0      infra    Excluded      Paused     -          -       4.16.0    -
        lost-0   none     -             -          -          -       ?         -     no pool selects the node

        = Update Health =
        1 error, 1 intended
        SINCE   LEVEL      IMPACT           MESSAGE
        14m     Error      Update Stalled   Node w-0 is degraded
                                            no PDB
                                            allows it
                                            See: https://example.com/runbook
        -       Intended   Update Stalled   Outdated nodes in a paused pool 'infra' will not be updated
                                            What it is.
                                            See: https://example.com/runbook

        = Unknown =
        pools: unknown because machineconfigpools is forbidden: User x
        a gap without a reason
        Unable to fetch alerts, ignoring alerts in 'Update Health':  no token
    """)


def test_an_update_of_which_all_is_well() -> None:
    assert wide(report(control_plane(UPDATED, PENDING, last_progress=START + MINUTE))) == lines("""
        = Control Plane =
        Assessment:      Progressing
        Target Version:  4.16.1 (from 4.16.0)
        Completion:      50% (1 operators updated, 0 updating, 1 waiting)
        Started:         2024-02-27T12:00:00Z
        Duration:        14m (Est. Time Remaining: 55m)
        Operator Health: 2 Healthy

        = Update Health =
        Update is proceeding well
    """)


def test_a_completed_control_plane_keeps_its_section() -> None:
    done = report(control_plane(UPDATED, updating="False", completed=START + 13 * MINUTE), pool("worker", node("w-0")))
    assert section(done, "Control Plane") == lines("""
        Assessment:      Completed
        Target Version:  4.16.1 (from 4.16.0)
        Completion:      100% (1 operators updated, 0 updating, 0 waiting)
        Started:         2024-02-27T12:00:00Z
        Completed:       2024-02-27T12:13:00Z
        Duration:        13m
        Operator Health: 1 Healthy
    """)


def test_operators_can_be_updated_before_cluster_version_says_so() -> None:
    text = section(report(control_plane(UPDATED)), "Control Plane")
    assert "Completed:       not yet: all operators are updated, ClusterVersion is not\n" in text


def test_an_update_whose_end_is_not_recorded_is_not_said_to_go_on() -> None:
    found = report(control_plane(UPDATED, updating="False"), pool("worker", node("w-0")))
    assert "Completed:" not in section(found, "Control Plane")


def test_a_rollback_is_called_one() -> None:
    plane = control_plane(PENDING, versions=Versions(target="4.16.0", previous="4.16.1"))
    assert "Target Version:  4.16.0 (from 4.16.1), a rollback\n" in wide(report(plane))


def test_updates_that_were_never_completed_are_listed() -> None:
    versions = Versions(
        target="4.16.3", previous="4.16.2", incomplete=True, unfinished=("4.16.2", "4.16.1"), completed="4.16.0"
    )
    text = section(report(control_plane(PENDING, versions=versions)), "Control Plane")
    assert "Target Version:  4.16.3 (from incomplete 4.16.2)\n" in text
    assert "History:         4.16.0 > 4.16.1 (never completed) > 4.16.2 (never completed) > 4.16.3\n" in text
    never = structs.replace(versions, unfinished=("4.16.2",), completed=None)
    text = section(report(control_plane(PENDING, versions=never)), "Control Plane")
    assert "History:         unknown > 4.16.2 (never completed) > 4.16.3\n" in text


def test_a_degraded_node_comes_before_the_nodes_that_wait() -> None:
    found = report(None, pool("worker", node("w-0", degraded="x"), node("w-1")))
    assert "worker   Degraded     0% (0/2)" in section(found, "Pools")


def test_a_paused_pool_says_so_even_if_no_node_waits() -> None:
    found = report(None, pool("edge", paused=True), pool("worker", node("w-0", Phase.UPDATED), paused=True))
    text = section(found, "Pools")
    assert "edge     Empty                     0 Total, the pool is paused\n" in text
    assert "worker   Completed    100% (1/1)   1 Available, 0 Progressing, 0 Draining, the pool is paused\n" in text


def test_all_nodes_are_shown() -> None:
    found = report(None, pool("worker", *(node(f"w-{number:03}") for number in range(100))))
    assert section(found, "Nodes").count("\n") == 101


def test_all_reasons_of_a_node_are_shown() -> None:
    found = report(None, pool("worker", node("w-0", degraded="", unavailable="Node is marked unschedulable")))
    assert section(found, "Nodes") == lines("""
        NAME   POOL     ASSESSMENT   PHASE     STEP   SINCE   VERSION   EST   MESSAGE
        w-0    worker   Degraded     Pending   -      -       4.16.0    ?     degraded, no reason given
                                                                              Node is marked unschedulable
    """)


def test_incomplete_insights_are_shown() -> None:
    found = report(insights=(insight("Node w-0 is degraded", description="", reference=""), insight("", Level.INFO)))
    assert section(found, "Update Health") == lines("""
        1 warning, 1 info
        SINCE   LEVEL     IMPACT           MESSAGE
        14m     Warning   Update Stalled   Node w-0 is degraded
                                           no description given
        14m     Info      Update Stalled   no summary given
                                           What it is.
                                           See: https://example.com/runbook
    """)


def test_a_degraded_node_is_dated_by_its_machine_config_node() -> None:
    nodes = [
        structs.replace(node(f"w-{number}", degraded="x"), degraded_since=NOW - number * MINUTE if number else None)
        for number in range(3)
    ]
    found = report(
        None,
        pool("worker", *nodes),
        insights=tuple(
            insight(f"{name} is degraded", started=None, resources=(Reference("", "nodes", name),))
            for name in ("w-0", "w-2", "w-1", "gone")
        ),
    )
    words = [line.split() for line in section(found, "Update Health").split("\n") if "is degraded" in line]
    assert [(row[0], row[4]) for row in words] == [("1m", "w-1"), ("2m", "w-2"), ("-", "w-0"), ("-", "gone")]


def test_what_an_insight_is_about_is_named_unless_its_summary_does() -> None:
    found = report(
        insights=(
            insight(
                "Alert is firing: Down",
                resources=(
                    Reference("config.openshift.io", "alerts", "Down", "openshift-dns"),
                    Reference("", "nodes", "w-0"),
                    Reference("", "nodes", "Alert"),
                ),
            ),
            insight("Another thing"),
        )
    )
    text = section(found, "Update Health")
    assert text.startswith("2 warnings\n")
    assert text.count("About: ") == 1
    assert "About: alerts openshift-dns/Down, nodes w-0\n" in text


@pytest.mark.parametrize(
    "resources",
    [
        (),
        (Reference("", "machineconfigpools", "infra"), Reference("", "nodes", "i-0")),
        (Reference("", "machineconfigpools", "worker"),),
        (Reference("", "nodes", "infra"),),
    ],
)
def test_only_an_insight_into_paused_pools_alone_is_intended(resources: tuple[Reference, ...]) -> None:
    found = report(None, pool("infra", node("i-0"), paused=True), insights=(insight("x", resources=resources),))
    assert section(found, "Update Health").startswith("1 warning\n")


NODE = Reference("", "nodes", "w-0")
ETCD = Reference("config.openshift.io", "clusteroperators", "etcd")
HELD = Cause(
    kind=CauseKind.BUDGET,
    level=Level.ERROR,
    summary="PodDisruptionBudget shop/shop does not allow it",
    description="1 of 1 Pods are healthy.",
    remedy="Run more Pods.",
    started=NOW - 5 * MINUTE,
    about=(Reference("policy", "poddisruptionbudgets", "shop", "shop"),),
    affected=(NODE, Reference("", "nodes", "w-1"), ETCD),
)
PAUSE = structs.replace(
    HELD, kind=CauseKind.PAUSE, level=Level.INFO, summary="Paused", description="", started=None, about=(), affected=()
)


def test_symptoms_stand_under_their_cause_and_nowhere_else() -> None:
    alert = structs.replace(insight("Alert is firing: etcd", started=None), follows=ETCD)
    found = structs.replace(
        report(
            insights=(
                insight("Node w-0 is degraded", Level.ERROR, resources=(NODE,), description="no\nspace"),
                insight("Another thing"),
                alert,
            )
        ),
        causes=(structs.replace(PAUSE, first_seen=NOW - MINUTE), HELD),
    )
    assert section(found, "Causes") == lines("""
        SINCE   LEVEL      CAUSE                 MESSAGE
        5m      Error      PodDisruptionBudget   PodDisruptionBudget shop/shop does not allow it
                                                 1 of 1 Pods are healthy.
                                                 To do: Run more Pods.
                                                 Waiting: nodes w-0, w-1; clusteroperators etcd
                                                 - Error, Update Stalled, since 14m: Node w-0 is degraded
                                                   no
                                                   space
                                                   See: https://example.com/runbook
                                                 - Warning, Update Stalled, since -: Alert is firing: etcd
                                                   What it is.
                                                   See: https://example.com/runbook
        1m      Intended   Pause                 Paused
                                                 To do: Run more Pods.
    """)
    assert section(found, "Update Health").startswith("1 warning\n")
    alone = structs.replace(found, insights=found.insights[:1])
    assert section(alone, "Update Health") == "All of it is told with its causes, above\n"


def test_an_alert_stands_under_the_operator_that_it_follows() -> None:
    alert = structs.replace(insight("Alert is firing: etcd", Level.CRITICAL), follows=ETCD)
    found = report(insights=(alert, insight("Cluster Operator etcd is degraded", resources=(ETCD,))))
    assert section(found, "Update Health") == lines("""
        1 warning
        SINCE   LEVEL     IMPACT           MESSAGE
        14m     Warning   Update Stalled   Cluster Operator etcd is degraded
                                           What it is.
                                           See: https://example.com/runbook
                                           - Critical, Update Stalled, since 14m: Alert is firing: etcd
                                             What it is.
                                             See: https://example.com/runbook
    """)
    assert "Critical" in section(report(insights=(alert,)), "Update Health")


def test_programs_are_told_the_causes_and_what_an_insight_follows() -> None:
    alert = structs.replace(insight("Alert is firing: etcd"), follows=ETCD)
    said = tree(structs.replace(report(insights=(alert,)), causes=(HELD,)), now=NOW)
    etcd = {"group": "config.openshift.io", "resource": "clusteroperators", "namespace": "", "name": "etcd"}
    assert said["insights"][0]["follows"] == etcd
    (cause,) = said["causes"]
    assert (cause["type"], cause["level"], cause["started"]) == ("PodDisruptionBudget", "Error", "2024-02-27T12:09:00Z")
    assert cause["affected"][2] == etcd


def test_a_start_in_the_future_is_now() -> None:
    found = report(insights=(insight("x", started=NOW + HOUR),))
    assert "\nnow     Warning " in wide(found)
    assert "Duration:        now (" in wide(found, START - MINUTE)


def test_a_cluster_that_is_not_updating_or_is_not_known_to() -> None:
    idle = report(control_plane(UPDATED, updating="False"))
    assert wide(idle) == "The cluster is not updating.\n"
    assert wide(structs.replace(idle, gaps=("pools and nodes: forbidden",))) == lines("""
        The cluster is not updating.

        = Unknown =
        pools and nodes: unknown because forbidden
    """)


SOON = Estimate(
    earliest=NOW + 20 * MINUTE, middle=NOW + 30 * MINUTE, latest=NOW + 95 * MINUTE, basis="4 nodes, 1 at a time"
)


def test_expected_ends_are_ranges_with_what_they_are_estimated_from() -> None:
    known = structs.replace(pool("worker", node("w-0")), expected=SOON)
    plane = structs.replace(control_plane(PENDING), expected=SOON)
    found = report(plane, known, pool("infra", node("i-0", Phase.PAUSED), paused=True))
    end = "in 20m to 1h35m, between 2024-02-27T12:34:00Z and 2024-02-27T13:49:00Z (4 nodes, 1 at a time)"
    assert f"Expected End:    {end}\n" in section(found, "Control Plane")
    rows = section(found, "Pools").splitlines()
    assert [row[row.index("LEFT") if "LEFT" in row else rows[0].index("LEFT") :] for row in rows] == [
        "LEFT           ESTIMATED FROM",
        "20m to 1h35m   4 nodes, 1 at a time",
        "-",
    ]


@pytest.mark.parametrize(("later", "left"), [(0, "20m to 1h35m"), (20 * MINUTE, "1m to 1h15m"), (HOUR * 3, "1m")])
def test_what_is_left_is_counted_from_the_present(later: int, left: str) -> None:
    found = report(None, structs.replace(pool("worker", node("w-0")), expected=SOON))
    assert re.search(f" {left} +4 nodes", wide(found, NOW + later))


@pytest.mark.parametrize(
    ("phase", "paused", "status"),
    [
        (Phase.PENDING, False, "2 Available, 1 Progressing, 1 Draining, 1 not managed yet"),
        (Phase.PAUSED, True, "2 Available, 1 Progressing, 1 Draining, the pool is paused, 1 not managed yet"),
    ],
)
def test_nodes_that_nobody_manages_yet_are_told_apart(phase: Phase, paused: bool, status: str) -> None:
    joined = structs.replace(node("w-2", phase, unavailable="no daemon"), managed=False)
    workers = pool("worker", node("w-0", Phase.DRAINING), node("w-1", Phase.UPDATED), joined, paused=paused)
    found = report(control_plane(PENDING), workers)
    pools, nodes = (section(found, title).splitlines() for title in ("Pools", "Nodes"))
    assert "50% (1/2)" in pools[1]
    assert status in pools[1]
    assert "not managed" in next(line for line in nodes if line.startswith("w-2"))
    (as_json,) = tree(found, now=NOW)["pools"]
    assert as_json["summary"]["unmanaged"] == 1
    assert [one["managed"] for one in as_json["nodes"]] == [True, True, False]


# What `oc` does not know.

OWN = structs.replace(insight("Pool worker makes no progress", Level.ERROR, reference=""), remedy="See its nodes.")


def test_an_insight_that_oc_does_not_have_says_what_to_do() -> None:
    assert section(report(insights=(OWN,)), "Update Health") == lines("""
        1 error
        SINCE   LEVEL   IMPACT           MESSAGE
        14m     Error   Update Stalled   Pool worker makes no progress
                                         What it is.
                                         To do: See its nodes.
    """)


def test_a_cluster_at_rest_tells_what_the_next_update_would_meet_and_no_insight_of_oc() -> None:
    idle = report(control_plane(UPDATED, updating="False"), insights=(insight("Node a is not ready"), OWN))
    text = wide(idle)
    assert text.startswith("The cluster is not updating.\n\n= Update Health =\n1 error\n")
    assert "Pool worker makes no progress" in text
    assert "Node a is not ready" not in text
    assert wide(structs.replace(idle, insights=())) == "The cluster is not updating.\n"


def test_nodes_of_windows_are_in_no_pool() -> None:
    windows = structs.replace(node("win-0", unavailable="Not ready"), managed=False, windows=True)
    found = report(None, pool("worker", node("w-0", Phase.UPDATED), windows))
    assert section(found, "Pools") == lines("""
        POOL     ASSESSMENT   COMPLETION   STATUS
        worker   Completed    100% (1/1)   1 Available, 0 Progressing, 0 Draining
    """)
    assert "not managed" not in wide(found)
    assert re.search(r"^win-0 +none .*Windows: no pool has the node$", section(found, "Nodes"), re.MULTILINE)
    assert [one["name"] for one in tree(found, now=NOW)["pools"][0]["nodes"]] == ["w-0"]
    assert tree(found, now=NOW)["unassignedNodes"] == ["win-0"]


def test_the_pool_arbiter_stands_with_the_control_plane() -> None:
    found = report(None, pool("infra"), pool("arbiter"), pool("master"), pool("worker"))
    names = [line.split()[0] for line in section(found, "Pools").splitlines()[1:]]
    assert names == ["master", "arbiter", "infra", "worker"]


def test_a_single_node_is_told_plainly() -> None:
    alone = report(None, pool("master", node("m-0")), pool("worker"))
    assert "Topology:        a single node: nothing of the cluster answers while it restarts\n" in wide(alone)
    others = (
        report(None, pool("master", node("m-0"), node("m-1")), pool("worker")),
        report(None, pool("master", node("m-0")), pool("worker", node("w-0"))),
        report(None, pool("master"), pool("worker", node("w-0"))),
        structs.replace(alone, unassigned=("lost",)),
    )
    for found in others:
        assert "Topology" not in wide(found)


def test_another_image_of_the_same_version_is_no_migration_where_the_architecture_is_known() -> None:
    versions = Versions(target="4.16.1", previous="4.16.1", multi_arch=True)
    for same, text in ((False, "4.16.1 to Multi-Architecture"), (True, "4.16.1, another image of the same version")):
        found = report(control_plane(UPDATED, PENDING, versions=structs.replace(versions, same_arch=same)))
        assert f"Target Version:  {text}\n" in wide(found)
        assert tree(found, now=NOW)["controlPlane"]["versions"]["multiArch"] is not same


def test_a_pool_that_says_it_is_degraded_is_degraded() -> None:
    found = report(None, structs.replace(pool("worker", node("w-0")), degraded=True))
    assert "worker   Degraded" in section(found, "Pools")
    assert tree(found, now=NOW)["pools"][0]["assessment"] == "Degraded"
