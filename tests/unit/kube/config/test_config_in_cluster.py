"""The ServiceAccount of a pod, and the proxies that its environment asks for."""

from pathlib import Path

import pytest

from windlass.kube.config import Credential, FromFiles, in_cluster, load
from windlass.kube.config.proxy import from_environment
from windlass.kube.errors import ConfigError

PEM = Path(__file__).parents[3] / "data" / "kube" / "tls"
POD = {"KUBERNETES_SERVICE_HOST": "172.30.0.1", "KUBERNETES_SERVICE_PORT": "443", "HOME": "/nonexistent"}


@pytest.fixture
def mount(tmp_path: Path) -> Path:
    (tmp_path / "ca.crt").write_bytes((PEM / "ca.crt").read_bytes())
    (tmp_path / "token").write_text("first\n")
    (tmp_path / "namespace").write_text("openshift-machine-api")
    return tmp_path


async def test_a_pod_finds_its_server_namespace_and_token(mount: Path) -> None:
    config = in_cluster(environ=POD, mount=mount)
    assert config.server == "https://172.30.0.1:443"
    assert config.namespace == "openshift-machine-api"
    assert config.tls.authority == (PEM / "ca.crt").read_bytes()
    assert (await config.credentials.current()).authorization == "Bearer first"
    assert in_cluster(environ=POD, mount=mount, namespace="other").namespace == "other"


def test_the_ca_may_have_comments_in_any_language(mount: Path) -> None:
    (mount / "ca.crt").write_bytes("# Főtanúsítvány\n".encode() + (PEM / "ca.crt").read_bytes())
    assert in_cluster(environ=POD, mount=mount).tls.context().get_ca_certs()


def test_a_server_with_an_ipv6_address_is_bracketed(mount: Path) -> None:
    environ = {**POD, "KUBERNETES_SERVICE_HOST": "fd02::1"}
    assert in_cluster(environ=environ, mount=mount).server == "https://[fd02::1]:443"


@pytest.mark.parametrize(
    "spoiled", [{"KUBERNETES_SERVICE_PORT": "70000"}, {"HTTPS_PROXY": "http://me:secret@proxy:70000"}]
)
def test_a_port_that_cannot_be_is_an_error_at_once_that_shows_no_password(mount: Path, spoiled: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="with a port from 1 to 65535") as caught:
        in_cluster(environ={**POD, **spoiled}, mount=mount)
    assert "secret" not in str(caught.value)


async def test_a_refused_token_is_read_again(mount: Path) -> None:
    source = in_cluster(environ=POD, mount=mount).credentials
    old = await source.current()
    assert not await source.refused(old)
    (mount / "token").write_text("second")
    assert await source.refused(old)
    assert (await source.current()).authorization == "Bearer second"


async def test_a_renewed_ca_is_trusted_and_one_that_is_half_written_is_not_tried(mount: Path) -> None:
    now, (old, new) = [0.0], ((PEM / name).read_bytes() for name in ("ca.crt", "named.crt"))
    source = in_cluster(environ=POD, mount=mount, clock=lambda: now[0]).credentials
    seen = []
    for now[0], content in ((0, old), (60, new[:200]), (61, new)):
        (mount / "ca.crt").write_bytes(content)
        seen.append((await source.current()).authority)
    assert seen == [old, old, new]


async def test_files_are_read_again_each_minute_and_an_unreadable_one_is_no_loss() -> None:
    now, content = [0.0], ["first"]

    def read() -> Credential:
        if not content[0]:
            raise ConfigError("being replaced")
        return Credential(content[0])

    source = FromFiles(read, clock=lambda: now[0])
    seen = []
    for now[0], content[0] in ((59, "second"), (60, "second"), (120, ""), (121, "third"), (180, "4th"), (181, "4th")):
        seen.append((await source.current()).authorization)
    assert seen == ["first", "second", "second", "third", "third", "4th"]


def test_load_falls_back_to_the_pod_only_without_a_kubeconfig(mount: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match=r"/var/run/secrets/.*/ca.crt: cannot be read.*automountServiceAccountToken"):
        load(environ=POD)
    with pytest.raises(ConfigError, match="no kubeconfig"):
        load(context="prod", environ=POD)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        ({"token": ""}, r"/token: is empty"),
        ({"ca.crt": "junk"}, r"/ca.crt: the CA bundle holds no usable PEM"),
    ],
)
def test_a_spoiled_mount_is_named(mount: Path, spoil: dict[str, str], message: str) -> None:
    for name, content in spoil.items():
        (mount / name).write_text(content)
    with pytest.raises(ConfigError, match=message):
        in_cluster(environ=POD, mount=mount)


def test_outside_a_pod_there_is_no_service_account(mount: Path) -> None:
    with pytest.raises(ConfigError, match="not in a pod: KUBERNETES_SERVICE_HOST is not set"):
        in_cluster(environ={}, mount=mount)


OPENSHIFT = ".cluster.local,.svc,10.0.0.0/16,10.128.0.0/14,127.0.0.1,172.30.0.0/16,api-int.ocp.example.com,localhost"


@pytest.mark.parametrize(
    ("server", "no_proxy", "proxied"),
    [
        ("https://172.30.0.1:443", OPENSHIFT, False),
        ("https://172.31.0.1:443", OPENSHIFT, True),
        ("https://kubernetes.default.svc:443", OPENSHIFT, False),
        ("https://api-int.ocp.example.com:6443", OPENSHIFT, False),
        ("https://api.ocp.example.com:6443", OPENSHIFT, True),
        ("https://api.ocp.example.com:6443", "example.com", False),
        ("https://myexample.com", "example.com", True),
        ("https://api.ocp.example.com:6443", "*.example.com", False),
        ("https://example.com", ".example.com", True),
        ("https://example.com:6443", "example.com:6443", False),
        ("https://example.com:6443", "example.com:443", True),
        ("https://10.1.2.3:6443", "10.1.2.3:6443", False),
        ("https://10.1.2.3:6443", "10.1.2.30", True),
        ("https://[fd02::1]:443", "fd02::/112", False),
        ("https://[fd02::1]:443", "fd02::1", False),
        ("https://api.example.com", "*", False),
        ("https://api.example.com", "10.0.0.0/99, ,nonsense/", True),
        ("https://127.0.0.1:6443", "", False),
        ("https://localhost:6443", "", False),
        ("http://api.example.com", "", False),
    ],
)
def test_no_proxy_is_read_as_go_programs_read_it(server: str, no_proxy: str, proxied: bool) -> None:
    environ = {"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": no_proxy}
    assert from_environment(server, environ) == ("http://proxy:3128" if proxied else None)


def test_variables_may_be_small_letters_and_proxies_without_scheme() -> None:
    assert from_environment("https://api", {"https_proxy": "proxy:3128"}) == "http://proxy:3128"
    assert from_environment("http://api", {"HTTP_PROXY": "http://plain:1"}) == "http://plain:1"
    assert from_environment("https://api", {}) is None
