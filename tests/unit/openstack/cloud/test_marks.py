"""Whatever a user writes into a description, the mark is found again, and the description is one that Neutron takes."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from windlass.openstack.cloud.inventory import MARK
from windlass.openstack.cloud.marks import DESCRIPTION_LIMIT, described, mark_of, with_mark
from windlass.openstack.cloud.resources import Port, Server, Trunk, Volume

ONE = "0b5f4c1e-8e5f-4d0c-9b0e-3f0a2a1d7c55"


@pytest.mark.parametrize(
    ("resource", "mark"),
    [
        (Server(metadata={MARK: ONE}), ONE),
        (Volume(metadata={MARK: ONE, "a": "b"}), ONE),
        (Server(), ""),
        (Volume(metadata={"a": ONE}), ""),
        (Port(description=f"windlass-owner={ONE}"), ONE),
        (Trunk(description=f"of the second rack windlass-owner={ONE}"), ONE),
        (Port(description=f"windlass-owner=somebody windlass-owner={ONE}"), ONE),
        (Port(description=ONE), ""),
        (Trunk(), ""),
    ],
)
def test_the_mark_is_read_from_metadata_or_from_the_end_of_the_description(
    resource: Server | Volume | Port | Trunk, mark: str
) -> None:
    assert mark_of(resource) == mark


@given(st.text(max_size=400))
@example("x" * 300)
def test_the_mark_survives_every_description_of_a_user(text: str) -> None:
    description = described(text, ONE)
    assert mark_of(Port(description=description)) == ONE
    assert len(description) <= DESCRIPTION_LIMIT


def test_the_description_of_the_user_stays_in_front_of_the_mark() -> None:
    assert described("the management port", ONE) == f"the management port windlass-owner={ONE}"


def test_the_metadata_of_the_user_stays_beside_the_mark() -> None:
    assert with_mark({"role": "worker"}, ONE) == {"role": "worker", MARK: ONE}
