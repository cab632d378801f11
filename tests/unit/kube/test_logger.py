"""Loggers: what is about a whole task, what is bound to one logger, and where lines go without a configuration."""

import asyncio
import logging

import pytest

from windlass.kube.logger import Logger, about
from windlass.testing.logs import captured


def test_a_line_has_its_facts_those_of_its_logger_and_those_of_its_task() -> None:
    log = Logger("x").bind(lease="a/b")
    with captured() as lines, about(controller="c"), about(object="ns/a"):
        log.info("renewed", seconds=3)
    assert lines == [
        {
            "lease": "a/b",
            "seconds": 3,
            "event": "renewed",
            "controller": "c",
            "object": "ns/a",
            "level": "info",
            "logger": "x",
        }
    ]


def test_a_fact_of_a_line_hides_that_of_its_task() -> None:
    with captured() as lines, about(object="outer"):
        Logger("x").info("told", object="inner")
    assert lines[0]["object"] == "inner"


def test_tasks_do_not_see_each_others_facts() -> None:
    async def work(name: str) -> None:
        with about(object=name):
            await asyncio.sleep(0)
            Logger("x").info("worked", by=name)

    async def both() -> None:
        await asyncio.gather(work("a"), work("b"))
        Logger("x").info("over")

    with captured() as lines:
        asyncio.run(both())
    assert [(line.get("by"), line.get("object")) for line in lines] == [("a", "a"), ("b", "b"), (None, None)]


def test_without_a_configuration_lines_go_to_standard_logging(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="windlass.x"):
        Logger("windlass.x").debug("not asked for")
        Logger("windlass.x").info("100 % done", machine="worker 1")
        try:
            int("odd")
        except ValueError:
            Logger("windlass.x").exception("failed")
    assert [(one.name, one.levelname, one.getMessage()) for one in caplog.records] == [
        ("windlass.x", "INFO", "100 % done machine='worker 1'"),
        ("windlass.x", "ERROR", "failed"),
    ]
    assert caplog.records[1].exc_info is not None
    assert caplog.records[1].exc_info[0] is ValueError
