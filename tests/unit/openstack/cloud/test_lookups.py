"""Which resources answer a query, and which answers are kept."""

from typing import Any

import pytest

from windlass.openstack.cloud.lookups import matching
from windlass.openstack.cloud.query import Query
from windlass.openstack.cloud.questions import Questions
from windlass.openstack.cloud.resources import Flavor
from windlass.openstack.cloud.session import Reply
from windlass.openstack.cloud.wire import Http

SMALL, LARGE = Flavor(id="1", name="small"), Flavor(id="2", name="large")
BY_NAME = Query("image", filters=(("name", "rhcos"),))


@pytest.mark.parametrize(
    ("query", "found"),
    [
        pytest.param(Query("flavor", id="2"), (LARGE,), id="by ID"),
        pytest.param(Query("flavor", filters=(("name", "small"),)), (SMALL,), id="by name"),
        pytest.param(Query("flavor", id="3"), (), id="none"),
    ],
)
def test_of_a_list_that_the_service_does_not_filter_the_right_ones_are_taken(query: Query, found: Any) -> None:
    assert matching(query, (SMALL, LARGE)) == found


@pytest.mark.parametrize(
    ("body", "asked"),
    [
        pytest.param(b'{"images": [{"id": "i", "name": "rhcos", "status": "active"}]}', 1, id="an image stays"),
        pytest.param(b'{"images": []}', 2, id="it may be uploaded a moment later"),
    ],
)
async def test_only_what_was_found_is_kept(body: bytes, asked: int) -> None:
    sent: list[Http] = []

    async def ask(request: Http, **_: Any) -> Reply:
        sent.append(request)
        return Reply(200, {}, body)

    questions = Questions(ask, project_id="p", clock=lambda: 0.0)
    for _ in range(2):
        await questions.find([BY_NAME])
    assert len(sent) == asked
