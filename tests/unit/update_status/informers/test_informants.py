"""What the report says of informers of others. Numbers in names are those of the controls."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from windlass.api.update import UpdateStatus, UpdateStatusStatus
from windlass.api.update_informer import UpdateInformer
from windlass.kube.control.population import Population
from windlass.kube.control.seen import NotServedKind, Present, Seen
from windlass.testing.clock import VirtualLoop
from windlass.update_status.controller.informants import Informants
from windlass.update_status.informers.admission import MOST_ENABLED
from windlass.update_status.informers.fetching import NoAnswer
from windlass.update_status.informers.heard import FORGOTTEN, GRACE, Heard, informed
from windlass.update_status.report import Impact, Informed, InformerInsight, Insight, Level
from windlass.update_status.times import MINUTE, SECOND, of_datetime

from .servers import insight, response
from .world import World

NOW = 1000 * MINUTE
TOLD = (
    InformerInsight(
        uid="disk-full",
        insight=Insight(
            level=Level.WARNING,
            impact=Impact.NONE,
            summary="A disk is full",
            description="",
            reference="",
            started=None,
            resources=(),
        ),
    ),
)


def played(story: Callable[[World], Awaitable[None]]) -> None:
    loop = VirtualLoop()
    try:
        loop.run_until_complete(_installed(World(loop), story))
    finally:
        loop.close()


async def _installed(world: World, story: Callable[[World], Awaitable[None]]) -> None:
    await world.install()
    await world.updating()
    await story(world)


async def tells(world: World, *namespaces: str, reader: Any = None) -> tuple[Informed, ...]:
    stored: Seen[UpdateStatus] = await world.reader.see(UpdateStatus, "cluster")
    found = await (reader or world.reader).see_all(UpdateInformer)
    every = tuple(found.readable) if isinstance(found, Population) else ()
    status = stored.object.status if isinstance(stored, Present) else UpdateStatusStatus()
    informants = Informants(every=every, heard=world.feed.heard, namespaces=namespaces)
    return informants.insights(status, now=of_datetime(world.clock.now()))


def test_what_an_informer_answered_is_in_the_report_under_its_own_name() -> None:
    async def story(world: World) -> None:
        await world.turn()
        (found,) = await tells(world)
        assert (found.name, found.namespace, found.stale_since) == ("disks", "storage", None)
        assert [one.uid for one in found.insights] == ["disk-full"]

    played(story)


def test_one_that_was_not_asked_yet_has_a_place_and_tells_nothing() -> None:
    async def story(world: World) -> None:
        assert await tells(world) == (Informed(name="disks", namespace="storage"),)

    played(story)


def test_one_that_is_disabled_or_not_allowed_is_in_no_report() -> None:
    async def story(world: World) -> None:
        await world.turn()
        assert await tells(world, "openshift-*") == ()
        assert len(await tells(world, "openshift-*", "stor*")) == 1
        await world.change(enabled=False)
        assert await tells(world) == ()

    played(story)


def test_control_15_only_the_oldest_have_a_place() -> None:
    async def story(world: World) -> None:
        for number in range(MOST_ENABLED + 3):
            await asyncio.sleep(1)
            await world.register(f"later-{number:03}")
        found = await tells(world)
        assert len(found) == MOST_ENABLED
        assert (found[0].name, found[-1].name) == ("disks", f"later-{MOST_ENABLED - 2:03}")

    played(story)


def test_where_updateinformers_are_not_served_there_are_none() -> None:
    class NotServed:
        async def see_all(self, kind: type[UpdateInformer]) -> NotServedKind:
            return NotServedKind("no such kind")

    async def story(world: World) -> None:
        assert await tells(world, reader=NotServed()) == ()

    played(story)


def test_a_process_that_has_just_begun_says_what_the_object_says() -> None:
    async def story(world: World) -> None:
        world.answers.says = response(insight("kept"))
        await world.turn()
        (before,) = await tells(world)
        world.restart()
        stood = Informed(name="disks", namespace="elsewhere", insights=before.insights)
        (found,) = informed_of(world, stood)
        assert (found.namespace, [one.uid for one in found.insights]) == ("storage", ["kept"])
        world.answers.says = NoAnswer("no answer within 5 s")
        world.feed.take_over("disks", before.insights)
        await world.turn()
        (found,) = informed_of(world, stood)
        assert [one.uid for one in found.insights] == ["kept"]

    played(story)


def informed_of(world: World, *stood: Informed) -> tuple[Informed, ...]:
    (registered,) = [one.decode() for one in world.api.listing(UpdateInformer)]
    return informed([registered], world.feed.heard, stood, now=of_datetime(world.clock.now()))


@pytest.mark.parametrize(
    ("silence", "stale", "insights"),
    [
        (GRACE - SECOND, False, 1),
        (GRACE, True, 1),
        (FORGOTTEN - SECOND, True, 1),
        (FORGOTTEN, True, 0),
    ],
)
def test_control_18_silence_is_forgiven_for_five_minutes_and_forgets_after_fifteen(
    silence: int, stale: bool, insights: int
) -> None:
    heard = Heard().good(TOLD, (), now=NOW)
    for minutes in (1, 2, 3):  # it is silent since the first of these
        heard = heard.failed("no answer", now=NOW + minutes * MINUTE)
    found = heard.informed("disks", "storage", now=NOW + MINUTE + silence)
    assert found.stale_since == (NOW if stale else None)
    assert len(found.insights) == insights


def test_a_good_answer_ends_a_silence() -> None:
    silent = Heard().good(TOLD, (), now=NOW).failed("no answer", now=NOW + MINUTE)
    assert (silent.failures, silent.trouble, silent.silent) == (1, "no answer", NOW + MINUTE)
    assert silent.good((), (), now=NOW + 2 * MINUTE) == Heard(answered=NOW + 2 * MINUTE)


def test_one_that_never_answered_is_stale_since_it_was_asked() -> None:
    heard = Heard().failed("no answer", now=NOW)
    assert heard.informed("disks", "storage", now=NOW + GRACE).stale_since == NOW
