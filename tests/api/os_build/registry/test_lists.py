"""Lists of images on a real registry: for which architectures an image is, and what is pushed as one list.

What buildah then takes from a list is what nodes take.
"""

import json
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.builder import require_builder
from tests.pushing import layer, push
from windlass.os_build.credentials import Login
from windlass.os_build.environment import Egress
from windlass.os_build.pullspec import Target
from windlass.os_build.registry import Denied, Found, Gone, NotAsked, Registry
from windlass.os_build.registry.answers import Shown, Unlisted
from windlass.os_build.registry.index import DOCKER_LIST, OCI_INDEX, children_of
from windlass.testing.builder import push_base
from windlass.testing.registry import Auth
from windlass.testing.registry import Registry as RealRegistry

pytestmark = pytest.mark.registry

PUSHER, PULLER = Login("pusher", "s3cret"), Login("puller", "pa55word")
ORIGIN = "Secret mco/push"
NOWHERE = "sha256:" + "0" * 64


@pytest.fixture(scope="module")
def real() -> Iterator[RealRegistry]:
    with RealRegistry(auth=Auth.BASIC) as registry:
        yield registry


@pytest.fixture
def target(real: RealRegistry, request: pytest.FixtureRequest) -> Target:
    """A repository of the test's own."""
    return Target(real.host, "os/" + "".join(filter(str.isalpha, request.node.name)).lower()[:60])


class Client:
    """Asks the registry as the user `pusher`."""

    def __init__(self, real: RealRegistry, target: Target) -> None:
        secure = real.url.startswith("https")
        self._registry = Registry(insecure=[] if secure else [real.host])
        self._egress = Egress(authorities=real.ca_file.read_text() if secure else "")
        self._target = target

    async def shown(self, reference: str, login: Login | None = PULLER) -> Any:
        async with self._registry as asking:
            return await asking.architectures(self._target, reference, login, origin=ORIGIN, egress=self._egress)

    async def join(self, tag: str, images: Mapping[str, str], login: Login = PUSHER) -> Any:
        async with self._registry as asking:
            return await asking.join(self._target, tag, images, login, origin=ORIGIN, egress=self._egress)


@pytest.fixture
def client(real: RealRegistry, target: Target) -> Client:
    return Client(real, target)


def image(real: RealRegistry, target: Target, architecture: str, *, says: str = "") -> str:
    """Push an image for this architecture, which has its name in /etc/arch; its digest."""
    files = layer({"etc/arch": architecture.encode()})
    return push(real, target.path, f"one-{architecture}", files, platform={"architecture": says or architecture})


def stored(real: RealRegistry, target: Target, reference: str) -> bytes:
    """The bytes of a manifest or a list."""
    return real.images.document(target.path, reference)


def media_type(body: bytes) -> Any:
    return json.loads(body)["mediaType"]


@pytest.mark.parametrize(("auth", "tls"), [(Auth.NONE, False), (Auth.BASIC, True), (Auth.BEARER, True)])
async def test_a_list_is_pushed_in_each_way_to_log_in(auth: Auth, tls: bool) -> None:
    require_builder()
    with RealRegistry(auth=auth, tls=tls) as real:
        target = Target(real.host, "os/base")
        base = push_base(real, target.path, architectures=("amd64", "arm64")).rpartition("@")[2]
        images = {name: real.images.digest(target.path, name) for name in ("amd64", "arm64")}
        client = Client(real, target)
        made = await client.join("both", images)
        assert isinstance(made, Found), made
        for each in (base, made.digest):
            assert await client.shown(each) == Shown(each, ("amd64", "arm64"))


async def test_the_list_names_each_image_with_its_architecture(
    real: RealRegistry, target: Target, client: Client
) -> None:
    amd64, arm64 = image(real, target, "amd64"), image(real, target, "arm64")
    made = await client.join("both", {"amd64": amd64, "arm64": arm64})
    assert isinstance(made, Found), made
    assert real.images.digest(target.path, "both") == made.digest
    assert media_type(stored(real, target, "both")) == OCI_INDEX
    assert children_of(stored(real, target, made.digest)) == (amd64, arm64)
    assert await client.shown("both") == await client.shown(made.digest) == Shown(made.digest, ("amd64", "arm64"))
    assert await client.shown(arm64) == Shown(arm64, ("arm64",))


async def test_the_same_images_are_the_same_list_whenever_it_is_pushed(
    real: RealRegistry, target: Target, client: Client
) -> None:
    images = {name: image(real, target, name) for name in ("arm64", "s390x", "amd64")}
    first = await client.join("all", images)
    again = await client.join("all", dict(sorted(images.items())))
    assert isinstance(first, Found)
    assert first == again


