"""The command lines of buildah, and which images of a Containerfile are its bases."""

import time
from pathlib import Path

import pytest

from windlass.os_build.backends.local.buildah import Buildah, Given, environment, images_of

STORE, CONTEXT, AUTH = Path("/store"), Path("/context"), Path("/auth.json")
IN_STORE = "buildah --root /store/root --runroot /store/run --storage-driver vfs"


def test_a_build_is_repeatable_isolated_and_asks_the_registry() -> None:
    assert " ".join(Buildah().build(STORE, context=CONTEXT, image="r.example.com/os:1", auth=AUTH)) == (
        f"{IN_STORE} build --isolation chroot --timestamp 0 --identity-label=false --layers=false --pull-always "
        "--retry 3 --retry-delay 2000ms --authfile /auth.json --tag r.example.com/os:1 "
        "--file /context/Containerfile /context"
    )


def test_a_push_writes_the_digest() -> None:
    buildah = Buildah(tls_verify=False, retries=1, delay=0.2, driver="overlay")
    assert " ".join(buildah.push(STORE, image="r.example.com/os:1", auth=None, digest=Path("/digest"))) == (
        "buildah --root /store/root --runroot /store/run --storage-driver overlay push --tls-verify=false --retry 1 "
        "--retry-delay 200ms --digestfile /digest r.example.com/os:1"
    )


@pytest.mark.parametrize(
    ("used", "verified"),
    [(["r.example.com/os:1"], True), (["r.example.com/os:1", "127.0.0.1:5000/os:1"], False)],
    ids=["another", "insecure"],
)
def test_certificates_are_checked_unless_an_image_is_in_an_insecure_registry(used: list[str], verified: bool) -> None:
    buildah = Buildah(insecure=("127.0.0.1:5000",))
    argv = buildah.build(STORE, context=CONTEXT, image="127.0.0.1:5000/os:1", auth=None, used=used)
    assert ("--tls-verify=false" not in argv) is verified
    assert "--tls-verify=false" in buildah.push(STORE, image="127.0.0.1:5000/os:1", auth=None, digest=Path("/d"))
    assert "--tls-verify=false" not in buildah.push(STORE, image="r.example.com/os:1", auth=None, digest=Path("/d"))


def test_nothing_of_our_environment_reaches_a_build_but_what_it_needs() -> None:
    ours = {"PATH": "/bin", "HOME": "/root", "HTTPS_PROXY": "http://proxy", "KUBECONFIG": "/secret", "TMPDIR": "/tmp"}
    assert environment(ours, temporary=Path("/build/tmp")) == {
        "PATH": "/bin",
        "HOME": "/root",
        "HTTPS_PROXY": "http://proxy",
        "TMPDIR": "/build/tmp",
    }


GIVEN = Given(
    registries=Path("/b/registries.conf"),
    policy=Path("/b/policy.json"),
    lent={"/etc/yum.repos.d": Path("/b/1"), "/etc/pki/entitlement": Path("/b/0")},
    proxy={"HTTPS_PROXY": "http://proxy:3128", "https_proxy": "http://proxy:3128"},
    trust=Path("/b/trust"),
    home=Path("/b/home"),
)


def test_a_build_gets_mirrors_policy_proxy_and_what_is_lent_and_a_push_only_mirrors() -> None:
    registries = "--registries-conf /b/registries.conf"
    build = " ".join(Buildah().build(STORE, context=CONTEXT, image="r.example.com/os:1", auth=None, given=GIVEN))
    assert f"{IN_STORE} {registries} build" in build
    assert (
        "--signature-policy /b/policy.json --volume=/b/0:/etc/pki/entitlement:rw --volume=/b/1:/etc/yum.repos.d:rw "
        "--build-arg=HTTPS_PROXY=http://proxy:3128 --build-arg=https_proxy=http://proxy:3128 "
    ) in build
    push = " ".join(Buildah().push(STORE, image="r.example.com/os:1", auth=None, digest=Path("/d"), given=GIVEN))
    assert f"{IN_STORE} {registries} push" in push
    # What is pushed comes from the local store, and a policy that rejects by default would refuse that.
    assert "policy" not in push
    assert "volume" not in push


def test_the_proxy_of_a_build_replaces_ours_and_its_certificates_join_those_of_the_machine() -> None:
    ours = {"PATH": "/bin", "HOME": "/root", "HTTP_PROXY": "http://ours", "no_proxy": "ours"}
    assert environment(ours, temporary=Path("/build/tmp"), given=GIVEN) == {
        "PATH": "/bin",
        "HOME": "/b/home",
        "HTTPS_PROXY": "http://proxy:3128",
        "https_proxy": "http://proxy:3128",
        "SSL_CERT_DIR": "/b/trust:/etc/ssl/certs:/etc/pki/tls/certs",
        "TMPDIR": "/build/tmp",
    }


@pytest.mark.parametrize(
    ("containerfile", "named"),
    [
        pytest.param("FROM r/os@sha256:ab", {"r/os@sha256:ab"}, id="digest"),
        pytest.param("FROM r:5000/os", {"r:5000/os", "r:5000/os:latest"}, id="no-tag"),
        pytest.param("FROM r/os:1 AS configs\nRUN true\nfrom configs as final", {"r/os:1"}, id="stages"),
        pytest.param("FROM --platform=linux/amd64 r/os:1", {"r/os:1"}, id="platform"),
        pytest.param("FROM r/os:1\nCOPY --chown=0:0 --from=r/tools:2 /a /b", {"r/os:1", "r/tools:2"}, id="copy"),
        pytest.param("FROM r/os:1\nRUN --mount=type=bind,from=r/x:3,target=/x y", {"r/os:1", "r/x:3"}, id="mount"),
        pytest.param("RUN echo FROM nothing", set(), id="no-instruction"),
    ],
)
def test_the_images_that_a_containerfile_names_are_found(containerfile: str, named: set[str]) -> None:
    assert images_of(containerfile) - {"configs", "configs:latest"} == named


def test_a_containerfile_of_blank_lines_is_read_once() -> None:
    began = time.process_time()
    assert images_of("\n" * 500_000 + " \n" * 200_000 + "\n  FROM \tone AS final\n") >= {"one", "one:latest"}
    assert time.process_time() - began < 5
