"""Who may read /metrics: asked of a real API server, answered over real HTTP and TLS."""

import asyncio
import ssl
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from aiohttp import ClientSession, web

from tests.patience import PATIENCE
from windlass.kube import config
from windlass.kube.client import Client
from windlass.kube.clock import SystemClock
from windlass.kube.control.metrics import Metrics
from windlass.kube.errors import Busy, ConfigError, Status
from windlass.kube.process.guard import Guard
from windlass.kube.process.scrape import METRICS, metrics_routes, open_metrics
from windlass.kube.process.serving import TlsFiles, serve
from windlass.testing.plane.facade import PlaneAccess

pytestmark = pytest.mark.plane


@pytest.fixture
async def client(windlass_kubeconfig: Path) -> AsyncIterator[Client]:
    async with Client(config.load(kubeconfig=windlass_kubeconfig)) as client:
        yield client


@pytest.fixture
async def url(client: Client) -> AsyncIterator[str]:
    app = web.Application()
    app.add_routes(metrics_routes(Metrics(), guard=Guard(client, METRICS)))
    async with serve(app, host="127.0.0.1", port=0) as url:
        yield url


async def token_of(plane: PlaneAccess, namespace: str, name: str) -> str:
    """A token of a new ServiceAccount."""
    await plane.apply(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": namespace}}
    )
    path = await plane.service_account_kubeconfig(namespace, name)
    token: str = yaml.safe_load(path.read_text())["users"][0]["user"]["token"]
    return token


async def allow(plane: PlaneAccess, namespace: str, name: str) -> None:
    group, unique = "rbac.authorization.k8s.io", f"scrape-{namespace}"
    await plane.apply(
        {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRole",
            "metadata": {"name": unique},
            "rules": [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}],
        },
        {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": unique},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": unique},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
        },
    )


async def scrape(url: str, token: str = "", **settings: Any) -> tuple[int, str, str]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with ClientSession() as session, session.get(f"{url}/metrics", headers=headers, **settings) as response:
        return response.status, await response.text(), response.headers.get("WWW-Authenticate", "")


async def test_who_brings_no_token_or_nobodys_is_asked_who_they_are(url: str) -> None:
    for token in ("", "nonsense"):
        status, text, challenge = await scrape(url, token)
        assert status == 401
        assert "windlass" not in text
        assert challenge.startswith("Bearer")


async def test_who_may_not_is_told_so_and_who_may_gets_the_figures(
    url: str, windlass_plane: PlaneAccess, windlass_namespace: str
) -> None:
    token = await token_of(windlass_plane, windlass_namespace, "scraper")
    status, text, _ = await scrape(url, token)
    assert status == 403
    assert text == f"system:serviceaccount:{windlass_namespace}:scraper may not get /metrics\n"
    await allow(windlass_plane, windlass_namespace, "scraper")
    async with asyncio.timeout(PATIENCE):
        while status == 403:  # until the authorizer has heard of the binding
            status, text, _ = await scrape(url, token)
    assert status == 200
    assert "# TYPE workqueue_depth gauge" in text


async def test_a_permission_is_remembered_for_a_minute_and_a_refusal_for_seconds(
    client: Client, windlass_plane: PlaneAccess, windlass_namespace: str
) -> None:
    asked: list[str] = []

    class Counting:
        async def create(self, kind: Any, body: Any, **where: Any) -> Any:
            asked.append(kind.RESOURCE.kind)
            return await client.create(kind, body, **where)

    class Watch(SystemClock):
        seconds = 0.0

        def monotonic(self) -> float:
            return self.seconds

    watch = Watch()
    guard = Guard(Counting(), METRICS, remember=60.0, clock=watch)  # type: ignore[arg-type]
    admin = windlass_plane.connection.tokens["admin"]
    assert [(await guard.judge(f"Bearer {admin}")).status for _ in range(3)] == [200] * 3
    assert asked == ["TokenReview", "SubjectAccessReview"]
    watch.seconds = 61.0
    await guard.judge(f"bearer {admin}")
    assert len(asked) == 4
    stranger = await token_of(windlass_plane, windlass_namespace, "stranger")
    assert [(await guard.judge(f"Bearer {stranger}")).status for _ in range(2)] == [403, 403]
    assert len(asked) == 6
    watch.seconds = 72.0
    await guard.judge(f"Bearer {stranger}")
    assert len(asked) == 8


