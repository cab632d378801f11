"""What belongs to an image, in plans: what is remembered of attempts to attach it, and that no secret is shown."""

import json

from tests.unit.os_build.registry.scripted_registry import Says, ScriptedRegistry, Watch
from windlass.os_build.credentials import Auths, Login
from windlass.os_build.registry import Registry
from windlass.os_build.sbom.attach import MARK, SPDX
from windlass.os_build.sbom.carrier import COUNTS, AttachContents, ContentsCarrier, Document, IsAttached
from windlass.os_build.signing.carrier import KeyData, SignaturesCarrier, SignImage

DIGEST = f"sha256:{'0' * 64}"
HAS_ONE = Says(200, body=json.dumps({"manifests": [{"artifactType": SPDX, "annotations": {MARK: "1"}}]}))


def request(server: ScriptedRegistry, versions: str = "1") -> AttachContents:
    auths = Auths({server.target.host: Login("robot", "s3cret")}, b'{"auths": "s3cret"}')
    image = f"{server.target}@{DIGEST}"
    document = Document(b"contents that are long")
    return AttachContents(image=image, versions=versions, document=document, secret="mco/push", auths=auths)


def signing(like: AttachContents, name: str) -> SignImage:
    key = KeyData({name: "s3cret"})
    return SignImage(
        image=like.image, versions="1", key=key, key_secret="mco/signing", secret=like.secret, auths=like.auths
    )


async def test_a_failure_counts_for_a_while_and_for_these_secrets() -> None:
    clock = Watch()
    async with ScriptedRegistry(Says(403)) as server, Registry(insecure=["127.0.0.1"]) as registry:
        carrier, asked = ContentsCarrier(registry, clock=clock), request(server)
        question = IsAttached(asked.image, asked.versions)
        assert await carrier.answer(question) is None
        why = await carrier.send(asked)
        assert "Secret mco/push" in why
        clock.time = COUNTS - 1
        assert await carrier.answer(question) == why
        assert await carrier.answer(IsAttached(asked.image, "2")) is None
        clock.time = COUNTS
        assert await carrier.answer(question) is None


async def test_what_is_there_is_there_for_ever() -> None:
    clock = Watch()
    async with ScriptedRegistry(HAS_ONE) as server, Registry(insecure=["127.0.0.1"]) as registry:
        carrier, asked = ContentsCarrier(registry, clock=clock), request(server)
        assert await carrier.send(asked) == ""
        clock.time = 1e9
        assert await carrier.answer(IsAttached(asked.image, asked.versions)) == ""
        assert server.asked == [f"GET /v2/org/os/referrers/{DIGEST}"]


async def test_an_attempt_without_an_answer_keeps_no_image_back() -> None:
    async with ScriptedRegistry(Says(403)) as server, Registry(insecure=["127.0.0.1"]) as registry:
        carrier, asked = ContentsCarrier(registry), request(server)
        carrier.doubt(asked)
        assert await carrier.answer(IsAttached(asked.image, asked.versions)) == "the registry did not answer"


async def test_the_memory_of_attempts_is_bounded() -> None:
    async with ScriptedRegistry(Says(403)) as server, Registry(insecure=["127.0.0.1"]) as registry:
        carrier = ContentsCarrier(registry)
        for number in range(1002):
            carrier.doubt(request(server, str(number)))
        image = request(server).image
        kept = [number for number in range(1002) if await carrier.answer(IsAttached(image, str(number)))]
    assert kept == [*range(2, 1002)]


async def test_a_key_that_cannot_be_used_is_told_with_the_command_for_its_secret() -> None:
    async with ScriptedRegistry(Says(403)) as server, Registry(insecure=["127.0.0.1"]) as registry:
        asked = signing(request(server), "cosign.pub")
        why = await SignaturesCarrier(registry).send(asked)
        assert server.asked == []
    assert why.startswith("Secret mco/signing: cosign.key is missing or empty")
    assert "`cosign generate-key-pair k8s://mco/signing`" in why


def test_nothing_secret_of_an_attachment_is_shown() -> None:
    asked = request(ScriptedRegistry(Says(403)))
    for each in (asked, signing(asked, "cosign.key")):
        shown = f"{each!r} {each.diff()}"
        assert "mco/push" in shown
        assert "s3cret" not in shown
        assert "contents that are long" not in shown
