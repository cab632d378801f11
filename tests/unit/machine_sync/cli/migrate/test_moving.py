"""How `windlass migrate` moves a few machines at a time, on an API server in memory and in virtual time."""

import asyncio

import pytest

from tests.unit.machine_sync.cli.migrate.world import NAMESPACE, PlayedMachineSync, World, key, machine, synchronized
from windlass.api import mapi
from windlass.kube.errors import Busy, Invalid, Status, TransportError
from windlass.kube.verbs import PatchType
from windlass.machine_sync.cli.migrate.migrator import MigrationOutcome
from windlass.testing.clock import run

NAMES = [f"w-{number}" for number in range(7)]


def world(
    *names: str, limit: float | None = 600.0, size: int = 5, keep_going: bool = False, wait: bool = True
) -> World:
    return World(*(machine(name) for name in names), limit=limit, size=size, keep_going=keep_going, wait=wait)


def test_a_machine_is_asked_for_and_waited_for_until_it_is_synchronized_from_there() -> None:
    async def main() -> None:
        there = world("w-0")
        PlayedMachineSync(there.api)

        results = await there.run("w-0")

        assert results["w-0"].outcome is MigrationOutcome.MIGRATED
        assert results["w-0"].seconds == pytest.approx(3.0)
        stages = [stage for _, stage in there.notebook.steps]
        assert stages == ["asked for", "migrating", "synchronizing", "there"]

    run(main())


def test_never_more_than_a_wave_is_under_way() -> None:
    async def main() -> None:
        there = world(*NAMES, size=3)
        played = PlayedMachineSync(there.api)

        results = await there.run(*NAMES)

        assert {result.outcome for result in results.values()} == {MigrationOutcome.MIGRATED}
        assert played.most == 3

    run(main())


def test_without_waiting_all_are_asked_for_and_none_is_followed() -> None:
    async def main() -> None:
        there = world(*NAMES, size=3, wait=False)

        results = await there.run(*NAMES)

        assert {result.outcome for result in results.values()} == {MigrationOutcome.REQUESTED}
        assert {there.spec(name) for name in NAMES} == {"ClusterAPI"}

    run(main())


def test_one_that_is_there_already_or_asked_for_is_not_written() -> None:
    async def main() -> None:
        moving = machine("w-0", status__authoritativeAPI="Migrating", spec__authoritativeAPI="ClusterAPI")
        asked = machine("w-1", spec__authoritativeAPI="ClusterAPI")
        there = World(moving, asked)
        before = there.api.version
        moves = asyncio.create_task(there.run("w-0", "w-1"))
        await there.when(lambda: len(there.notebook.steps) == 2)
        assert there.api.version == before
        PlayedMachineSync(there.api)
        for name in ("w-0", "w-1"):
            body = {"metadata": {"labels": {"wake": "up"}}}
            await there.api.patch(mapi.Machine, name, body, type=PatchType.MERGE, namespace=NAMESPACE)

        results = await moves

        assert {result.outcome for result in results.values()} == {MigrationOutcome.MIGRATED}

    run(main())


def test_after_a_failure_the_wave_goes_on_and_no_other_is_begun() -> None:
    async def main() -> None:
        there = world(*NAMES, size=3)
        PlayedMachineSync(there.api, failing=["w-1"])

        results = await there.run(*NAMES)

        assert [results[name].outcome for name in NAMES] == [
            MigrationOutcome.MIGRATED,
            MigrationOutcome.FAILED,
            MigrationOutcome.MIGRATED,
            *[MigrationOutcome.NOT_BEGUN] * 4,
        ]
        assert results["w-1"].reason == "synchronizing: FailedToConvert: no place for it"
        assert results["w-3"].reason == "machine/w-1 failed; --keep-going continues"
        assert there.spec("w-3") == "MachineAPI"

    run(main())


def test_with_keep_going_a_failure_stops_nothing() -> None:
    async def main() -> None:
        there = world(*NAMES, size=3, keep_going=True)
        PlayedMachineSync(there.api, failing=["w-1"])

        results = await there.run(*NAMES)

        assert [name for name in NAMES if results[name].outcome is not MigrationOutcome.MIGRATED] == ["w-1"]

    run(main())


