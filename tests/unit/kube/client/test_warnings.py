"""What the API server warns of beside its answers, and who is told."""

from typing import Any

import pytest

from tests.unit.kube.http_script import Script, json, status
from tests.unit.kube.widgets import Widget
from windlass.kube.client import Client
from windlass.kube.client.warnings import once, texts
from windlass.kube.config import ClusterConfig
from windlass.kube.errors import Invalid
from windlass.kube.verbs import PatchType

WARNING = '299 - "widgets v1 is deprecated"'


WIDGET: dict[str, Any] = {
    "apiVersion": "example.com/v1",
    "kind": "Widget",
    "metadata": {"name": "a", "namespace": "here", "uid": "u", "resourceVersion": "7"},
}


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([], []),
        ([WARNING], ["widgets v1 is deprecated"]),
        (['299 - "one"', '299 - "two"'], ["one", "two"]),
        (['299 - "one, two", 299 apiserver:6443 "three"'], ["one, two", "three"]),
        (['299 - "it is called \\"spec.x\\\\y\\""'], ['it is called "spec.x\\y"']),
        (['299 - "dated" "Wed, 21 Oct 2015 07:28:00 GMT", 299 - "not dated"'], ["dated", "not dated"]),
        (['110 - "Response is Stale"'], []),
        (['299 - ""'], [""]),
        (["299", "", '299 - "never ends', "nonsense"], []),
    ],
)
def test_the_texts_of_warning_headers(headers: list[str], expected: list[str]) -> None:
    assert list(texts(headers)) == expected


async def test_whoever_asked_for_warnings_is_told_of_those_of_reads_writes_and_refusals() -> None:
    heard: list[str] = []
    async with Script() as server, Client(ClusterConfig(server=server.url), warned=heard.append) as client:
        server.then(
            json(200, WIDGET, headers={"Warning": '299 - "read"'}),
            json(200, WIDGET, headers={"Warning": '299 - "written"'}),
            status(422, "Invalid", headers={"Warning": '299 - "refused"'}),
            json(200, WIDGET),
        )
        await client.get(Widget, "a", namespace="here")
        await client.patch(Widget, "a", {}, type=PatchType.MERGE, namespace="here")
        with pytest.raises(Invalid):
            await client.patch(Widget, "a", {}, type=PatchType.MERGE, namespace="here")
        await client.get(Widget, "a", namespace="here")

    assert heard == ["read", "written", "refused"]


async def test_without_anybody_to_tell_warnings_are_passed_over() -> None:
    async with Script() as server, Client(ClusterConfig(server=server.url)) as client:
        server.then(json(200, WIDGET, headers={"Warning": WARNING}))

        assert (await client.get(Widget, "a", namespace="here")).name == "a"


def test_a_text_that_keeps_coming_is_told_once_and_again_when_it_was_forgotten() -> None:
    heard: list[str] = []
    tell = once(heard.append, remembered=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        tell(text)

    assert heard == ["a", "b", "c", "b"]
