"""Memory goes back to the system once for many large answers, and again for later ones."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from windlass.openstack.cloud import trimming
from windlass.openstack.cloud.trimming import Trimmer


class Clock:
    """Timers that end when a test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.running: list[Callable[[], object]] = []
        monkeypatch.setattr(threading, "Timer", self._timer)

    def _timer(self, seconds: float, then: Callable[[], object]) -> Any:
        clock = self

        class Timer:
            daemon = False

            def start(self) -> None:
                clock.running.append(then)

        return Timer()

    def ring(self) -> None:
        running, self.running = self.running, []
        for then in running:
            then()


def test_many_reasons_are_one_trim_and_the_next_reason_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    trimmed: list[int] = []
    monkeypatch.setattr(trimming, "_of_the_c_library", lambda: trimmed.append)
    clock, trimmer = Clock(monkeypatch), Trimmer()
    for times in (1, 2):
        for _ in range(50):
            trimmer.soon()
        clock.ring()
        assert trimmed == [0] * times


def test_another_c_library_has_nothing_to_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trimming, "_of_the_c_library", lambda: None)
    clock = Clock(monkeypatch)
    Trimmer().soon()
    assert clock.running == []
