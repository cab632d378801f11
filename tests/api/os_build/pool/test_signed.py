"""Images that buildah really built are signed and get their list of contents before a pool has them."""

import base64
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.api.os_build.pool.cluster import Cluster
from tests.api.os_build.pool.stage import HANDS, JobHands, OpenShiftHands, at_work
from tests.pushing import layer, push
from windlass.api.core import Secret
from windlass.os_build.pullspec import Target
from windlass.os_build.request import BackendName
from windlass.os_build.sbom.attach import fallback_tag
from windlass.os_build.signing.key import key_of
from windlass.os_build.signing.trust import policy, registries_d
from windlass.testing.binaries import CONTAINERS_IMAGE, obtain
from windlass.testing.builds.openshift import Built

KEY = ec.generate_private_key(ec.SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


async def add_key(cluster: Cluster) -> None:
    await cluster.put(Secret, "signing", {"data": {"cosign.key": base64.b64encode(KEY).decode()}})


def node_pulls(cluster: Cluster, image: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """What a node does that demands signatures by the key."""
    target = Target.parse(image.partition("@")[0])
    files: dict[str, Any] = {
        "policy.json": policy(target, key_of(KEY).public),
        "registries.d/os.yaml": registries_d(target),
        "auth.json": cluster.registry.auths("puller"),
    }
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(content))
    program = obtain([CONTAINERS_IMAGE]).program("node-pull")
    places = [folder / each for each in ("policy.json", "registries.d", "auth.json")]
    return subprocess.run([program, *places, image, folder / "pulled"], capture_output=True, text=True, timeout=60)


async def test_a_node_takes_the_image_of_a_pool_and_finds_its_contents(cluster: Cluster, tmp_path: Path) -> None:
    await cluster.configure(BackendName.LOCAL)
    await add_key(cluster)
    async with at_work(cluster, folder=tmp_path / "builds", signing_key="signing", sbom=True):
        await cluster.add_pool("worker")
        image = await cluster.until_built("worker", "rendered-worker-1")
    pulled = node_pulls(cluster, image, tmp_path)
    assert pulled.returncode == 0, pulled.stderr
    images, digest = cluster.registry.images, image.partition("@")[2]
    [layer] = images.manifest(cluster.repository, fallback_tag(digest))["layers"]
    assert layer["mediaType"] == "application/spdx+json"


@pytest.mark.parametrize("backend", [BackendName.OPENSHIFT, BackendName.JOB])
async def test_a_pool_gets_no_image_until_there_is_a_key_whatever_built_it(
    cluster: Cluster, backend: BackendName
) -> None:
    await cluster.configure(backend)
    async with at_work(cluster, signing_key="signing") as stage:
        await cluster.add_pool("worker")
        name = await stage.begun("worker")
        digest = push(cluster.registry, cluster.repository, name, layer({"etc/motd": name.encode()}))
        hands = HANDS[backend](cluster)
        await hands.run(name)
        await cluster.until("worker", "BuildRunning", text=name)
        if isinstance(hands, JobHands):
            await hands.push(name, digest)
        else:
            assert isinstance(hands, OpenShiftHands)
            await hands.builds.end(name, Built(digest=digest))
        await cluster.until("worker", "SigningFailed", text="which --signing-key names, does not exist")
        assert "desired-os-image" not in json.dumps(await cluster.annotations("worker"))
        await add_key(cluster)
        assert await cluster.until_built("worker", "rendered-worker-1") == f"{cluster.target}@{digest}"
