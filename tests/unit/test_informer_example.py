"""What `examples/informer` tells of a cluster."""

from typing import Any

import msgspec
import pytest

from examples.informer.informer import EndpointSlice, Mutating, Validating, blocking
from windlass.api.core import Namespace
from windlass.api.update_informer import UpdateInsightsResponse
from windlass.informer import InformedInsight
from windlass.model import MemoryApi
from windlass.update_status.informers.answers import read_answer

WEBHOOK: dict[str, Any] = {
    "name": "guard.example.com",
    "clientConfig": {"service": {"namespace": "shop", "name": "guard"}},
    "rules": [{"resources": ["pods"]}],
}


async def told(*webhooks: dict[str, Any], endpoints: Any = (), kind: Any = Validating) -> list[InformedInsight]:
    """Of a configuration `guard`; `endpoints` are those of the Service shop/guard, None: null."""
    api = MemoryApi(Namespace, EndpointSlice, Mutating, Validating)
    await api.create(Namespace, {"metadata": {"name": "shop"}})
    await api.create(kind, {"metadata": {"name": "guard"}, "webhooks": list(webhooks)})
    labels = {"kubernetes.io/service-name": "guard"}
    made = {"metadata": {"name": "guard-1", "labels": labels}, "endpoints": endpoints}
    await api.create(EndpointSlice, made, namespace="shop")
    return await blocking(api)


@pytest.mark.parametrize(
    ("endpoints", "insights"),
    [
        ([], 1),
        (None, 1),
        ([{"conditions": {"ready": False}}], 1),
        ([{"conditions": {"ready": False}}, {"conditions": {"ready": True}}], 0),
        ([{"conditions": {}}], 0),
        ([{}], 0),
    ],
)
async def test_a_service_answers_if_one_endpoint_is_not_known_to_be_unready(endpoints: Any, insights: int) -> None:
    assert len(await told(WEBHOOK, endpoints=endpoints)) == insights


@pytest.mark.parametrize(
    "fields",
    [{"failurePolicy": "Ignore"}, {"clientConfig": {"url": "https://example.com"}}, {"clientConfig": {}}],
)
async def test_a_webhook_that_need_not_answer_or_is_no_service_is_not_told(fields: dict[str, Any]) -> None:
    assert await told({**WEBHOOK, **fields}) == []


@pytest.mark.parametrize(
    ("resources", "level"),
    [
        (["pods"], "Error"),
        (["pods/eviction"], "Error"),
        (["configmaps", "nodes"], "Error"),
        (["*"], "Error"),
        (["*/*"], "Error"),
        (["configmaps"], "Warning"),
        (["podsecuritypolicies"], "Warning"),
        ([], "Warning"),
    ],
)
async def test_it_is_an_error_if_pods_or_nodes_are_concerned(resources: list[str], level: str) -> None:
    (one,) = await told({**WEBHOOK, "rules": [{"resources": resources}]})
    assert one.impact.level == level


async def test_each_webhook_has_a_uid_that_stays() -> None:
    two = (WEBHOOK, {**WEBHOOK, "name": "other.example.com"})
    first, second, mutating = await told(*two), await told(*reversed(two)), await told(*two, kind=Mutating)
    assert [one.uid for one in first] == [one.uid for one in reversed(second)]
    assert len({one.uid for one in (*first, *mutating)}) == 4


async def test_the_controller_takes_all_that_it_tells() -> None:
    raw = [msgspec.Raw(msgspec.json.encode(one)) for one in await told(WEBHOOK)]
    answer = read_answer(
        msgspec.json.encode(UpdateInsightsResponse(api_version="update.openshift.io/v1alpha1", insights=raw)), now=0
    )
    assert answer.refused == ()
    (one,) = [each.insight for each in answer.insights]
    assert one.summary == "Nobody answers for webhook guard.example.com: Service shop/guard has no ready endpoint"
    assert len(one.resources) == 2
