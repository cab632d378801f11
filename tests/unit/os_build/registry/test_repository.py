"""What a repository holds, as registries tell it that no real one is on demand."""

import hashlib
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.unit.os_build.registry.scripted_registry import Says, ScriptedRegistry
from windlass.os_build.registry.registry import Registry
from windlass.os_build.registry.repository import MOST_TAGS, Repository, Trouble, Why

MANIFEST = json.dumps({"schemaVersion": 2, "config": {"digest": "sha256:" + "1" * 64}})
DIGEST = f"sha256:{hashlib.sha256(MANIFEST.encode()).hexdigest()}"
OTHER = "sha256:" + "b" * 64


def error(code: str) -> str:
    return json.dumps({"errors": [{"code": code, "message": "a fault of the test"}]})


async def asked(scripted: ScriptedRegistry, ask: Callable[[Repository], Awaitable[Any]]) -> Any:
    async with Registry(insecure=[scripted.target.host], seconds=5.0) as registry:
        repository = registry.repository(scripted.target, None, actions="pull", origin="Secret mco/push")
        return await ask(repository)


async def test_a_list_of_tags_may_have_pages() -> None:
    more = {"Link": '</v2/org/os/tags/list?last=b&n=2>; rel="next"'}
    pages = [Says(200, more, json.dumps({"tags": ["a", "b"]})), Says(200, {}, json.dumps({"tags": ["c"]}))]
    async with ScriptedRegistry(*pages) as scripted:
        assert await asked(scripted, lambda repository: repository.tags()) == ("a", "b", "c")
        assert [each.partition("?")[2] for each in scripted.asked] == ["n=1000", "last=b&n=2"]


@pytest.mark.parametrize(
    ("says", "why"),
    [
        pytest.param(Says(200, {}, json.dumps({"tags": ["a"] * (MOST_TAGS + 1)})), Why.UNSUPPORTED, id="too many"),
        pytest.param(Says(200, {}, json.dumps({"tags": "a"})), Why.UNANSWERED, id="no list"),
        pytest.param(
            Says(200, {"Link": '<http://[>; rel="next"'}, json.dumps({"tags": ["a"]})),
            Why.UNANSWERED,
            id="no next page",
        ),
        pytest.param(Says(404, {}, "<html>"), Why.UNANSWERED, id="a page that is no registry's"),
        pytest.param(Says(503), Why.UNANSWERED, id="503"),
        pytest.param(Says(0), Why.UNANSWERED, id="cut"),
        pytest.param(Says(403, {}, error("DENIED")), Why.DENIED, id="403"),
        pytest.param(Says(405, {}, error("UNSUPPORTED")), Why.UNSUPPORTED, id="405"),
    ],
)
async def test_tags_that_are_not_told_are_not_taken_for_none(says: Says, why: Why) -> None:
    async with ScriptedRegistry(says) as scripted:
        with pytest.raises(Trouble) as raised:
            await asked(scripted, lambda repository: repository.tags())
    assert raised.value.why is why


async def test_pages_without_end_come_to_an_end() -> None:
    more = {"Link": '</v2/org/os/tags/list?last=b>; rel="next"'}
    async with ScriptedRegistry(Says(200, more, json.dumps({"tags": ["a"] * 1000}))) as scripted:
        with pytest.raises(Trouble, match="more than 5000 tags"):
            await asked(scripted, lambda repository: repository.tags())
    empty = Says(200, more, json.dumps({"tags": []}))
    async with ScriptedRegistry(empty) as scripted:
        assert await asked(scripted, lambda repository: repository.tags()) == ()


@pytest.mark.parametrize(
    ("says", "found"),
    [
        pytest.param(Says(200, {}, MANIFEST), DIGEST, id="there"),
        pytest.param(Says(404, {}, error("MANIFEST_UNKNOWN")), None, id="not there"),
        pytest.param(Says(404, {}, error("NAME_UNKNOWN")), None, id="no repository"),
        pytest.param(Says(404, {}, ""), Why.UNANSWERED, id="404 of somebody else"),
        pytest.param(Says(200, {}, "{}"), Why.UNANSWERED, id="another manifest"),
        pytest.param(Says(401, {}, error("UNAUTHORIZED")), Why.DENIED, id="401"),
        pytest.param(Says(-1), Why.UNANSWERED, id="hangs"),
    ],
)
async def test_a_manifest_is_there_or_not_or_nobody_knows(says: Says, found: str | Why | None) -> None:
    async with (
        ScriptedRegistry(says) as scripted,
        Registry(insecure=[scripted.target.host], seconds=0.5 if says.status == -1 else 5.0) as registry,
    ):
        repository = registry.repository(scripted.target, None, actions="pull", origin="Secret mco/push")
        if isinstance(found, Why):
            with pytest.raises(Trouble) as raised:
                await repository.manifest(DIGEST)
            assert raised.value.why is found
        else:
            manifest = await repository.manifest(DIGEST)
            assert (manifest.digest if manifest else None) == found


@pytest.mark.parametrize(
    ("says", "why"),
    [
        (Says(202), None),
        (Says(404, {}, error("MANIFEST_UNKNOWN")), None),
        (Says(404, {}, ""), Why.UNANSWERED),
        (Says(405, {}, error("UNSUPPORTED")), Why.UNSUPPORTED),
        (Says(405), Why.UNSUPPORTED),
        (Says(403, {}, error("DENIED")), Why.DENIED),
        (Says(429), Why.UNANSWERED),
        (Says(302, {"Location": "{url}/elsewhere"}), Why.UNANSWERED),
    ],
)
async def test_a_removal_is_done_or_refused_or_unknown(says: Says, why: Why | None) -> None:
    async with ScriptedRegistry(says) as scripted:
        if why is None:
            await asked(scripted, lambda repository: repository.delete(DIGEST))
        else:
            with pytest.raises(Trouble) as raised:
                await asked(scripted, lambda repository: repository.delete(DIGEST))
            assert raised.value.why is why
    assert scripted.asked[0] == f"DELETE /v2/org/os/manifests/{DIGEST}"


async def test_nothing_is_removed_by_a_tag() -> None:
    async with ScriptedRegistry(Says(202)) as scripted:
        with pytest.raises(ValueError, match="never by a tag"):
            await asked(scripted, lambda repository: repository.delete("latest"))
    assert scripted.asked == []
