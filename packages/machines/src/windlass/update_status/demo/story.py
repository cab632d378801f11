"""The steps of the demo: each has a command, an action, and an expected result.

A cluster is updated, and what can go wrong does: an operator degrades, somebody has paused a pool, a drain hangs. After
each step the demo shows the text that a user sees then. It is drawn from the UpdateStatus alone.
"""

import json
from typing import Final, TypeAlias

from windlass.demo import story
from windlass.update_status.demo import expectations as expect
from windlass.update_status.demo.scene import Scene
from windlass.update_status.demo.stage import PodDisruptionBudget, Stage

Moment: TypeAlias = story.Moment[Scene]
Step: TypeAlias = story.Step[Stage, Scene]

_STATUS: Final = "windlass status"
_SHAKEN: Final = 'DaemonSet "/openshift-ovn-kubernetes/ovnkube-node" rollout is not making progress'


async def _install(stage: Stage, _: Moment) -> None:
    await stage.apply("namespace.yaml")
    await stage.cluster.install()


async def _update(stage: Stage, _: Moment) -> None:
    await stage.cluster.cvo.start(expect.TARGET)
    for name in ("etcd", "kube-apiserver"):
        await stage.cluster.update(name)
    await stage.cluster.cvo.progress(expect.SICK)


async def _degrade(stage: Stage, _: Moment) -> None:
    await stage.cluster.cvo.degrade(expect.SICK, reason="RolloutHung", message=_SHAKEN)
    await stage.cluster.cvo.give_up()


async def _recover(stage: Stage, _: Moment) -> None:
    await stage.cluster.cvo.finish(expect.SICK)
    await stage.cluster.update("monitoring")


async def _pause_and_roll(stage: Stage, _: Moment) -> None:
    await stage.protect_a_pod()
    await stage.cluster.mco.pause(expect.PAUSED_POOL)
    begin, roll = stage.cluster.healthy_update(expect.TARGET)[-2:]
    await begin.play()
    stage.play(roll.play())


def _pause_command(paused: bool) -> str:
    body = json.dumps({"spec": {"paused": paused}}, separators=(",", ":"))
    return f"kubectl patch machineconfigpool/{expect.PAUSED_POOL} --type=merge -p '{body}'"


STORY = (
    Step(
        "Start a control plane with the CRDs that an OpenShift cluster has, and those of Update status",
        ("windlass dev up --crds", "kubectl apply -k deploy/update-status/crds"),
        act=lambda stage, _: stage.start_control_plane(),
        expect=expect.kinds_are_served,
    ),
    Step(
        "Describe a cluster; its operators and Nodes are played",
        ("kubectl apply -f namespace.yaml",),
        act=_install,
        expect=expect.cluster_rests,
    ),
    Step(
        "Run Windlass under its own ServiceAccount",
        ("kubectl apply -f deploy/update-status/base/rbac.yaml", "windlass run update-status", _STATUS),
        act=lambda stage, _: stage.start_windlass(),
        expect=expect.windlass_reports_rest,
    ),
    Step(
        f"Update the cluster to {expect.TARGET}",
        (f"oc adm upgrade --to={expect.TARGET}", _STATUS),
        act=_update,
        expect=expect.operators_update("etcd", "kube-apiserver", working=expect.SICK),
    ),
    Step(
        f"Operator {expect.SICK} degrades, and the update waits for it",
        (_STATUS,),
        act=_degrade,
        expect=expect.operator_is_degraded,
    ),
    Step(
        "It recovers",
        (_STATUS,),
        act=_recover,
        expect=expect.operators_are_done,
    ),
    Step(
        "Pause the pool worker before the Nodes are updated, and protect a Pod on infra-0",
        (_pause_command(True), "kubectl apply -f shop.yaml", _STATUS),
        act=_pause_and_roll,
        expect=expect.pool_stands_still,
    ),
    Step(
        "The PodDisruptionBudget holds up the drain of infra-0; meanwhile the control plane is updated",
        (_STATUS,),
        expect=expect.drain_hangs,
        pictured=True,
    ),
    Step(
        "Remove the PodDisruptionBudget",
        ("kubectl -n shop delete poddisruptionbudget/shop", _STATUS),
        act=lambda stage, _: stage.delete(PodDisruptionBudget, "shop", namespace="shop"),
        expect=expect.drain_goes_on,
    ),
    Step(
        "Unpause the pool; the update ends, and its record stays",
        (_pause_command(False), _STATUS, f"{_STATUS} history 1"),
        act=lambda stage, _: stage.cluster.mco.pause(expect.PAUSED_POOL, paused=False),
        expect=expect.everything_is_updated,
    ),
)
