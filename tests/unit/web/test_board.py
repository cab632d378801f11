"""What pages get of a document: all of it once, then only what changed."""

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.web import board as board_module
from windlass.web.board import Board

DOCUMENTS = st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 3) | st.text(max_size=3))


class OpenPage:
    """A page as the browser keeps it."""

    def __init__(self) -> None:
        self.parts: dict[str, Any] = {}
        self.stamp = ""

    def take(self, board: Board) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(board.since(self.stamp))
        if told["whole"]:
            self.parts.clear()
        for key in told["gone"]:
            self.parts.pop(key, None)
        self.parts.update(told["parts"])
        self.stamp = told["stamp"]
        return told


def test_a_page_that_opens_gets_all_and_then_only_what_changed() -> None:
    board, page = Board(), OpenPage()
    board.show({"pool": 1, "node/a": 1, "node/b": 1})
    assert page.take(board)["whole"]
    board.show({"pool": 1, "node/a": 2, "node/c": 1})
    told = page.take(board)
    assert (told["whole"], told["parts"], told["gone"]) == (False, {"node/a": 2, "node/c": 1}, ["node/b"])


def test_a_document_that_is_equal_is_no_news() -> None:
    board = Board()
    board.show({"a": {"x": 1, "y": 2}})
    before = board.stamp
    board.show({"a": {"y": 2, "x": 1}})
    assert board.stamp == before


@given(shown=st.lists(st.tuples(DOCUMENTS, st.booleans()), max_size=12))
def test_a_page_that_looks_now_and_then_has_the_last_document(shown: list[tuple[dict[str, Any], bool]]) -> None:
    board, page = Board(), OpenPage()
    for document, looks in shown:
        board.show(document)
        if looks:
            page.take(board)
            assert page.parts == document
    page.take(board)
    assert page.parts == (shown[-1][0] if shown else {})


@pytest.mark.slow
@given(steps=st.lists(st.tuples(DOCUMENTS, st.sets(st.sampled_from("abcdef"))), max_size=8))
def test_changes_of_single_parts_add_up(steps: list[tuple[dict[str, Any], set[str]]]) -> None:
    board, page, expected = Board(), OpenPage(), dict[str, Any]()
    for parts, gone in steps:
        expected = {key: value for key, value in expected.items() if key not in gone} | parts
        board.change(parts, gone - parts.keys())
        page.take(board)
        assert page.parts == expected


@pytest.mark.parametrize("stamp", ["", "x", "other.1", "{epoch}.99", "{epoch}.-1", "{epoch}.", "{epoch}." + "9" * 40])
def test_a_stamp_that_says_nothing_gets_the_whole_document(stamp: str) -> None:
    board = Board()
    board.show({"a": 1})
    told = json.loads(board.since(stamp.replace("{epoch}", board.stamp.partition(".")[0])))
    assert told["whole"]
    assert told["parts"] == {"a": 1}


def test_another_process_does_not_know_the_stamps_of_this_one() -> None:
    one, other = Board(), Board()
    for board in (one, other):
        board.show({"a": 1})
    assert json.loads(other.since(one.stamp))["whole"]


def test_parts_that_come_and_go_are_forgotten_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board_module, "MOST_GONE", 3)
    board, page = Board(), OpenPage()
    board.show({"stays": 1})
    page.take(board)
    for number in range(20):
        board.show({"stays": 1, f"passing/{number}": 1})
    assert page.take(board)["whole"]
    assert page.parts == {"stays": 1, "passing/19": 1}


async def test_who_waits_hears_of_the_next_change() -> None:
    board = Board()
    board.show({"a": 1})
    waiting = asyncio.create_task(board.newer_than(board.stamp))
    await asyncio.sleep(0)
    assert not waiting.done()
    board.show({"a": 2})
    await asyncio.wait_for(waiting, 5)