async def test_an_image_that_is_gone_is_named_and_nothing_is_pushed(
    real: RealRegistry, target: Target, client: Client
) -> None:
    found = await client.join("both", {"amd64": image(real, target, "amd64"), "arm64": NOWHERE})
    assert isinstance(found, Unlisted)
    assert (found.architecture, found.found) == ("arm64", "")
    assert isinstance(await client.shown("both"), Gone)


async def test_an_image_for_another_architecture_is_named_and_nothing_is_pushed(
    real: RealRegistry, target: Target, client: Client
) -> None:
    amd64, arm64 = image(real, target, "amd64"), image(real, target, "arm64", says="amd64")
    found = await client.join("both", {"amd64": amd64, "arm64": arm64})
    text = f"{target}@{arm64}, built on arm64, is for amd64"
    assert found == Unlisted("arm64", text, "amd64")
    assert isinstance(await client.shown("both"), Gone)


async def test_a_list_is_no_image_of_a_list(real: RealRegistry, target: Target, client: Client) -> None:
    amd64, arm64 = image(real, target, "amd64"), image(real, target, "arm64")
    inner = await client.join("inner", {"amd64": amd64, "arm64": arm64})
    found = await client.join("outer", {"amd64": amd64, "arm64": inner.digest})
    assert found == Unlisted("arm64", f"{target}@{inner.digest} is a list itself", "a list")


async def test_whoever_may_not_push_or_see_is_told_which_secret_says_so(
    real: RealRegistry, target: Target, client: Client
) -> None:
    images = {name: image(real, target, name) for name in ("amd64", "arm64")}
    for found in (
        await client.join("both", images, PULLER),
        await client.join("both", images, Login("pusher", "wrong")),
        await client.shown("one-amd64", Login("puller", "wrong")),
    ):
        assert isinstance(found, Denied)
        assert found.text.endswith(f"correct the credentials in {ORIGIN}")


@pytest.mark.parametrize("path", ["manifests/both", "manifests/sha256", "blobs/sha256"])
@pytest.mark.parametrize("fault", [{"status": 503}, {"cut": True}], ids=str)
async def test_a_registry_that_fails_has_said_nothing(
    real: RealRegistry, target: Target, client: Client, path: str, fault: Any
) -> None:
    images = {name: image(real, target, name) for name in ("amd64", "arm64")}
    real.fault(path=path, **fault)
    try:
        assert isinstance(await client.join("both", images), NotAsked)
        if path != "manifests/both":
            assert isinstance(await client.shown(images["amd64"]), NotAsked)
    finally:
        real.clear_faults()
    assert isinstance(await client.join("both", images), Found), "it may be repeated"


@pytest.mark.parametrize("form", ["oci", "docker"])
async def test_buildah_takes_from_the_list_the_image_for_its_architecture(
    real: RealRegistry, target: Target, client: Client, form: str, tmp_path: Path
) -> None:
    require_builder()
    buildah = Buildah(real, tmp_path)
    images = {name: buildah.made(target, name, form=form) for name in ("amd64", "arm64")}
    made = await client.join("both", images)
    assert isinstance(made, Found), made
    assert media_type(stored(real, target, "both")) == {"oci": OCI_INDEX, "docker": DOCKER_LIST}[form]
    for name in images:
        assert buildah.taken(f"{target}@{made.digest}", name) == (name, f"built for {name}\n")


class Buildah:
    """The real one, as the user `pusher`, with a store of its own."""

    def __init__(self, real: RealRegistry, folder: Path) -> None:
        self._folder = folder
        self._auth = folder / "auth.json"
        self._auth.write_text(json.dumps(real.auths("pusher")))

    def made(self, target: Target, architecture: str, *, form: str) -> str:
        """Build an image for this architecture, and push it; its digest."""
        context = self._folder / architecture
        context.mkdir()
        (context / "arch").write_text(f"built for {architecture}\n")
        (context / "Containerfile").write_text("FROM scratch\nCOPY arch /arch\n")
        image, digest = f"{target}:built-{architecture}", context / "digest"
        self._run("bud", f"--arch={architecture}", f"--format={form}", f"--tag={image}", str(context))
        self._run("push", f"--authfile={self._auth}", "--tls-verify=false", f"--digestfile={digest}", image)
        return digest.read_text()

    def taken(self, image: str, architecture: str) -> tuple[str, str]:
        """The architecture of the image that is pulled for it, and its file."""
        name = self._run("from", f"--arch={architecture}", f"--authfile={self._auth}", "--tls-verify=false", image)
        shown = json.loads(self._run("inspect", name))
        mounted = Path(self._run("mount", name))
        return shown["OCIv1"]["architecture"], (mounted / "arch").read_text()

    def _run(self, *arguments: str) -> str:
        store = [f"--root={self._folder}/root", f"--runroot={self._folder}/run", "--storage-driver=vfs"]
        return subprocess.run(
            ["buildah", *store, *arguments], check=True, capture_output=True, text=True
        ).stdout.strip()