def test_a_failure_that_heals_soon_is_none() -> None:
    async def main() -> None:
        there = world("w-0")
        played = PlayedMachineSync(there.api, failing=["w-0"])
        moves = asyncio.create_task(there.run("w-0"))
        await there.when(lambda: ("w-0", "synchronizing") in there.notebook.steps and not played.moving)
        await asyncio.sleep(10)
        healed = {"status": {"conditions": [synchronized("True")]}}
        await there.api.patch(
            mapi.Machine, "w-0", healed, type=PatchType.MERGE, namespace=NAMESPACE, subresource="status"
        )

        assert (await moves)["w-0"].outcome is MigrationOutcome.MIGRATED

    run(main())


def test_one_that_takes_too_long_says_what_it_waits_for() -> None:
    async def main() -> None:
        there = world("w-0", "w-1", limit=60.0)
        PlayedMachineSync(there.api, idle=["w-1"])

        results = await there.run("w-0", "w-1")

        assert results["w-0"].outcome is MigrationOutcome.MIGRATED
        assert (results["w-1"].outcome, results["w-1"].reason) == (MigrationOutcome.TIMED_OUT, "asked for")
        assert results["w-1"].seconds == pytest.approx(60.0)

    run(main())


def test_without_a_limit_it_waits_as_long_as_it_takes() -> None:
    async def main() -> None:
        there = world("w-0", limit=None)
        PlayedMachineSync(there.api, pace=7200.0)

        assert (await there.run("w-0"))["w-0"].outcome is MigrationOutcome.MIGRATED

    run(main())


def test_somebody_who_takes_the_request_back_fails_it() -> None:
    async def main() -> None:
        there = world("w-0")
        moves = asyncio.create_task(there.run("w-0"))
        await there.when(lambda: there.spec("w-0") == "ClusterAPI")
        body = {"spec": {"authoritativeAPI": "MachineAPI"}}
        await there.api.patch(mapi.Machine, "w-0", body, type=PatchType.MERGE, namespace=NAMESPACE)

        result = (await moves)["w-0"]

        assert (result.outcome, result.reason) == (
            MigrationOutcome.FAILED,
            "somebody set spec.authoritativeAPI to MachineAPI",
        )

    run(main())


def test_one_that_is_deleted_meanwhile_fails() -> None:
    async def main() -> None:
        there = world("w-0")
        moves = asyncio.create_task(there.run("w-0"))
        await there.when(lambda: there.spec("w-0") == "ClusterAPI")
        await there.api.delete(mapi.Machine, "w-0", namespace=NAMESPACE)

        assert (await moves)["w-0"].reason == "it was deleted"

    run(main())


def test_what_somebody_else_writes_at_the_same_moment_is_no_failure() -> None:
    async def main() -> None:
        there = world("w-0")
        PlayedMachineSync(there.api)

        async def somebody() -> None:
            body = {"metadata": {"labels": {"changed": "meanwhile"}}}
            await there.api.patch(mapi.Machine, "w-0", body, type=PatchType.MERGE, namespace=NAMESPACE)

        there.api.conflict_by(somebody, "patch", mapi.Machine)

        assert (await there.run("w-0"))["w-0"].outcome is MigrationOutcome.MIGRATED

    run(main())


@pytest.mark.parametrize("stored", [True, False])
def test_a_request_without_an_answer_is_looked_after(stored: bool) -> None:
    async def main() -> None:
        there = world("w-0")
        there.api.lose_answer_next("patch", mapi.Machine, stored=stored)
        PlayedMachineSync(there.api)

        assert (await there.run("w-0"))["w-0"].outcome is MigrationOutcome.MIGRATED

    run(main())


def test_a_server_that_is_away_for_a_while_is_waited_for() -> None:
    async def main() -> None:
        there = world("w-0")
        PlayedMachineSync(there.api)
        there.api.fail_next("get", mapi.Machine, TransportError("nobody there"), times=3)
        there.api.fail_next("patch", mapi.Machine, Busy(Status(message="starting", code=503)), times=2)

        assert (await there.run("w-0"))["w-0"].outcome is MigrationOutcome.MIGRATED

    run(main())


def test_a_request_that_is_refused_fails_with_the_servers_message() -> None:
    async def main() -> None:
        there = world("w-0", "w-1", size=1)
        there.api.fail_next("patch", mapi.Machine, Invalid(Status(message="policy says no", code=422)))

        results = await there.run("w-0", "w-1")

        assert (results["w-0"].outcome, results["w-0"].reason) == (MigrationOutcome.FAILED, "policy says no")
        assert results["w-1"].outcome is MigrationOutcome.NOT_BEGUN

    run(main())


