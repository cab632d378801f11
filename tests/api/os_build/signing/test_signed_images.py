"""Signed images are judged by containers/image, the library of nodes: a policy takes them, and refuses all others."""

import base64
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.pushing import layer, push
from windlass.os_build.credentials import Login
from windlass.os_build.pullspec import Target
from windlass.os_build.registry import Registry
from windlass.os_build.registry.index import OCI_INDEX
from windlass.os_build.registry.repository import Repository, Trouble
from windlass.os_build.signing.attach import sign
from windlass.os_build.signing.key import SigningKey
from windlass.os_build.signing.payload import signatures_in, tag_of
from windlass.os_build.signing.trust import machine_config, policy, registries_d
from windlass.testing.binaries import CONTAINERS_IMAGE, obtain
from windlass.testing.registry import Registry as RealRegistry

pytestmark = pytest.mark.registry

Pull = Callable[[str, str], "subprocess.CompletedProcess[str]"]
OURS, THEIRS = SigningKey(ec.generate_private_key(ec.SECP256R1())), SigningKey(ec.generate_private_key(ec.SECP256R1()))


@pytest.fixture
def target(registry: RealRegistry, request: pytest.FixtureRequest) -> Target:
    return Target(registry.host, f"signed/{request.node.name.lower()[:40].strip('_')}")


@pytest.fixture
def pull(registry: RealRegistry, target: Target, tmp_path: Path) -> Pull:
    """Pulls an image on a node that demands signatures by a key of the repository of the test."""
    files = {
        each["path"]: base64.b64decode(each["contents"]["source"].partition("base64,")[2])
        for each in machine_config(target, OURS.public, pool="worker")["spec"]["config"]["storage"]["files"]
    }

    program = obtain([CONTAINERS_IMAGE]).program("node-pull")
    folder, policy_file, authfile = tmp_path / "registries.d", tmp_path / "policy.json", tmp_path / "auth.json"
    folder.mkdir()
    (folder / "os.yaml").write_bytes(files["/etc/containers/registries.d/machine-os-images.yaml"])
    authfile.write_text(json.dumps(registry.auths("puller")))

    def run(image: str, public: str = "") -> "subprocess.CompletedProcess[str]":
        demanded = files["/etc/containers/policy.json"]
        policy_file.write_bytes(json.dumps(policy(target, public)).encode() if public else demanded)
        pulled = tmp_path / str(len([*tmp_path.iterdir()]))
        return subprocess.run(
            [program, policy_file, folder, authfile, image, pulled], capture_output=True, text=True, timeout=60
        )

    return run


def repository(client: Registry, target: Target, *, login: Login = Login("pusher", "s3cret")) -> Repository:  # noqa: B008
    return client.repository(target, login, actions="pull,push", origin="Secret mco/push")


async def test_a_node_with_the_policy_takes_a_signed_image_and_refuses_it_before(
    registry: RealRegistry, target: Target, pull: Pull
) -> None:
    digest = push(registry, target.path, "v1", layer({"etc/motd": b"hello"}))
    refused = pull(target.digested(digest), "")
    assert refused.returncode != 0
    assert "A signature was required, but no signature exists" in refused.stderr
    async with Registry(insecure=[registry.host]) as client:
        assert await sign(repository(client, target), digest, OURS) is True
    assert pull(target.digested(digest), "").returncode == 0
    other = pull(target.digested(digest), THEIRS.public)
    assert other.returncode != 0


async def test_a_signature_of_another_image_or_repository_is_worth_nothing(
    registry: RealRegistry, target: Target, pull: Pull
) -> None:
    signed = push(registry, target.path, "v1", layer({"etc/motd": b"one"}))
    moved = push(registry, target.path, "v2", layer({"etc/motd": b"two"}))
    async with Registry(insecure=[registry.host]) as client:
        there = repository(client, target)
        await sign(there, signed, OURS)
        found = await there.manifest(tag_of(signed))
        assert found is not None
        await there.put_manifest(tag_of(moved), found.content, media_type=found.media_type)
        assert await sign(there, moved, OURS) is True
        elsewhere = Target(registry.host, f"{target.path}-elsewhere")
        push(registry, elsewhere.path, "v1", layer({"etc/motd": b"one"}))
    assert pull(target.digested(moved), "").returncode == 0


async def test_an_image_is_signed_once_and_signatures_by_others_stay(
    registry: RealRegistry, target: Target, pull: Pull
) -> None:
    digest = push(registry, target.path, "v1", layer({"etc/motd": b"hello"}))
    async with Registry(insecure=[registry.host]) as client:
        there = repository(client, target)
        assert [await sign(there, digest, key) for key in (THEIRS, OURS, OURS, THEIRS)] == [True, True, False, False]
        found = await there.manifest(tag_of(digest))
    assert found is not None
    assert len([*signatures_in(found.document)]) == 2
    assert pull(target.digested(digest), "").returncode == 0
    assert pull(target.digested(digest), THEIRS.public).returncode == 0


async def test_each_image_of_a_list_is_signed(registry: RealRegistry, target: Target) -> None:
    one, two = (push(registry, target.path, tag, layer({"x": tag.encode()})) for tag in ("one", "two"))
    async with Registry(insecure=[registry.host]) as client:
        there = repository(client, target)
        listed = [
            {"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": each, "size": 1}
            for each in (one, two)
        ]
        for entry in listed:
            found = await there.manifest(str(entry["digest"]))
            assert found is not None
            entry["size"] = len(found.content)
        content = json.dumps({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": listed}).encode()
        await there.put_manifest("list", content, media_type=OCI_INDEX)
        listing = await there.manifest("list")
        assert listing is not None
        assert await sign(there, listing.digest, OURS) is True
        assert await sign(there, listing.digest, OURS) is False
    tags = registry.images.tags(target.path)
    assert {tag_of(each) for each in (one, two, listing.digest)} <= {*tags}


async def test_an_image_that_the_registry_does_not_have_is_not_signed(registry: RealRegistry, target: Target) -> None:
    async with Registry(insecure=[registry.host]) as client:
        with pytest.raises(Trouble, match="does not have"):
            await sign(repository(client, target), "sha256:" + "d" * 64, OURS)


@pytest.mark.parametrize("rule", [{"status": 503}, {"cut": True}, {"status": 403}])
@pytest.mark.parametrize("at", ["POST", "PUT", "GET"])
async def test_a_registry_that_fails_leaves_an_image_unsigned_and_that_is_told(
    registry: RealRegistry, target: Target, rule: dict[str, object], at: str
) -> None:
    digest = push(registry, target.path, "v1", layer({"etc/motd": f"{rule}{at}".encode()}))
    registry.fault(method=at, path=target.path, **rule)
    async with Registry(insecure=[registry.host]) as client:
        with pytest.raises(Trouble):
            await sign(repository(client, target), digest, OURS)
        registry.clear_faults()
        assert await sign(repository(client, target), digest, OURS) is True


def test_what_is_printed_for_nodes_has_no_private_part(target: Target) -> None:
    text = json.dumps([policy(target, OURS.public), registries_d(target)])
    private = OURS._key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    assert base64.b64encode(private).decode() not in text
