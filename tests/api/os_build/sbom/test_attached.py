"""Lists of contents in a real registry, which has no referrers of its own, and where a registry has them."""

import json

import pytest

from tests.pushing import layer, push
from tests.unit.os_build.registry.scripted_registry import Says, ScriptedRegistry
from windlass.os_build.credentials import Login
from windlass.os_build.pullspec import Target
from windlass.os_build.registry import Registry
from windlass.os_build.registry.repository import Trouble
from windlass.os_build.sbom.attach import SPDX, attach, fallback_tag
from windlass.testing.registry import Registry as RealRegistry

pytestmark = pytest.mark.registry

DOCUMENT = b'{"spdxVersion": "SPDX-2.3"}'
PUSHER = Login("pusher", "s3cret")


async def test_a_document_is_found_from_its_image_and_attached_once(registry: RealRegistry) -> None:
    target = Target(registry.host, "contents/os")
    digest = push(registry, target.path, "v1", layer({"etc/motd": b"hello"}))
    async with Registry(insecure=[registry.host]) as client:
        there = client.repository(target, PUSHER, actions="pull,push", origin="Secret mco/push")
        assert [await attach(there, digest, DOCUMENT) for _ in range(2)] == [True, False]
        listed = await there.manifest(fallback_tag(digest))
        assert listed is not None
        [entry] = listed.document["manifests"]
        assert entry["artifactType"] == SPDX
        artifact = await there.manifest(entry["digest"])
        assert artifact is not None
        assert artifact.document["subject"]["digest"] == digest
        assert await there.blob(artifact.document["layers"][0]["digest"]) == DOCUMENT


async def test_what_others_attached_stays(registry: RealRegistry) -> None:
    target = Target(registry.host, "contents/others")
    digest = push(registry, target.path, "v1", layer({"etc/motd": b"hello"}))
    other = push(registry, target.path, "other", layer({"x": b"y"}))
    async with Registry(insecure=[registry.host]) as client:
        there = client.repository(target, PUSHER, actions="pull,push", origin="Secret mco/push")
        found = await there.manifest(other)
        assert found is not None
        entry = {"mediaType": found.media_type, "digest": other, "size": len(found.content), "artifactType": SPDX}
        kind = "application/vnd.oci.image.index.v1+json"
        index = json.dumps({"schemaVersion": 2, "mediaType": kind, "manifests": [entry]}).encode()
        await there.put_manifest(fallback_tag(digest), index, media_type=kind)
        assert await attach(there, digest, DOCUMENT) is True
        listed = await there.manifest(fallback_tag(digest))
    assert listed is not None
    first, _ = listed.document["manifests"]
    assert first["digest"] == other


async def test_a_registry_that_lists_what_is_attached_is_asked_for_that_alone() -> None:
    ours = {"manifests": [{"artifactType": SPDX, "annotations": {"io.windlass.contents": "1"}}]}
    async with (
        ScriptedRegistry(Says(200, {}, json.dumps(ours))) as scripted,
        Registry(insecure=[scripted.target.host]) as client,
    ):
        there = client.repository(scripted.target, None, actions="pull,push", origin="Secret mco/push")
        assert await attach(there, "sha256:" + "a" * 64, DOCUMENT) is False
    assert scripted.asked == ["GET /v2/org/os/referrers/sha256:" + "a" * 64]


@pytest.mark.parametrize("at", ["GET", "POST", "PUT"])
async def test_a_registry_that_fails_is_told(registry: RealRegistry, at: str) -> None:
    target = Target(registry.host, "contents/failing")
    digest = push(registry, target.path, "v1", layer({"etc/motd": at.encode()}))
    registry.fault(method=at, path=target.path, status=503)
    async with Registry(insecure=[registry.host]) as client:
        there = client.repository(target, PUSHER, actions="pull,push", origin="Secret mco/push")
        with pytest.raises(Trouble):
            await attach(there, digest, DOCUMENT)
