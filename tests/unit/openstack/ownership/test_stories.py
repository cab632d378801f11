"""Whatever people do with objects that own something in the cloud: nothing is lost, doubled, or taken from its owner.

What the property found is in `test_found`.
"""

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from tests.explore import usually

from .people import Act, play

EVENTS = (
    "create",
    "copy",
    "rename",
    "move",
    "backup",
    "lose",
    "restore",
    "confirm",
    "unmark",
    "delete",
    "force",
    "uninstall",
    "install",
    "kill",
    "hurry",
    "earlier",
    "forge",
    "part",
    "hand",
)
NUMBERS = st.integers(0, 3)
FIRST = st.tuples(st.just("create"), st.just(0), NUMBERS, NUMBERS)
ACTS = st.lists(st.tuples(st.sampled_from(EVENTS), NUMBERS, NUMBERS, NUMBERS), max_size=8)


@pytest.mark.slow
@settings(max_examples=usually(200, exploring=10_000))
@given(st.lists(FIRST, min_size=1, max_size=2), ACTS)
def test_whatever_people_do_nothing_of_a_living_object_is_lost_doubled_or_taken(
    first: list[Act], acts: list[Act]
) -> None:
    play([*first, *acts])
