"""Who sees what a source publishes, and who what is read with rights of their own."""

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import pytest_asyncio
from msgspec import structs

from tests.unit.web.hearing import WITHIN
from tests.unit.web.serving import RULE, a_view
from tests.waiting import eventually
from windlass.kube.process.guard import Ruling
from windlass.web.access import Visitor
from windlass.web.board import Board
from windlass.web.personal import MOST, Readings
from windlass.web.view import ELSEWHERE, Personal, Refused, View

ANN, BOB, EVE = (Visitor(name, f"t-{name}") for name in ("ann", "bob", "eve"))
SHORT = 0.2
"""Seconds after which somebody looks no more."""


class Rights:
    """`sharing`: who may see what the source publishes; `own`: what others may read, by their names."""

    signs_in = True

    def __init__(self) -> None:
        self.sharing = {"ann"}
        self.own: dict[str, Hashable] = {"ann": (True, True), "bob": (True, True), "eve": (True, False)}

    async def may(self, visitor: Visitor, view: View) -> Ruling:
        return Ruling(200)

    async def shares(self, visitor: Visitor, view: View) -> bool:
        return visitor.user in self.sharing

    async def rights(self, visitor: Visitor, view: View) -> Hashable | None:
        return self.own.get(visitor.user)

    def check(self, request: Any) -> None: ...

    def visitor(self, request: Any) -> Visitor:
        return ANN


class Cluster:
    """Says with whose credentials it is read, and by how many at the moment."""

    def __init__(self) -> None:
        self.began: list[str] = []
        self.reading: list[str] = []

    @asynccontextmanager
    async def client(self, visitor: Visitor) -> AsyncIterator[Any]:
        yield visitor.user

    async def source(self, client: Any, board: Board) -> None:
        self.began.append(client)
        self.reading.append(client)
        try:
            board.show({"read by": client})
            await asyncio.Event().wait()
        finally:
            self.reading.remove(client)


@pytest.fixture
def rights() -> Rights:
    return Rights()


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
def view(cluster: Cluster) -> View:
    return structs.replace(a_view(), personal=Personal(rule=(RULE,), differs=(), source=cluster.source))


@pytest_asyncio.fixture
async def readings(rights: Rights, cluster: Cluster) -> AsyncIterator[Readings]:
    found = Readings(rights, cluster.client, absent=SHORT)
    yield found
    await found.close()
    assert cluster.reading == []


def published(*parts: str) -> Board:
    board = Board()
    board.show(dict.fromkeys(parts, "x"))
    return board


async def read_by(board: Board) -> bytes:
    async with asyncio.timeout(WITHIN):
        while not board.shown:
            await board.newer_than(board.stamp)
    return board.since("").partition(b'"read by":"')[2].partition(b'"')[0]


async def test_what_is_published_is_shown_as_long_as_it_is_relied_on(
    readings: Readings, view: View, cluster: Cluster
) -> None:
    kept, dead = published("update"), published("update", ELSEWHERE)
    assert await readings.board(ANN, view, kept) is kept
    assert cluster.began == []
    own = await readings.board(ANN, view, dead)
    assert await read_by(own) == b"ann"
    assert await readings.board(ANN, view, kept) is kept


async def test_who_may_not_see_it_is_shown_what_they_may_read_themselves(readings: Readings, view: View) -> None:
    kept = published("update")
    assert await read_by(await readings.board(BOB, view, kept)) == b"bob"


async def test_who_may_read_nothing_sees_what_is_published(readings: Readings, view: View, rights: Rights) -> None:
    dead = published("update", ELSEWHERE)
    rights.own.clear()
    assert await readings.board(ANN, view, dead) is dead
    with pytest.raises(Refused, match="rights"):
        await readings.board(BOB, view, dead)


async def test_a_view_without_readings_is_what_it_publishes(readings: Readings) -> None:
    dead = published(ELSEWHERE)
    assert await readings.board(BOB, a_view(), dead) is dead


async def test_viewers_with_the_same_rights_share_a_reading_and_others_do_not(
    readings: Readings, view: View, cluster: Cluster
) -> None:
    dead = published(ELSEWHERE)
    boards = [await readings.board(who, view, dead) for who in (ANN, BOB, EVE)]
    assert boards[0] is boards[1] is not boards[2]
    assert [await read_by(board) for board in boards] == [b"ann", b"ann", b"eve"]
    assert cluster.began == ["ann", "eve"]


async def test_credentials_of_who_has_left_are_used_no_longer(readings: Readings, view: View, cluster: Cluster) -> None:
    dead = published(ELSEWHERE)
    first = await readings.board(ANN, view, dead)
    await read_by(first)

    async def by_whom() -> list[str]:
        assert await readings.board(BOB, view, dead) is first
        return cluster.reading

    await eventually(by_whom, lambda found: found == ["bob"])


async def test_nothing_is_read_while_nobody_looks(readings: Readings, view: View, cluster: Cluster) -> None:
    await read_by(await readings.board(ANN, view, published(ELSEWHERE)))

    async def counted() -> tuple[int, list[str]]:
        return readings.count, cluster.reading

    await eventually(counted, lambda found: found == (0, []))


async def test_so_many_groups_of_people_are_read_for_and_no_more(
    readings: Readings, view: View, rights: Rights, cluster: Cluster
) -> None:
    dead = published(ELSEWHERE)
    for number in range(MOST):
        rights.own[f"u{number}"] = number
        await readings.board(Visitor(f"u{number}", f"t{number}"), view, dead)
    with pytest.raises(Refused, match="already"):
        await readings.board(ANN, view, dead)


async def test_a_source_that_fails_in_an_unforeseen_way_is_begun_again_when_somebody_looks(
    readings: Readings, view: View, caplog: pytest.LogCaptureFixture
) -> None:
    asked = []

    async def broken(client: Any, board: Board) -> None:
        asked.append(client)
        raise RuntimeError("a bug")

    assert view.personal is not None
    view = structs.replace(view, personal=structs.replace(view.personal, source=broken))

    async def looks() -> int:
        await readings.board(ANN, view, published(ELSEWHERE))
        return len(asked)

    await eventually(looks, lambda found: found > 1)
    assert "unforeseen" in caplog.text
