"""Answers about images that no real registry gives on demand: other contents than were asked for, and refusals."""

import hashlib
import json
from typing import Any

import pytest

from tests.unit.os_build.registry.scripted_registry import Says, ScriptedRegistry
from windlass.os_build.registry import Denied, Found, NotAsked, Registry
from windlass.os_build.registry.answers import Refused, Shown
from windlass.os_build.registry.registry import NOTHING


def digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


CONFIG = json.dumps({"architecture": "arm64", "os": "linux"}).encode()
MANIFEST = json.dumps({"schemaVersion": 2, "config": {"digest": digest(CONFIG)}}).encode()
IMAGE = Says(200, body=MANIFEST), Says(200, body=CONFIG)
ERROR = {"errors": [{"code": "MANIFEST_INVALID", "message": "no lists here"}]}


async def shown(*script: Says, reference: str = digest(MANIFEST)) -> Any:
    async with ScriptedRegistry(*script) as registry, Registry(insecure=[registry.target.host], seconds=2) as asking:
        return await asking.architectures(registry.target, reference, None, origin="Secret mco/push")


async def pushed(*script: Says) -> tuple[Any, ScriptedRegistry]:
    async with ScriptedRegistry(*script) as registry, Registry(insecure=[registry.target.host], seconds=2) as asking:
        images = {"arm64": digest(MANIFEST)}
        found = await asking.join(registry.target, "all", images, None, origin="Secret mco/push", egress=NOTHING)
        return found, registry


async def test_an_image_is_for_the_architecture_of_its_configuration() -> None:
    assert await shown(*IMAGE) == Shown(digest(MANIFEST), ("arm64",))
    assert await shown(*IMAGE, reference="tag") == Shown(digest(MANIFEST), ("arm64",))


@pytest.mark.parametrize(
    "script",
    [
        pytest.param([Says(200, body=MANIFEST + b" ")], id="another manifest than that of the digest"),
        pytest.param([IMAGE[0], Says(200, body=CONFIG + b" ")], id="another configuration"),
        pytest.param([IMAGE[0], Says(200, endless=True)], id="a configuration without end"),
        pytest.param([IMAGE[0], Says(503)], id="no configuration"),
        pytest.param([Says(200, endless=True)], id="a manifest without end"),
        pytest.param([Says(200, body=b"<html>hello</html>")], id="a page"),
        pytest.param([Says(0)], id="cut"),
        pytest.param([Says(-1)], id="no answer"),
        pytest.param([Says(307, {"Location": "{url}/again"})], id="redirected for ever"),
    ],
)
async def test_what_is_not_what_was_asked_for_says_nothing(script: list[Says]) -> None:
    assert isinstance(await shown(*script), NotAsked)
    found, _ = await pushed(*script)
    assert isinstance(found, NotAsked)


@pytest.mark.parametrize("config", [b"{}", b'{"architecture": "", "os": "linux"}', b"[]"])
async def test_an_image_that_names_no_architecture_says_nothing(config: bytes) -> None:
    manifest = json.dumps({"schemaVersion": 2, "config": {"digest": digest(config)}}).encode()
    found = await shown(Says(200, body=manifest), Says(200, body=config), reference="tag")
    assert isinstance(found, NotAsked)
    assert found.text.endswith("does not say for which architecture it is")


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (Says(201), Found, ""),
        (Says(400, body=json.dumps(ERROR)), Refused, "400 MANIFEST_INVALID: no lists here): allow OCI image indexes"),
        (Says(404), Refused, "allow OCI image indexes there"),
        (Says(415), Refused, "allow OCI image indexes there"),
        (Says(403), Denied, "correct the credentials in Secret mco/push"),
        (Says(401), Denied, "correct the credentials in Secret mco/push"),
        (Says(429), NotAsked, "could not be pushed: the registry answers 429"),
        (Says(503), NotAsked, "could not be pushed: the registry answers 503"),
        (Says(0), NotAsked, "could not be pushed: "),
    ],
)
async def test_the_answer_to_a_list(answer: Says, kind: type[Any], words: str) -> None:
    found, registry = await pushed(*IMAGE, answer)
    assert isinstance(found, kind), found
    if words:
        assert words in found.text
    assert registry.asked[-1].startswith("PUT /v2/org/os/manifests/all")
    assert registry.headers[-1]["Content-Type"] == "application/vnd.oci.image.index.v1+json"
    assert json.loads(registry.bodies[-1])["manifests"][0]["digest"] == digest(MANIFEST)


async def test_nothing_is_pushed_before_all_images_are_seen() -> None:
    _, registry = await pushed(Says(503))
    assert [each for each in registry.asked if not each.startswith("GET ")] == []