def test_one_that_must_not_move_any_more_is_not_asked_for() -> None:
    async def main() -> None:
        there = World(machine("w-0", status__phase="Provisioning"))

        result = (await there.run("w-0"))["w-0"]

        assert result.outcome is MigrationOutcome.FAILED
        assert result.reason.startswith("phase: it is Provisioning")
        assert there.spec("w-0") == "MachineAPI"

    run(main())


def test_one_whose_last_generation_is_not_copied_yet_is_asked_for_and_waited_for() -> None:
    async def main() -> None:
        there = World(machine("w-0", status__synchronizedGeneration=2))
        moves = asyncio.create_task(there.run("w-0"))
        await there.when(lambda: there.spec("w-0") == "ClusterAPI")
        assert not moves.done()

        PlayedMachineSync(there.api)
        caught_up = {"status": {"synchronizedGeneration": 3}}
        await there.api.patch(
            mapi.Machine, "w-0", caught_up, type=PatchType.MERGE, namespace=NAMESPACE, subresource="status"
        )

        assert (await moves)["w-0"].outcome is MigrationOutcome.MIGRATED

    run(main())


def test_an_interruption_waits_for_the_wave_and_begins_no_other() -> None:
    async def main() -> None:
        there = world(*NAMES, size=3)
        PlayedMachineSync(there.api)
        moves = asyncio.create_task(there.run(*NAMES))
        await there.when(lambda: there.spec("w-2") == "ClusterAPI")

        there.waves.interrupt()
        results = await moves

        assert [results[name].outcome for name in NAMES] == [MigrationOutcome.MIGRATED] * 3 + [
            MigrationOutcome.NOT_BEGUN
        ] * 4
        assert there.notebook.said == [
            "interrupted: no more objects are started; waiting for 3 in progress "
            "(press Ctrl-C again to leave them to Machine sync)"
        ]
        assert there.waves.interrupted

    run(main())


def test_a_second_interruption_leaves_at_once_and_says_where_things_stand() -> None:
    async def main() -> None:
        there = world("w-0", "w-1", "w-2", size=2)
        PlayedMachineSync(there.api, idle=["w-1"])
        moves = asyncio.create_task(there.run("w-0", "w-1", "w-2"))
        await there.when(lambda: ("w-0", "migrating") in there.notebook.steps)

        there.waves.interrupt()
        there.waves.interrupt()
        results = await moves

        assert [results[name].outcome for name in ("w-0", "w-1", "w-2")] == [
            MigrationOutcome.LEFT,
            MigrationOutcome.LEFT,
            MigrationOutcome.NOT_BEGUN,
        ]
        assert results["w-0"].reason.startswith("migrating: waits until the Machine API has paused")
        assert results["w-1"].reason == "asked for"

    run(main())


def test_doing_it_again_takes_up_what_was_left() -> None:
    async def main() -> None:
        there = world(*NAMES, size=2)
        PlayedMachineSync(there.api)
        moves = asyncio.create_task(there.run(*NAMES))
        await there.when(lambda: there.spec("w-1") == "ClusterAPI")
        there.waves.interrupt()
        there.waves.interrupt()
        await moves

        again = World(*there.api.dump(), size=2)
        PlayedMachineSync(again.api)
        # It resumes where it was: its own next look is at every machine there is.
        for name in NAMES:
            body = {"metadata": {"labels": {"wake": "up"}}}
            await again.api.patch(mapi.Machine, name, body, type=PatchType.MERGE, namespace=NAMESPACE)

        results = await again.run(*NAMES)

        assert {result.outcome for result in results.values()} == {MigrationOutcome.MIGRATED}

    run(main())


def test_older_news_than_the_own_request_is_not_believed() -> None:
    async def main() -> None:
        there = world("w-0")
        stale = there.api.peek(mapi.Machine, "w-0", namespace=NAMESPACE)
        assert stale is not None
        moves = asyncio.create_task(there.run("w-0"))
        await there.when(lambda: there.spec("w-0") == "ClusterAPI")
        # A watch that lags brings the time before the request, when spec was another.
        there.last_seen.put(key("w-0"), stale)
        await asyncio.sleep(1)
        PlayedMachineSync(there.api)
        body = {"metadata": {"labels": {"wake": "up"}}}
        await there.api.patch(mapi.Machine, "w-0", body, type=PatchType.MERGE, namespace=NAMESPACE)

        assert (await moves)["w-0"].outcome is MigrationOutcome.MIGRATED

    run(main())
