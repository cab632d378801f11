"""Exec plugins, with a real program that is really run."""

import asyncio
import os
import sys
import textwrap
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from tests.patience import PATIENCE
from tests.unit.kube.http_script import Script, status, text
from windlass.kube.client import Client
from windlass.kube.config import ExecPlugin, load
from windlass.kube.config.exec_plugin import FAILURE_SECONDS
from windlass.kube.errors import ConfigError, TransportError

PEM = Path(__file__).parents[3] / "data" / "kube" / "tls"
V1 = "client.authentication.k8s.io/v1"
V1BETA1 = "client.authentication.k8s.io/v1beta1"

PLUGIN = """\
    #!{python}
    import json, os, pathlib, sys
    here = pathlib.Path(__file__).parent
    with open(here / "calls", "a") as calls:
        calls.write(json.dumps({{
            "args": sys.argv[1:],
            "info": json.loads(os.environ["KUBERNETES_EXEC_INFO"]),
            "profile": os.environ.get("PROFILE"),
            "stdin": sys.stdin.read() if not sys.stdin.isatty() else None,
        }}) + "\\n")
    sys.stderr.write((here / "stderr").read_text())
    sys.stdout.write((here / "stdout").read_text())
    sys.exit(int((here / "exit").read_text()))
"""


class Plugin:
    """A program on disk. It prints what it was told to and notes how it was called."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "get-token"
        self.path.write_text(textwrap.dedent(PLUGIN).format(python=sys.executable))
        self.path.chmod(0o755)
        (folder / "calls").touch()
        self.says(token="first")

    def says(self, *, api_version: str = V1, expires: datetime | None = None, **status: str) -> None:
        answer: dict[str, Any] = {"apiVersion": api_version, "kind": "ExecCredential", "status": dict(status)}
        if expires is not None:
            answer["status"]["expirationTimestamp"] = expires.strftime("%Y-%m-%dT%H:%M:%SZ")
        self.prints(msgspec.json.encode(answer).decode())

    def prints(self, stdout: str, *, stderr: str = "", code: int = 0) -> None:
        (self.folder / "stdout").write_text(stdout)
        (self.folder / "stderr").write_text(stderr)
        (self.folder / "exit").write_text(str(code))

    @property
    def calls(self) -> list[dict[str, Any]]:
        return [msgspec.json.decode(line) for line in (self.folder / "calls").read_text().splitlines()]


class Moment:
    """A date that tests move."""

    def __init__(self) -> None:
        self.value = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.value

    def passes(self, seconds: float) -> None:
        self.value += timedelta(seconds=seconds)


@pytest.fixture
def plugin(tmp_path: Path) -> Plugin:
    return Plugin(tmp_path)


@pytest.fixture
def moment() -> Moment:
    return Moment()


@pytest.fixture
async def server() -> AsyncIterator[Script]:
    async with Script() as script:
        yield script


def source(plugin: Plugin, moment: Moment, **how: Any) -> ExecPlugin:
    how = {"api_version": V1, "interactive_mode": "Never", "origin": "config: users['u'].user", **how}
    return ExecPlugin(command=str(plugin.path), now=moment, **how)


async def token(source: ExecPlugin) -> str:
    return (await source.current()).authorization


@pytest.mark.parametrize("api_version", [V1, V1BETA1])
async def test_a_token_is_fetched_once_and_kept(plugin: Plugin, moment: Moment, api_version: str) -> None:
    plugin.says(token="t", api_version=api_version)
    asked = source(plugin, moment, api_version=api_version, args=("get", "token"), env={"PROFILE": "ops"})
    assert [await token(asked), await token(asked)] == ["Bearer t", "Bearer t"]
    (call,) = plugin.calls
    assert call["args"] == ["get", "token"]
    assert call["profile"] == "ops"
    assert call["stdin"] == ""
    assert call["info"] == {"apiVersion": api_version, "kind": "ExecCredential", "spec": {"interactive": False}}


async def test_many_requests_at_once_start_one_process(plugin: Plugin, moment: Moment) -> None:
    asked = source(plugin, moment)
    assert set(await asyncio.gather(*[token(asked) for _ in range(20)])) == {"Bearer first"}
    assert len(plugin.calls) == 1


async def test_a_token_is_renewed_shortly_before_it_expires(plugin: Plugin, moment: Moment) -> None:
    plugin.says(token="first", expires=moment.value + timedelta(minutes=15))
    asked = source(plugin, moment)
    assert await token(asked) == "Bearer first"
    plugin.says(token="second")
    moment.passes(14 * 60)
    assert await token(asked) == "Bearer first"
    moment.passes(51)
    assert await token(asked) == "Bearer second"


async def test_a_refused_credential_is_fetched_anew(plugin: Plugin, moment: Moment) -> None:
    asked = source(plugin, moment)
    old = await asked.current()
    plugin.says(token="second")
    moment.passes(60)
    assert await asked.refused(old)
    assert await token(asked) == "Bearer second"
    assert await asked.refused(old), "somebody else has fetched a new one already"
    assert len(plugin.calls) == 2


async def test_a_credential_refused_while_new_does_not_start_a_process_per_request(
    plugin: Plugin, moment: Moment
) -> None:
    asked = source(plugin, moment)
    fresh = await asked.current()
    assert not await asked.refused(fresh)
    assert not await asked.refused(fresh)
    assert len(plugin.calls) == 1


async def test_a_plugin_that_insists_on_a_refused_credential_is_believed(plugin: Plugin, moment: Moment) -> None:
    asked = source(plugin, moment)
    old = await asked.current()
    moment.passes(60)
    assert not await asked.refused(old)
    assert await asked.current() is old


async def test_a_client_certificate_may_come_instead_of_a_token(plugin: Plugin, moment: Moment) -> None:
    chain, key = (PEM / "client.crt").read_text(), (PEM / "client.key").read_text()
    plugin.says(clientCertificateData=chain, clientKeyData=key)
    credential = await source(plugin, moment).current()
    assert credential.authorization == ""
    assert credential.certificate is not None
    assert credential.certificate.chain.decode() == chain


async def test_a_certificate_that_does_not_fit_its_key_is_refused(plugin: Plugin, moment: Moment) -> None:
    chain, key = (PEM / "client.crt").read_text(), (PEM / "renewed.key").read_text()
    plugin.says(clientCertificateData=chain, clientKeyData=key)
    with pytest.raises(ConfigError, match=r"users\['u'\].user: the client certificate and key cannot be used"):
        await source(plugin, moment).current()


async def test_the_cluster_is_described_to_a_plugin_that_asks(plugin: Plugin) -> None:
    config = load(kubeconfig=written(plugin, provideClusterInfo=True), environ={})
    await config.credentials.current()
    (call,) = plugin.calls
    assert call["info"]["spec"]["cluster"] == {
        "server": "https://api:6443",
        "tls-server-name": "api.windlass.test",
        "insecure-skip-tls-verify": True,
        "config": {"audience": "prod"},
    }


async def test_a_command_with_a_slash_is_relative_to_the_file(plugin: Plugin) -> None:
    config = load(kubeconfig=written(plugin, command="./get-token"), environ={})
    assert (await config.credentials.current()).authorization == "Bearer first"


async def test_a_bare_command_is_looked_up_on_path(plugin: Plugin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(plugin.folder), prepend=os.pathsep)
    config = load(kubeconfig=written(plugin, command="get-token"), environ={})
    assert (await config.credentials.current()).authorization == "Bearer first"


async def test_fields_that_are_null_are_absent(plugin: Plugin, moment: Moment) -> None:
    status = {"token": "t", "expirationTimestamp": None, "clientCertificateData": None, "clientKeyData": None}
    answer = {"kind": "ExecCredential", "apiVersion": V1, "metadata": {"creationTimestamp": None}, "status": status}
    plugin.prints(msgspec.json.encode(answer).decode())
    assert (await source(plugin, moment).current()).authorization == "Bearer t"


@pytest.mark.parametrize(
    ("printed", "message"),
    [
        ("", "printed no ExecCredential"),
        ("not json", "printed no ExecCredential"),
        ("[" * 100_000, "printed no ExecCredential: it is nested too deeply"),
        ({"kind": "Token", "apiVersion": V1}, "printed Token client.authentication"),
        ({"kind": "ExecCredential", "apiVersion": V1BETA1}, r"v1beta1, but exec.apiVersion is .*/v1: set it"),
        ({"kind": "ExecCredential", "apiVersion": V1, "status": {}}, "neither a token nor a client certificate"),
        (
            {"kind": "ExecCredential", "apiVersion": V1, "status": {"clientCertificateData": "x"}},
            "only one of clientCertificateData and clientKeyData",
        ),
        (
            {"kind": "ExecCredential", "apiVersion": V1, "status": {"token": "t\n"}},
            "status.token: has characters that a token cannot have, such as a line break",
        ),
    ],
)
async def test_an_answer_that_cannot_be_used_is_a_config_error(
    plugin: Plugin, moment: Moment, printed: str | Mapping[str, Any], message: str
) -> None:
    plugin.prints(printed if isinstance(printed, str) else msgspec.json.encode(printed).decode())
    with pytest.raises(ConfigError, match=rf"config: users\['u'\].user: exec plugin '.*/get-token':? .*{message}"):
        await source(plugin, moment).current()


async def test_a_failing_plugin_is_quoted(plugin: Plugin, moment: Moment) -> None:
    plugin.prints("", stderr="Error: the SSO session has expired\n", code=3)
    with pytest.raises(ConfigError, match="exited with 3: Error: the SSO session has expired"):
        await source(plugin, moment).current()


async def test_a_plugin_that_worked_before_and_fails_now_may_work_again(plugin: Plugin, moment: Moment) -> None:
    plugin.says(token="first", expires=moment.value + timedelta(minutes=15))
    asked = source(plugin, moment)
    await asked.current()
    moment.passes(3600)
    plugin.prints("", stderr="no route to host", code=1)
    with pytest.raises(TransportError, match=r"no credentials at the moment: .*no route to host"):
        await asked.current()
    plugin.says(token="second")
    moment.passes(FAILURE_SECONDS)
    assert await token(asked) == "Bearer second"


async def test_those_who_waited_for_an_attempt_that_failed_share_its_failure(plugin: Plugin, moment: Moment) -> None:
    plugin.prints("", stderr="no route to host", code=1)
    asked = source(plugin, moment)
    failures = await asyncio.gather(*[asked.current() for _ in range(20)], return_exceptions=True)
    assert {type(failure) for failure in failures} == {ConfigError}
    assert len({str(failure) for failure in failures}) == 1
    with pytest.raises(ConfigError, match="no route to host"):
        await asked.current()
    assert len(plugin.calls) == 1
    moment.passes(FAILURE_SECONDS)
    plugin.says(token="second")
    assert await token(asked) == "Bearer second"


async def test_a_plugin_that_takes_too_long_is_an_error_when_its_time_is_over(plugin: Plugin, moment: Moment) -> None:
    plugin.path.write_text("#!/bin/sh\nsleep 600\n")  # as a child of the shell, which keeps the output open
    with pytest.raises(ConfigError, match=r"gave no answer within 0\.2 s"):
        async with asyncio.timeout(PATIENCE):
            await source(plugin, moment, timeout=0.2).current()


async def test_a_missing_program_is_an_error_with_its_install_hint(moment: Moment) -> None:
    asked = ExecPlugin(command="no-such-plugin", api_version=V1, install_hint="Install it with: make plugin\n")
    with pytest.raises(ConfigError, match="'no-such-plugin' is not installed or not executable\nInstall it with: make"):
        await asked.current()


async def test_a_plugin_that_needs_a_terminal_is_an_error_without_one(plugin: Plugin, moment: Moment) -> None:
    with pytest.raises(ConfigError, match="wants a terminal"):
        await source(plugin, moment, interactive_mode="Always").current()


async def test_a_cancelled_fetch_leaves_no_process_and_the_next_one_works(plugin: Plugin, moment: Moment) -> None:
    fifo = plugin.folder / "stdout"
    fifo.unlink()
    os.mkfifo(fifo)
    asked = source(plugin, moment)
    waiting = asyncio.create_task(token(asked))
    while not plugin.calls:
        await asyncio.wait([waiting], timeout=0.01)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    fifo.unlink()
    plugin.says(token="second")
    assert await token(asked) == "Bearer second"


async def test_the_client_fetches_a_new_token_when_the_server_refuses_the_old_one(
    plugin: Plugin, server: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("windlass.kube.config.exec_plugin.REPEAT_SECONDS", 0.0)
    path = written(plugin, cluster={"server": server.url})
    server.then(text(200, "ok"), status(401, "Unauthorized"), text(200, "ok"))
    async with Client(load(kubeconfig=path, environ={})) as client:
        await client.request("GET", "/livez")
        plugin.says(token="second")
        assert await client.request("GET", "/readyz") == b"ok"
    sent = [request.headers["Authorization"] for request in server.requests]
    assert sent == ["Bearer first", "Bearer first", "Bearer second"]


def written(plugin: Plugin, *, cluster: Mapping[str, Any] | None = None, **exec_: Any) -> Path:
    """A kubeconfig whose user is this plugin."""
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "prod"}}
    described = {
        "server": "https://api:6443",
        "tls-server-name": "api.windlass.test",
        "insecure-skip-tls-verify": True,
        "extensions": [extension],
    }
    plugin_entry = {"apiVersion": V1, "command": str(plugin.path), "interactiveMode": "Never", **exec_}
    path = plugin.folder / "config"
    path.write_text(
        yaml.safe_dump(
            {
                "clusters": [{"name": "c", "cluster": cluster or described}],
                "users": [{"name": "u", "user": {"exec": plugin_entry}}],
                "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
                "current-context": "x",
            }
        )
    )
    return path
