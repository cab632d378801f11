"""Kubeconfigs: what tools write is understood, what is wrong is named."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from windlass.kube.config import ClusterConfig, ExecPlugin, FixedCredential, FromFiles, Impersonation, load
from windlass.kube.errors import ConfigError

DATA = Path(__file__).parents[3] / "data" / "kube"
PEM = DATA / "tls"
NOWHERE = {"HOME": "/nonexistent"}


def data(name: str) -> str:
    return base64.b64encode((PEM / name).read_bytes()).decode()


def write(path: Path, **top: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config", **top}))
    return path


def named(kind: str, **entries: Any) -> list[dict[str, Any]]:
    return [{"name": name, kind: value} for name, value in entries.items()]


def simple(
    path: Path, *, cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None, **context: Any
) -> Path:
    """A file with one context, cluster and user, of which `cluster`, `user` and `context` are more fields."""
    return write(
        path,
        clusters=named("cluster", c={"server": "https://api:6443", **(cluster or {})}),
        users=named("user", u=user or {}),
        contexts=named("context", x={"cluster": "c", "user": "u", **context}),
        **{"current-context": "x"},
    )


def read(path: Path, **how: Any) -> ClusterConfig:
    return load(kubeconfig=path, environ=how.pop("environ", NOWHERE), **how)


async def authorization(config: ClusterConfig) -> str:
    return (await config.credentials.current()).authorization


@pytest.mark.parametrize(
    ("file", "server"),
    [
        ("kind.yaml", "https://127.0.0.1:37423"),
        ("k3s.yaml", "https://127.0.0.1:6443"),
        ("openshift-installer.yaml", "https://api.ocp.example.com:6443"),
    ],
)
async def test_an_administrators_client_certificate_is_used(file: str, server: str) -> None:
    config = read(DATA / "kubeconfig" / file)
    assert config.server == server
    assert config.namespace == "default"
    assert config.tls.authority == (PEM / "ca.crt").read_bytes()
    credential = await config.credentials.current()
    assert credential.authorization == ""
    assert credential.certificate is not None
    assert credential.certificate.key == (PEM / "client.key").read_bytes()
    config.tls.context(credential.certificate)


async def test_what_oc_login_writes_is_read() -> None:
    config = read(DATA / "kubeconfig" / "oc-login.yaml")
    assert config.server == "https://api.ocp.example.com:6443"
    assert config.namespace == "openshift-machine-api"
    assert (await authorization(config)).startswith("Bearer sha256~Zk9t")
    other = read(DATA / "kubeconfig" / "oc-login.yaml", context="default/api-crc-testing:6443/developer")
    assert other.tls.insecure
    assert (await authorization(other)).startswith("Bearer sha256~3hM1")


async def test_what_rancher_writes_is_read() -> None:
    config = read(DATA / "kubeconfig" / "rancher.yaml")
    assert config.server == "https://rancher.example.com/k8s/clusters/c-m-7x2kq9fd"
    assert config.tls.authority == (PEM / "ca.crt").read_bytes()
    assert read(DATA / "kubeconfig" / "rancher.yaml", context="edge-node1").server == "https://10.20.0.11:6443"


@pytest.mark.parametrize("file", ["eks.yaml", "gke.yaml"])
def test_clouds_name_exec_plugins(file: str) -> None:
    assert isinstance(read(DATA / "kubeconfig" / file).credentials, ExecPlugin)


def test_flags_override_what_the_file_says(tmp_path: Path) -> None:
    path = simple(tmp_path / "config", user={"as": "bob", "as-groups": ["dev"]}, namespace="prod")
    config = read(path)
    assert (config.namespace, config.impersonate.user, config.impersonate.groups) == ("prod", "bob", ("dev",))
    config = read(path, namespace="test", impersonate=Impersonation(user="jane"))
    assert (config.namespace, config.impersonate) == ("test", Impersonation(user="jane"))


def test_of_several_files_the_first_to_name_something_wins_whole(tmp_path: Path) -> None:
    one = write(
        tmp_path / "one",
        clusters=named("cluster", c={"server": "https://one"}),
        contexts=named("context", x={"cluster": "c", "user": "u"}),
    )
    two = write(
        tmp_path / "two",
        clusters=named("cluster", c={"server": "https://two", "tls-server-name": "two"}, d={"server": "https://d"}),
        users=named("user", u={"token": "t"}),
        contexts=named("context", x={"cluster": "d", "namespace": "two"}, y={"cluster": "d"}),
        **{"current-context": "x"},
    )
    missing = tmp_path / "missing"
    environ = {"KUBECONFIG": f"{missing}:{one}::{two}:{one}"}
    config = load(environ=environ)
    assert (config.server, config.tls.server_name, config.namespace) == ("https://one", None, "default")
    assert load(context="y", environ=environ).server == "https://d"


def test_an_explicit_file_stands_alone(tmp_path: Path) -> None:
    mine = simple(tmp_path / "mine", cluster={"server": "https://mine"})
    other = simple(tmp_path / "other", cluster={"server": "https://other"})
    assert load(kubeconfig=mine, environ={"KUBECONFIG": str(other)}).server == "https://mine"
    with pytest.raises(ConfigError, match=r"gone: cannot be read: No such file"):
        load(kubeconfig=tmp_path / "gone", environ={"KUBECONFIG": str(other)})


def test_without_anything_else_the_home_directory_is_looked_into(tmp_path: Path) -> None:
    simple(tmp_path / ".kube" / "config", cluster={"server": "https://home"})
    assert load(environ={"HOME": str(tmp_path)}).server == "https://home"


def test_nothing_at_all_is_an_error_that_says_where_was_looked(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no kubeconfig: .*/\.kube/config does not exist.*give --kubeconfig FILE"):
        load(environ={"HOME": str(tmp_path)})


async def test_paths_are_relative_to_the_file_that_names_them(tmp_path: Path) -> None:
    for name in ("ca.crt", "client.crt", "client.key"):
        (tmp_path / "deep" / "pki").mkdir(parents=True, exist_ok=True)
        (tmp_path / "deep" / "pki" / name).write_bytes((PEM / name).read_bytes())
    path = simple(
        tmp_path / "deep" / "config",
        cluster={"certificate-authority": "pki/ca.crt"},
        user={"client-certificate": "pki/client.crt", "client-key": "./pki/client.key"},
    )
    config = read(path)
    assert config.tls.authority == (PEM / "ca.crt").read_bytes()
    certificate = (await config.credentials.current()).certificate
    assert certificate is not None
    assert certificate.chain == (PEM / "client.crt").read_bytes()
    assert isinstance(config.credentials, FromFiles)


async def test_a_certificate_and_a_key_that_do_not_belong_together_yet_are_not_used(tmp_path: Path) -> None:
    def write(name: str, kind: str) -> None:
        (tmp_path / f"tls.{kind}").write_bytes((PEM / f"{name}.{kind}").read_bytes())

    write("client", "crt")
    write("client", "key")
    source = read(
        simple(tmp_path / "config", user={"client-certificate": "tls.crt", "client-key": "tls.key"})
    ).credentials
    old = await source.current()
    write("renewed", "crt")
    assert not await source.refused(old), "nothing is worth trying yet"
    assert await source.current() is old
    write("renewed", "key")
    assert await source.refused(old)
    renewed = (await source.current()).certificate
    assert renewed is not None
    assert (renewed.chain, renewed.key) == ((PEM / "renewed.crt").read_bytes(), (PEM / "renewed.key").read_bytes())


async def test_data_beats_files(tmp_path: Path) -> None:
    path = simple(
        tmp_path / "config",
        cluster={"certificate-authority": "nonexistent", "certificate-authority-data": data("ca.crt")},
        user={"client-certificate-data": data("client.crt"), "client-key-data": data("client.key")},
    )
    config = read(path)
    assert config.tls.authority == (PEM / "ca.crt").read_bytes()
    assert isinstance(config.credentials, FixedCredential)


async def test_name_and_password_become_basic_authentication(tmp_path: Path) -> None:
    config = read(simple(tmp_path / "config", user={"username": "jane", "password": "p:w"}))
    assert await authorization(config) == "Basic " + base64.b64encode(b"jane:p:w").decode()


async def test_a_token_file_beats_a_token_while_it_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("from-file\n")
    path = simple(tmp_path / "config", user={"token": "written", "tokenFile": "token"})
    assert await authorization(read(path)) == "Bearer from-file"
    (tmp_path / "token").unlink()
    assert await authorization(read(path)) == "Bearer written"


async def test_a_token_beats_an_exec_plugin(tmp_path: Path) -> None:
    plugin = {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "aws"}
    config = read(simple(tmp_path / "config", user={"token": "t", "exec": plugin}))
    assert await authorization(config) == "Bearer t"


def test_no_user_is_anonymous(tmp_path: Path) -> None:
    path = write(
        tmp_path / "config",
        clusters=named("cluster", c={"server": "http://localhost:8001/"}),
        contexts=named("context", x={"cluster": "c", "user": None}),
        users=None,
        **{"current-context": "x"},
    )
    config = read(path)
    assert config.server == "http://localhost:8001"
    assert isinstance(config.credentials, FixedCredential)


def test_impersonation_is_read_whole(tmp_path: Path) -> None:
    user = {"as": "jane", "as-uid": "7", "as-groups": ["a", "b"], "as-user-extra": {"Scopes": ["view"]}}
    config = read(simple(tmp_path / "config", user=user))
    assert config.impersonate == Impersonation("jane", ("a", "b"), "7", {"scopes": ("view",)})


def test_a_proxy_of_the_file_beats_that_of_the_environment(tmp_path: Path) -> None:
    environ = {"HTTPS_PROXY": "http://environment:3128"}
    assert read(simple(tmp_path / "a"), environ=environ).proxy == "http://environment:3128"
    path = simple(tmp_path / "b", cluster={"proxy-url": "socks5://file:1080", "tls-server-name": "kube.example"})
    assert read(path, environ=environ).proxy == "socks5://file:1080"


@pytest.mark.parametrize(
    ("server", "url"),
    [
        ("api:6443", "https://api:6443"),
        ("api.example", "https://api.example"),
        ("10.0.0.1:6443/k8s/", "https://10.0.0.1:6443/k8s"),
        ("[fd02::1]:6443", "https://[fd02::1]:6443"),
    ],
)
def test_a_server_without_a_scheme_is_asked_over_tls(tmp_path: Path, server: str, url: str) -> None:
    assert read(simple(tmp_path / "config", cluster={"server": server}, user={"token": "t"})).server == url


@pytest.mark.parametrize("name", ["2026-01-01", "1:30", "2026-01-01 10:00:00", "-1:30.5"])
def test_names_that_look_like_dates_or_times_are_text(tmp_path: Path, name: str) -> None:
    path = simple(tmp_path / "config", namespace="NAME")
    path.write_text(
        path.read_text().replace("name: x", "name: NAME").replace("current-context: x", "current-context: NAME")
    )
    path.write_text(path.read_text().replace("NAME", name))
    config = read(path)
    assert (config.origin, config.namespace) == (f"context {name!r} of {path}", name)


def test_a_key_that_is_set_twice_is_refused(tmp_path: Path) -> None:
    path = simple(tmp_path / "config", user={"token": "first"})
    path.write_text(path.read_text().replace("token: first", "token: first\n    token: second"))
    with pytest.raises(ConfigError, match=r"line \d+: is not YAML: 'token' is set twice, first on line \d+") as caught:
        read(path)
    assert "second" not in str(caught.value)


def jwt(**claims: Any) -> str:
    return ".".join(
        base64.urlsafe_b64encode(part).decode().rstrip("=") for part in (b"{}", json.dumps(claims).encode(), b"s")
    )


def oidc(token: str) -> dict[str, Any]:
    return {
        "auth-provider": {
            "name": "oidc",
            "config": {"client-id": "c", "id-token": token, "idp-issuer-url": "https://i"},
        }
    }


@pytest.mark.parametrize("token", [jwt(exp=33_000_000_000), jwt(sub="jane"), "opaque", "a.%%%.c"])
async def test_an_oidc_token_that_has_not_expired_is_used(tmp_path: Path, token: str) -> None:
    assert await authorization(read(simple(tmp_path / "config", user=oidc(token)))) == f"Bearer {token}"


CERT = {"client-certificate-data": data("client.crt")}
PLUGIN = {"command": "aws", "apiVersion": "client.authentication.k8s.io/v1"}


@pytest.mark.parametrize(
    ("cluster", "user", "message"),
    [
        ({"server": ""}, {}, r"config: clusters\['c'\].cluster.server: '' is not a URL: write it as https://host:port"),
        ({"server": "https:/api:6443"}, {}, r"cluster.server: 'https:/api:6443' is not a URL"),
        (
            {"server": "https://api:70000"},
            {},
            r"cluster.server: 'https://api:70000' is not a URL: .*port from 1 to 65535",
        ),
        ({"server": "https://[fd02::1"}, {}, r"cluster.server: 'https://\[fd02::1' is not a URL"),
        ({"proxy-url": "http://me:pw@proxy:70000"}, {}, r"cluster.proxy-url: http://proxy:70000 is not the URL of"),
        ({"server": 5}, {}, r"clusters\['c'\].cluster.server: expected `str`, got `int`"),
        ({"certificate-authority": "no.crt"}, {}, r"cluster.certificate-authority: .*/no.crt cannot be read: No such"),
        ({"certificate-authority-data": "%%%"}, {}, r"cluster.certificate-authority-data: is not base64: .*log in"),
        ({"certificate-authority-data": "aGVsbG8="}, {}, r"certificate-authority-data: the CA bundle holds no usable"),
        (
            {"certificate-authority-data": data("ca.crt"), "insecure-skip-tls-verify": True},
            {},
            r"insecure-skip-tls-verify and certificate-authority-data contradict",
        ),
        (
            {"proxy-url": "socks4://me:pw@proxy:1080"},
            {},
            r"cluster.proxy-url: socks4://proxy:1080 is not the URL of a proxy: write it as .* or socks5://host:port",
        ),
        ({}, {"token": 12345}, r"users\['u'\].user.token: expected `str`, got `int`"),
        ({}, {"token": "two words"}, r"users\['u'\].user.token: has characters that a token cannot have"),
        ({}, {"token": "ends-in-a-newline\n"}, r"users\['u'\].user.token: has characters that a token cannot have"),
        ({}, {"as": "bob\n"}, r"Impersonate-User 'bob\\n': has a line break"),
        ({}, {"token": "t", "username": "jane"}, r"user: token and username are two ways to log in: remove one"),
        ({}, {"tokenFile": "gone"}, r"user.tokenFile: .*/gone cannot be read: No such file"),
        ({}, CERT, r"users\['u'\].user.client-key: is missing"),
        ({}, {"client-key-data": data("client.key")}, r"user.client-certificate: is missing"),
        ({}, {**CERT, "client-key-data": data("renewed.key")}, r"users\['u'\].user: the client certificate and key"),
        ({}, {**CERT, "client-key-data": data("encrypted.key")}, r"the key must not be encrypted"),
        ({}, {"as-groups": ["dev"]}, r"users\['u'\].user.as: must be set"),
        ({}, {"auth-provider": {"name": "gcp"}}, r"'gcp' is not supported, only oidc is: .*gke-gcloud-auth"),
        ({}, {"auth-provider": {"name": "oidc"}}, r"user.auth-provider.config.id-token: is not set; run any `kubectl`"),
        ({}, oidc(jwt(exp=1_700_000_000)), r"id-token: expired at 2023-11-14 22:13 UTC; run any `kubectl` command"),
        ({}, oidc("two words"), r"user.auth-provider.config.id-token: has characters that a token cannot have"),
        ({}, {"exec": PLUGIN}, r"user.exec.interactiveMode: is required with client.authentication.k8s.io/v1"),
        ({}, {"exec": {**PLUGIN, "interactiveMode": "Often"}}, r"exec.interactiveMode 'Often' must be one of Never"),
        (
            {},
            {"exec": {"command": "aws", "apiVersion": "client.authentication.k8s.io/v1alpha1"}},
            r"exec.apiVersion 'client.authentication.k8s.io/v1alpha1' is not spoken here",
        ),
        ({}, {"exec": {"apiVersion": "client.authentication.k8s.io/v1beta1"}}, r"exec.command is empty"),
        ({}, {"exec": {"command": "aws", "args": "eks"}}, r"users\['u'\].user.exec.args: expected `array`"),
    ],
)
def test_what_cannot_work_is_named_with_file_entry_field_and_remedy(
    tmp_path: Path, cluster: dict[str, Any], user: dict[str, Any], message: str
) -> None:
    path = simple(tmp_path / "config", cluster=cluster, user=user)
    with pytest.raises(ConfigError, match=message) as caught:
        read(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("change", "context", "message"),
    [
        ({"current-context": ""}, None, r"current-context: is not set; choose one of 'x'"),
        ({}, "nope", r"--context: there is no context 'nope'; there are 'x'"),
        ({"current-context": "nope"}, None, r"current-context: there is no context 'nope'; there are 'x'"),
        ({"clusters": []}, None, r"contexts\['x'\].context.cluster: there is no cluster 'c' in .*; there are none"),
        ({"users": []}, None, r"contexts\['x'\].context.user: there is no user 'u'"),
        ({"contexts": named("context", x={})}, None, r"context.cluster: is not set: name one of 'c'"),
        ({"users": [{"user": {}}]}, None, r"users\[0\].name: is missing or not text"),
        ({"users": {"u": {}}}, None, r"users: must be a list"),
        ({"current-context": 7}, None, r"current-context: must be text"),
        ({"kind": "Pod"}, None, r"is not a kubeconfig"),
    ],
)
def test_references_that_lead_nowhere_are_named(
    tmp_path: Path, change: dict[str, Any], context: str | None, message: str
) -> None:
    path = simple(tmp_path / "config")
    whole = yaml.safe_load(path.read_text())
    path.write_text(yaml.safe_dump({**whole, **change}))
    with pytest.raises(ConfigError, match=message):
        read(path, context=context)


@pytest.mark.parametrize("field", ["certificate-authority", "certificate-authority-data"])
def test_a_ca_bundle_may_have_comments_in_any_language(tmp_path: Path, field: str) -> None:
    bundle = "# NetLock Arany (Class Gold) Főtanúsítvány\n".encode() + (PEM / "ca.crt").read_bytes()
    (tmp_path / "ca.pem").write_bytes(bundle)
    value = base64.b64encode(bundle).decode() if field.endswith("data") else "ca.pem"
    assert read(simple(tmp_path / "config", cluster={field: value})).tls.context().get_ca_certs()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [b", "line 2: is not YAML"),
        ("- a: b", "is not a kubeconfig"),
        ("{a: " * 100_000, "line 1: is not YAML: nested more than 200 levels deep"),
        ("a: !very-secret b\nb:", "line 1: is not YAML: a tag of an unknown type"),
        ("a: !!int x\nb:", "line 1: is not YAML: the value is not of its type"),
    ],
    ids=["malformed", "another document", "100,000 braces", "unknown tag", "no number"],
)
def test_a_file_that_is_no_kubeconfig_is_named_without_quoting_it(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "config"
    path.write_text(f"{text}\n  token: very-secret\n")
    with pytest.raises(ConfigError, match=message) as caught:
        read(path)
    assert "very-secret" not in str(caught.value)


def test_no_temporary_file_with_a_key_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    user = {"client-certificate-data": data("client.crt"), "client-key-data": data("client.key")}
    read(simple(tmp_path / "config", user=user))
    bad = {**user, "client-key-data": data("encrypted.key")}
    with pytest.raises(ConfigError):
        read(simple(tmp_path / "config", user=bad))
    assert list((tmp_path / "tmp").iterdir()) == []
