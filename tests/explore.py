"""How far the tests look: as far as a change can wait for or, with `make explore`, much further.

What exploring finds comes back as an example that every run tries (`@example`, a row of a table, a seed).
"""

import os
import subprocess
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final, TypeVar

from hypothesis import settings

T = TypeVar("T")

_NUMBER: Final = os.environ.get("WINDLASS_EXPLORE", "")
EXPLORING: Final = bool(_NUMBER)
WHOLE: Final = EXPLORING or bool(os.environ.get("WINDLASS_WHOLE"))
"""Play also what has its turn in other runs: `make test WHOLE=1`, and `make explore`."""
SHARES: Final = 3
"""Of the tests marked `sampled`, a run has one in so many."""
TIMES: Final = 20 if EXPLORING else 1
"""How many times as many examples property tests try."""


def examples(count: int = 100) -> settings:
    """Settings of a property test that tries `count` examples; `TIMES` as many when exploring."""
    return settings(max_examples=count * TIMES)


def usually(usual: T, *, exploring: T) -> T:
    """The size of a test: `usual` is as small as still shows what the test is about."""
    return exploring if EXPLORING else usual


def seeds(*usual: int) -> list[int]:
    """The seeds of a random test: those that once found something or, when exploring, three new ones.

    They follow from WINDLASS_EXPLORE, so that all workers collect the same tests and a run can be repeated.
    """
    return Random(_NUMBER).sample(range(1 << 32), 3) if EXPLORING else [*usual]


def in_turn(*cases: T) -> list[T]:
    """One of `cases`, which the id of the commit decides: the same in each run of a commit, and often another one in a
    run of the next. For long stories that stand on the same parts."""
    return [*cases] if WHOLE else [cases[_turn() % len(cases)]]


def sampled(cases: Iterable[T]) -> Iterator[T]:
    """One in `SHARES` of `cases`, each of which has its turn, as the id of the commit decides."""
    return (case for number, case in enumerate(cases) if WHOLE or (number + _turn()) % SHARES == 0)


@cache
def _turn() -> int:
    """The id of the commit that is checked out; 0 outside a clone."""
    asked = ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"]
    try:
        return int(subprocess.run(asked, capture_output=True, text=True, check=True).stdout, 16)
    except (OSError, subprocess.CalledProcessError):
        return 0


def on_one_platform_each(rows: Iterable[Any]) -> Iterator[Any]:
    """Rows whose ids are `<platform>-<case>`: each case on one platform, in turns; all of them when exploring."""
    by_case: dict[str, list[Any]] = {}
    for row in rows:
        by_case.setdefault(row.id.partition("-")[2], []).append(row)
    for number, same in enumerate(by_case.values()):
        yield from same if EXPLORING else [same[number % len(same)]]
