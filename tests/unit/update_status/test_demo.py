"""When a step of the demo of Update status counts as having come true: the story, played on a model of an API server.

There is no PodDisruptionBudget in the model: a finalizer holds the Pod on its Node.
"""

import asyncio
from collections.abc import Awaitable, Iterator
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import replace

from tests.unit.scenes import having
from tests.unit.update_status.controller.world import World
from windlass.api.core import Namespace
from windlass.api.meta import KubernetesObject
from windlass.api.update import UpdateStatus
from windlass.api.update_record import UpdateRecord
from windlass.demo.story import Moment, Observed
from windlass.kube.control.seen import Present, seen
from windlass.kube.verbs import PatchType
from windlass.testing.clock import VirtualLoop
from windlass.testing.updates import PlayedCluster
from windlass.testing.updates.drain import Pod
from windlass.update_status.demo import PAGE
from windlass.update_status.demo import expectations as expect
from windlass.update_status.demo.scene import LAYOUT, Scene
from windlass.update_status.demo.stage import Stage
from windlass.update_status.demo.story import STORY, Step
from windlass.update_status.times import of_datetime


class Rehearsal:
    """A stage without processes: the steps of the story act on it as on the real one."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._installed = self._runs = False
        self.played: list[asyncio.Future[None]] = []
        self.cluster = PlayedCluster(world.api, LAYOUT, pace=1.0, patience=3.0, clock=world.clock)

    async def start_control_plane(self) -> None:
        self._installed = True

    async def start_windlass(self) -> None:
        self._runs = True

    async def apply(self, name: str) -> None:
        assert name == "namespace.yaml"
        await self._world.api.create(Namespace, {"metadata": {"name": "shop"}})

    async def protect_a_pod(self) -> None:
        pod = {"metadata": {"name": "shop", "finalizers": ["demo/budget"]}, "spec": {"nodeName": expect.STUCK}}
        await self._world.api.create(Pod, pod, namespace="shop")

    async def delete(self, kind: type[KubernetesObject], name: str, *, namespace: str) -> None:
        assert (kind.RESOURCE.kind, name) == ("PodDisruptionBudget", "shop")
        await self._world.api.patch(
            Pod, "shop", {"metadata": {"finalizers": None}}, type=PatchType.MERGE, namespace=namespace
        )

    def play(self, part: Awaitable[None]) -> None:
        self.played.append(asyncio.ensure_future(part))

    async def look(self) -> Scene:
        if not self._installed:
            return Scene()
        if self._runs:
            await self._world.settle()
        return Scene(
            version="v1.36.3",
            unwatched=(),
            now=of_datetime(self._world.clock.now()),
            objects={kind: self._see(kind) for kind in Stage.WATCHED},
            ready=self._runs,
            leaders=("windlass-0",) if self._runs else (),
        )

    def _see(self, kind: type[Any]) -> dict[str, Present[Any]]:
        found = {one.name: seen(one) for one in self._world.api.listing(kind)}
        return {name: one for name, one in found.items() if isinstance(one, Present)}


class Act(Struct, frozen=True):
    """A step that came true, and the scenes at its beginning and its end."""

    step: Step
    before: Scene
    after: Scene

    @staticmethod
    def said_by(teller: Scene, cluster: Scene) -> Scene:
        """The objects of Windlass of one scene, in the cluster of another."""
        ours = (UpdateStatus, UpdateRecord)
        return replace(cluster, objects={**cluster.objects, **{kind: teller.of(kind) for kind in ours}})

    def judged(self, scene: Scene) -> Observed:
        return self.step.check(scene, Moment(self.before))


async def rehearse(loop: VirtualLoop) -> list[Act]:
    stage: Any = Rehearsal(World(loop))
    acts, before = [], Scene()
    for step in STORY:
        await step.act(stage, Moment(before))
        deadline = loop.time() + step.seconds
        while not (found := step.check(after := await stage.look(), Moment(before))).met:
            assert loop.time() < deadline, f"{step.title}: {found.text}"
            await asyncio.sleep(0.5)
        acts.append(Act(step, before, after))
        before = after
    await asyncio.gather(*stage.played)
    return acts


@pytest.fixture(scope="module")
def acts() -> Iterator[list[Act]]:
    """The whole story, in virtual time."""
    loop = VirtualLoop()
    yield loop.run_until_complete(rehearse(loop))
    loop.close()


def test_every_step_comes_true_and_was_not_true_before(acts: list[Act]) -> None:
    assert [act.step for act in acts] == [*STORY]
    assert [act.step.title for act in acts if act.judged(act.before).met] == []


def test_an_update_status_that_does_not_follow_the_cluster_is_noticed_at_every_step(acts: list[Act]) -> None:
    for act in acts[2:]:
        stale = act.said_by(act.before, act.after)
        assert not act.judged(stale).met, act.step.title


def test_an_update_status_that_runs_ahead_of_the_cluster_is_noticed_at_every_step(acts: list[Act]) -> None:
    for act in acts[3:]:
        ahead = act.said_by(act.after, act.before)
        assert not act.judged(ahead).met, act.step.title


def test_windlass_has_to_lead_and_to_be_ready(acts: list[Act]) -> None:
    act = acts[2]
    assert act.judged(replace(act.after, ready=False)).text == "Windlass is not ready"
    assert act.judged(replace(act.after, leaders=("",))).text == "a Lease of Windlass has no holder"


def test_a_record_has_to_have_every_operator_node_and_trouble(acts: list[Act]) -> None:
    act = acts[-1]
    ((_, present),) = act.after.of(UpdateRecord).items()
    record = present.object.status
    for flaw, said in (
        ({"operators": record.operators[1:]}, f"the record does not have {record.operators[0].name}"),
        ({"nodes": record.nodes[1:]}, f"the record does not have {record.nodes[0].name}"),
        ({"troubles": record.troubles[1:]}, "the record has 2 troubles, of which 0 are open"),
        ({"state": "Superseded"}, "there is no record of a completed update"),
    ):
        flawed = replace(present, object=replace(present.object, status=replace(record, **flaw)))
        assert act.judged(having(act.after, flawed)).text == said


def test_each_step_shows_what_a_user_would_see_then(acts: list[Act]) -> None:
    texts = [PAGE.text(act.after) for act in acts]
    assert texts[:3] == ["", "", "The cluster is not updating.\n"]
    for text, part in zip(
        texts[3:],
        (
            "Completion:      40% (2 operators updated, 1 updating, 2 waiting)",
            "Operator Health: 4 Healthy, 1 Available but degraded",
            "Update is proceeding well",
            "worker-0   Excluded     Paused",
            expect.FAILED_DRAIN,
            "infra         Completed    100% (2/2)",
            "Update from 4.16.0 to 4.16.1: started ",
        ),
        strict=True,
    ):
        assert part in text
    assert texts[-1].startswith("The cluster is not updating.\n\nUpdate from ")


def test_the_picture_has_the_pools_and_what_needs_attention(acts: list[Act]) -> None:
    (act,) = [act for act in acts if act.step.pictured]
    parts = PAGE.pictured(act.after).split("\n\n")
    assert [part.partition("   ")[0].partition("\n")[0] for part in parts] == ["WORKER POOL", "= Update Health ="]