async def test_when_the_api_server_cannot_be_asked_the_answer_is_an_error_without_details() -> None:
    class Away:
        async def create(self, *_: Any, **__: Any) -> Any:
            raise Busy(Status(code=503, message="etcd leader changed"))

    verdict = await Guard(Away(), METRICS).judge("Bearer whatever")  # type: ignore[arg-type]
    assert (verdict.status, verdict.why) == (500, "the API server could not be asked")


async def test_without_authentication_figures_are_for_this_machine_only() -> None:
    with pytest.raises(ConfigError, match=r"metrics without authentication on 0.0.0.0: bind them to 127.0.0.1"):
        open_metrics(Metrics(), host="0.0.0.0")
    app = web.Application()
    app.add_routes(open_metrics(Metrics(), host="127.0.0.1"))
    async with serve(app, host="127.0.0.1", port=0) as url:
        assert (await scrape(url))[0] == 200


def issue(tls: TlsFiles) -> None:
    """Write a new self-signed certificate and its key."""
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"),
            *("-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"),
            *("-keyout", str(tls.key), "-out", str(tls.certificate)),
        ],
        check=True,
        capture_output=True,
    )


@pytest.fixture
def tls(tmp_path: Path) -> TlsFiles:
    tls = TlsFiles(tmp_path / "tls.crt", tmp_path / "tls.key")
    issue(tls)
    return tls


async def test_figures_travel_over_tls_when_there_is_a_certificate(
    client: Client, windlass_plane: PlaneAccess, tls: TlsFiles
) -> None:
    app = web.Application()
    app.add_routes(metrics_routes(Metrics(), guard=Guard(client, METRICS)))
    trust = ssl.create_default_context(cafile=str(tls.certificate))
    trust.verify_flags &= ~ssl.VERIFY_X509_STRICT
    async with serve(app, host="127.0.0.1", port=0, tls=tls) as url:
        assert url.startswith("https://")
        assert (await scrape(url, windlass_plane.connection.tokens["admin"], ssl=trust))[0] == 200


class Bell:
    """A clock whose sleepers wake when it is rung."""

    def __init__(self) -> None:
        self._rung = asyncio.Event()

    def ring(self) -> None:
        self._rung.set()

    async def sleep(self, seconds: float) -> None:
        await self._rung.wait()
        self._rung.clear()


async def test_a_rotated_certificate_is_served_to_new_connections(tls: TlsFiles) -> None:
    bell = Bell()

    async def serial(url: str) -> bytes:
        trust = ssl.create_default_context(cafile=str(tls.certificate))
        trust.verify_flags &= ~ssl.VERIFY_X509_STRICT
        _, writer = await asyncio.open_connection("127.0.0.1", int(url.rsplit(":", 1)[1]), ssl=trust)
        presented: bytes = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        writer.close()
        return presented

    app = web.Application()
    app.add_routes(open_metrics(Metrics(), host="127.0.0.1"))
    async with serve(app, host="127.0.0.1", port=0, tls=tls, clock=bell) as url:  # type: ignore[arg-type]
        before = await serial(url)
        issue(tls)
        async with asyncio.timeout(PATIENCE):
            while True:
                bell.ring()
                try:
                    if await serial(url) != before:
                        break
                except ssl.SSLError:
                    continue  # still the old one, which the new file does not vouch for


async def test_tls_files_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no TLS file .*missing.crt"):
        TlsFiles(tmp_path / "missing.crt", tmp_path / "missing.key").context()
    for name in ("bad.crt", "bad.key"):
        (tmp_path / name).write_bytes(msgspec.json.encode("not a certificate"))
    with pytest.raises(ConfigError, match=r"TLS certificate .*bad.crt"):
        TlsFiles(tmp_path / "bad.crt", tmp_path / "bad.key").context()
