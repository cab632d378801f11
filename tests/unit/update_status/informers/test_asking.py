"""The controller of UpdateInformers on a model of an API server. Numbers in names are those of the controls."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from windlass.api.core import Service, ServiceAccount
from windlass.api.update_informer import AskedUpdate, audience_of
from windlass.kube.control.plan import Done, RequeueAfter
from windlass.kube.errors import Forbidden, Status
from windlass.testing.clock import VirtualLoop
from windlass.update_status.informers.admission import MOST_ENABLED
from windlass.update_status.informers.churn import MOST_NEW
from windlass.update_status.informers.fetching import NoAnswer
from windlass.update_status.informers.heard import FORGOTTEN, GRACE
from windlass.update_status.times import SECOND, of_datetime

from .servers import insight, response
from .world import TARGET, World

Story = Callable[[World], Awaitable[None]]
SILENT = NoAnswer("no answer within 5 s")


@pytest.fixture
def loop() -> Iterator[VirtualLoop]:
    loop = VirtualLoop()
    yield loop
    loop.close()


@pytest.fixture
def play(loop: VirtualLoop) -> Callable[..., None]:
    def run(story: Story, **settings: Any) -> None:
        async def main() -> None:
            world = World(loop, **settings)
            await world.install()
            await story(world)

        loop.run_until_complete(main())

    return run


Play = Callable[..., None]


def test_an_informer_is_asked_before_its_interval_ends_while_an_update_is_going_on(play: Play) -> None:
    async def story(world: World) -> None:
        await world.updating()
        await world.pass_time(95)
        assert world.answers.times == [0, 28.5, 57, 85.5]
        assert {(asked.informer, asked.update and asked.update.target) for _, asked, _ in world.answers.asked} == {
            ("disks", TARGET)
        }
        assert await world.online() == ("True", "Answering")
        assert world.insights == ["disk-full"]

    play(story)


def test_control_7_informers_that_began_together_drift_apart(play: Play) -> None:
    async def story(world: World) -> None:
        world.restart(Random(7))
        await world.updating()
        await world.pass_time(300)
        times = world.answers.times
        pauses = [round(later - earlier, 3) for earlier, later in pairwise(times)]
        assert all(0.9 * 28.5 <= pause <= 28.5 for pause in pauses)
        assert len(set(pauses)) == len(pauses) > 9

    play(story)


def test_an_informer_that_answers_slowly_is_asked_as_often(play: Play) -> None:
    async def story(world: World) -> None:
        world.answers.takes = 4.0
        await world.updating()
        await world.pass_time(95)
        assert world.answers.times == [0, 28.5, 57, 85.5]

    play(story)


def test_without_an_update_it_is_tried_every_five_minutes_and_an_update_asks_at_once(play: Play) -> None:
    async def story(world: World) -> None:
        await world.pass_time(700)
        assert world.answers.times == [0, 300, 600]
        assert {asked.update for _, asked, _ in world.answers.asked} == {None}
        await world.updating()
        await world.turn()
        assert world.answers.times == [0, 300, 600, 700]

    play(story)


def test_when_the_update_has_ended_it_is_only_tried(play: Play) -> None:
    async def story(world: World) -> None:
        await world.updating()
        await world.turn()
        await world.updating("")
        await world.pass_time(700)
        assert [asked.update is None for _, asked, _ in world.answers.asked] == [False, True, True, True]
        assert world.answers.times == [0, 0, 300, 600]

    play(story)


def test_a_question_about_an_installation_names_no_previous_version(play: Play) -> None:
    async def story(world: World) -> None:
        await world.updating(TARGET, installing=True)
        await world.turn()
        ((_, asked, _),) = world.answers.asked
        assert asked.update == AskedUpdate(target=TARGET, started_at="2026-11-01T00:00:00Z")

    play(story)


def test_a_change_of_its_spec_asks_at_once(play: Play) -> None:
    async def story(world: World) -> None:
        await world.updating()
        await world.turn()
        await world.change(intervalSeconds=60)
        ending = await world.turn()
        assert world.answers.times == [0, 0]
        assert ending.next == RequeueAfter(58.5, "next question")

    play(story)


def test_control_3_its_token_is_for_its_audience_alone_and_is_used_for_eight_minutes(play: Play) -> None:
    async def story(world: World) -> None:
        await world.updating()
        await world.pass_time(1000)
        assert [(one.spec.audiences, one.spec.expiration_seconds) for one in world.api.tokens] == [
            ([audience_of("disks")], 600)
        ] * 3
        assert all(token for _, _, token in world.answers.asked)

    play(story)


def test_a_token_that_is_refused_is_not_used_again(play: Play) -> None:
    async def story(world: World) -> None:
        await world.updating()
        world.answers.says = NoAnswer("it answered 401", refused=True)
        await world.pass_time(40)
        assert (len(world.answers.asked), len(world.api.tokens)) == (2, 2)

    play(story)


def test_an_api_server_that_makes_no_token_is_told(play: Play) -> None:
    async def story(world: World) -> None:
        no = Forbidden(Status(code=403, reason="Forbidden", message="serviceaccounts is forbidden"))
        world.api.fail_next("request_token", ServiceAccount, no)
        ending = await world.turn()
        assert await world.online() == ("False", "NotAnswering")
        assert (await world.status()).conditions[0].message.endswith("serviceaccounts is forbidden")
        assert (ending.next, world.answers.asked) == (RequeueAfter(60, "next question"), [])

    play(story)


def test_control_7_an_informer_that_fails_is_asked_less_and_less(play: Play) -> None:
    async def story(world: World) -> None:
        world.answers.says = SILENT
        await world.updating()
        await world.pass_time(2000)
        pauses = [later - earlier for earlier, later in zip(world.answers.times, world.answers.times[1:], strict=False)]
        for pause, least in zip(pauses, [30, 60, 120, 240, 300, 300], strict=False):
            assert least <= pause <= 1.1 * least
        world.answers.says = response()
        await world.pass_time(400)
        assert await world.online() == ("True", "Answering")
        assert world.answers.times[-1] - world.answers.times[-2] == 28.5

    play(story)


def test_control_7_a_text_that_changes_makes_no_new_insight(play: Play) -> None:
    async def story(world: World) -> None:
        await world.updating()
        for number in range(5):
            world.answers.says = response(insight(summary=f"Disk {number} is full"))
            await world.pass_time(30)
        assert world.insights == ["disk-full"]

    play(story)


def test_control_8_new_uids_are_bounded_and_the_condition_says_so(play: Play) -> None:
    async def story(world: World) -> None:
        await world.updating()
        for number in range(5):
            world.answers.says = response(*(insight(f"uid-{number}-{one}") for one in range(60)))
            await world.pass_time(30)
        assert world.insights == []
        assert set(world.woken) == {"cluster"}
        assert await world.online() == ("True", "InsightsRefused")
        assert "60 insights are new: too many in 10 min" in (await world.status()).conditions[0].message

    assert MOST_NEW == 64
    play(story)


def test_control_8_what_stands_from_another_process_is_not_new(play: Play) -> None:
    async def story(world: World) -> None:
        stood = [f"stood-{number}" for number in range(MOST_NEW - 4)]
        await world.updating(TARGET, *stood)
        world.answers.says = response(*(insight(uid) for uid in (*stood, "a", "b", "c", "d")))
        await world.turn()
        new = [f"new-{number}" for number in range(MOST_NEW - 4)]
        world.answers.says = response(*(insight(uid) for uid in new))
        await world.pass_time(31)
        assert world.insights == new

    play(story)


def test_control_18_a_service_that_is_gone_is_a_silence(play: Play) -> None:
    async def story(world: World) -> None:
        await world.updating()
        await world.turn()
        await world.api.delete(Service, "disks", namespace="storage")
        await world.pass_time(60)
        assert await world.online() == ("False", "ServiceNotFound")
        assert world.insights == ["disk-full"]
        assert world.feed.heard["disks"].silent is not None
        assert "is not there" in world.feed.heard["disks"].trouble

    play(story)


def test_its_service_is_read_once_in_an_attempt_and_again_in_the_next(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(world: World) -> None:
        see, read = world.reader.see, []

        async def noted(kind: type[Any], name: str, **options: Any) -> Any:
            read.append(kind)
            return await see(kind, name, **options)

        monkeypatch.setattr(world.reader, "see", noted)
        for attempts in (1, 2):
            await world.turn()
            assert read.count(Service) == attempts

    play(story)


def test_what_a_disabled_informer_told_is_forgotten(play: Play) -> None:
    async def story(world: World) -> None:
        await world.turn()
        assert world.insights == ["disk-full"]
        await world.change(enabled=False)
        await world.turn()
        assert "disks" not in world.feed.heard

    play(story)


def test_control_18_a_silence_of_less_than_five_minutes_is_no_trouble(play: Play) -> None:
    async def story(world: World) -> None:
        await world.updating()
        await world.turn()
        world.answers.says = SILENT
        await world.pass_time(GRACE / SECOND)
        assert await world.online() == ("True", "Answering")
        assert world.insights == ["disk-full"]
        await world.pass_time(400)
        assert await world.online() == ("False", "NotAnswering")
        assert world.events() == ["InformerEnabled", "InformerDegraded"]

    play(story)


def test_control_12_insights_of_one_that_is_silent_for_15_minutes_are_dropped(play: Play) -> None:
    async def story(world: World) -> None:
        await world.updating()
        await world.turn()
        answered = of_datetime(world.clock.now())
        world.answers.says = SILENT

        def says() -> Any:
            return world.feed.heard["disks"].informed("disks", "storage", now=of_datetime(world.clock.now()))

        await world.pass_time(GRACE / SECOND + 60)
        assert ([one.uid for one in says().insights], says().stale_since) == (["disk-full"], answered)
        woken = len(world.woken)
        await world.pass_time(FORGOTTEN / SECOND)
        assert ([one.uid for one in says().insights], says().stale_since) == ([], answered)
        assert len(world.woken) > woken

    play(story)


def test_one_that_never_answered_is_told_at_once(play: Play) -> None:
    async def story(world: World) -> None:
        world.answers.says = NoAnswer("its certificate is refused: unable to get local issuer certificate")
        await world.turn()
        assert await world.online() == ("False", "NotAnswering")
        (condition,) = (await world.status()).conditions
        assert condition.message.startswith("its certificate is refused")

    play(story)


def test_control_16_events_tell_of_enabling_disabling_and_degrading(play: Play) -> None:
    async def story(world: World) -> None:
        await world.turn()
        assert world.events() == ["InformerEnabled"]
        world.answers.says = SILENT
        await world.pass_time(1200)
        assert world.events() == ["InformerEnabled", "InformerDegraded"]
        world.answers.says = response()
        await world.pass_time(400)
        assert world.events() == ["InformerEnabled", "InformerDegraded", "InformerOnline"]
        await world.change(enabled=False)
        ending = await world.turn()
        assert world.events()[-1] == "InformerDisabled"
        assert ending.next == Done()
        await world.change(enabled=True)
        await world.turn()
        assert world.events()[-1] == "InformerEnabled"

    play(story)


def test_control_16_what_is_taken_and_refused_is_logged_at_a_bounded_rate(
    play: Play, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(world: World) -> None:
        await world.updating()
        world.answers.says = response(insight("disk-full"), insight("Not A Label"))
        await world.turn()
        taken, refused = (record.getMessage() for record in caplog.records if "insight" in record.getMessage())
        assert "informer='disks'" in taken
        assert "uid='disk-full'" in taken
        assert "insight_level='Warning'" in taken  # "level" is that of the line
        assert "'Not A Label': its uid is no DNS label" in refused
        for number in range(19):
            world.answers.says = response(*(insight(f"{number} {one}") for one in range(64)))
            await world.pass_time(30)
        assert len(caplog.records) < 110
        assert caplog.records[-1].getMessage().startswith("an informer changes too often for the log")

    caplog.set_level("INFO", logger="windlass.update_status.informers.feed")
    play(story)


def test_control_16_the_log_says_once_what_has_changed(play: Play, caplog: pytest.LogCaptureFixture) -> None:
    async def story(world: World) -> None:
        await world.updating()
        for says in (response(insight(), insight("Not A Label")), SILENT, response(insight("Not A Label"))):
            world.answers.says = says
            await world.pass_time(150)
        events = [record.getMessage().partition(" informer=")[0] for record in caplog.records]
        assert events == [
            "insight taken",
            "insight refused",
            "informer does not answer",
            "informer answers again",
            "insight resolved",
        ]

    caplog.set_level("INFO", logger="windlass.update_status.informers.feed")
    play(story)


def test_at_rest_its_status_is_written_every_five_minutes_at_most(play: Play) -> None:
    async def story(world: World) -> None:
        await world.updating()
        await world.turn()
        before = world.api.writes
        await world.pass_time(3600)
        assert world.api.writes - before <= 12 + 8  # eight tokens

    play(story)


def test_control_15_only_as_many_are_asked_as_have_a_place(play: Play) -> None:
    async def story(world: World) -> None:
        for number in range(MOST_ENABLED):
            await asyncio.sleep(1)
            await world.register(f"later-{number:03}")
        last = f"later-{MOST_ENABLED - 1:03}"
        await world.turn(last)
        assert await world.online(last) == ("False", "TooMany")
        await world.change("disks", enabled=False)
        await world.serve(last)
        await world.turn(last)
        assert await world.online(last) == ("True", "Answering")

    play(story)


def test_control_2_a_service_that_appears_later_is_found(play: Play) -> None:
    async def story(world: World) -> None:
        await world.register("late")
        ending = await world.turn("late")
        assert await world.online("late") == ("False", "ServiceNotFound")
        assert isinstance(ending.next, RequeueAfter)
        await world.serve("late")
        await world.pass_time(40, "late")
        assert await world.online("late") == ("True", "Answering")

    play(story)


def test_a_service_at_the_api_servers_address_is_refused(play: Play) -> None:
    async def story(world: World) -> None:
        await world.turn()
        assert await world.online() == ("False", "AddressRefused")
        assert world.answers.asked == []

    play(story, forbidden=("172.30.1.2",))


def test_who_loses_the_lease_forgets_what_was_told(play: Play) -> None:
    async def story(world: World) -> None:
        await world.updating()
        await world.turn()
        assert world.feed.heard
        world.detach()
        assert not world.feed.heard

    play(story)
