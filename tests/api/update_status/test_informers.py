"""Informers on TLS servers, asked by the process with the rights that are shipped. Numbers are of controls."""

import asyncio
import gzip
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme
from aiohttp import web

from tests.program import ALONE
from tests.unit.update_status.informers.servers import Served, good, insight, response, serving
from tests.waiting import eventually
from windlass.api.core import Event
from windlass.api.update import UpdateStatusStatus
from windlass.api.update_informer import UpdateInformer, UpdateInsightsRequest
from windlass.informer import InformedImpact, InformedInsight, informer_guard, informer_routes
from windlass.kube.client import Client
from windlass.kube.conditions import find
from windlass.kube.config import ClusterConfig
from windlass.kube.process.serving import TlsFiles, serve
from windlass.kube.verbs import PatchType
from windlass.testing import ControlPlane
from windlass.testing.updates import PlayedCluster

from .asked import NEARBY, STORAGE, host, online, register, told
from .keeper import USER, keeping, until_status

pytestmark = pytest.mark.plane

TARGET = "4.16.1"


@asynccontextmanager
async def disks(admin: Client, where: ClusterConfig, folder: Path) -> AsyncIterator[int]:
    """The informer `disks`, made with `windlass.informer`: the API server reviews the tokens that it gets."""
    authority = trustme.CA()
    made = authority.issue_cert(host("disks"))
    made.private_key_pem.write_to_path(str(folder / "key"))
    made.cert_chain_pems[0].write_to_path(str(folder / "certificate"))

    async def tell(asked: UpdateInsightsRequest) -> Sequence[InformedInsight]:
        assert asked.update is None or asked.update.target == TARGET
        impact = InformedImpact(level="Error", type="Update Speed", summary="Disk 3 is full")
        return [InformedInsight(uid="disk-3", impact=impact)]

    async with Client(where) as reviews:
        app = web.Application()
        app.add_routes(informer_routes(tell, name="disks", guard=informer_guard(reviews, "disks", asker=USER)))
        tls = TlsFiles(folder / "certificate", folder / "key")
        async with serve(app, host="127.0.0.1", port=0, tls=tls) as url:
            port = int(url.rpartition(":")[2])
            await register(admin, "disks", port, authority.cert_pem.bytes().decode())
            yield port


async def test_an_informer_tells_during_an_update_and_is_gone_with_its_registration(
    admin: Client, cluster: PlayedCluster, asking: Path, plane: ControlPlane, tmp_path: Path
) -> None:
    from windlass.kube import config as connections

    where = connections.load(kubeconfig=plane.kubeconfig())
    async with keeping(asking, tmp_path, *ALONE, "--informers", program=NEARBY):
        async with disks(admin, where, tmp_path):
            await eventually(lambda: online(admin), lambda all_: all_ == {"disks": "Answering"}, what="it is tried")
            tried = await until_status(admin, lambda found: told(found) == {"disks": []}, "it has a place")
            assert tried.overview
            assert tried.overview.state == "Idle"
            await cluster.cvo.start(TARGET)
            during = await until_status(admin, lambda found: told(found) == {"disks": ["disk-3"]}, "its insight")
            (place,) = (one for one in during.control_plane.informers if one.name == "disks")  # type: ignore[union-attr]
            (entry,) = place.insights
            assert (place.namespace, place.stale_since) == (STORAGE, None)
            assert entry.insight.health
            assert entry.insight.health.impact.summary == "Disk 3 is full"
            assert during.overview
            assert during.overview.worst_level == "OK"  # control 10: an informer assesses nothing
            condition = find(during.conditions, "InformersDegraded")
            assert condition
            assert condition.status == "False"
        # control 12, 18: it dies in mid-update, and nothing else suffers; what it told counts for a while
        await cluster.cvo.progress("etcd")
        after = await until_status(admin, lambda found: found.overview and "etcd" in _at_work(found), "the operator")
        assert told(after) == {"disks": ["disk-3"]}
        off = {"spec": {"enabled": False}}
        await admin.patch(UpdateInformer, "disks", off, type=PatchType.MERGE)
        gone = await until_status(admin, lambda found: told(found) == {}, "its insight is gone")
        assert find(gone.conditions, "InformersDegraded") is None
        await eventually(lambda: online(admin), lambda all_: all_ == {"disks": "Disabled"}, what="it is off")
        found = await events(admin, "disks")
        assert found[0] == "InformerEnabled"
        assert found[-1] == "InformerDisabled"


def _at_work(found: UpdateStatusStatus) -> set[str]:
    entries = [entry.insight for one in found.control_plane.informers for entry in one.insights]  # type: ignore[union-attr]
    operators = [each.cluster_operator for each in entries if each.cluster_operator]
    return {one.name for one in operators if any(c.type == "Updating" and c.status == "True" for c in one.conditions)}


async def events(admin: Client, name: str) -> list[str]:
    """Reasons of the Events about an UpdateInformer, the oldest first."""
    found = [one.decode() for one in (await admin.list(Event, namespace="default")).items]
    about = [one for one in found if one.involved_object.kind == "UpdateInformer" and one.involved_object.name == name]
    return [one.reason for one in sorted(about, key=lambda one: one.last_timestamp or "")]


async def _slow(_: web.Request) -> web.Response:
    await asyncio.sleep(60)
    return web.Response()


async def _huge(_: web.Request) -> web.Response:
    return web.json_response(response(*(insight(f"uid-{number}", description="x" * 9000) for number in range(64))))


async def _elsewhere(_: web.Request) -> web.Response:
    raise web.HTTPTemporaryRedirect("https://kubernetes.default.svc/api")


async def _bomb(_: web.Request) -> web.Response:
    return web.Response(body=gzip.compress(b" " * 2**24), headers={"Content-Encoding": "gzip"})


async def _imposter(_: web.Request) -> web.Response:
    return web.json_response(response(insight("cv-version"), insight("cause-1"), insight("honest")))


HOSTILE: dict[str, tuple[Callable[..., Any], str, list[str]]] = {
    "slow": (_slow, "NotAnswering", []),
    "huge": (_huge, "NotAnswering", []),
    "elsewhere": (_elsewhere, "NotAnswering", []),
    "bomb": (_bomb, "NotAnswering", []),
    "stranger": (good, "NotAnswering", []),  # its certificate comes from another authority
    "imposter": (_imposter, "InsightsRefused", ["honest"]),
}
"""Each informer, the reason of its Online, and what it may tell."""


async def test_hostile_informers_harm_themselves_alone(
    admin: Client, cluster: PlayedCluster, asking: Path, tmp_path: Path
) -> None:
    async with AsyncExitStack() as stack:
        for name, (handler, _, _) in {**HOSTILE, "good": (good, "", [])}.items():
            served: Served = await stack.enter_async_context(serving(handler, host(name)))
            authority = trustme.CA().cert_pem.bytes().decode() if name == "stranger" else served.authority
            await register(admin, name, served.port, authority)
        await stack.enter_async_context(keeping(asking, tmp_path, *ALONE, "--informers", program=NEARBY))
        await cluster.cvo.start(TARGET)
        wanted = {name: uids for name, (_, _, uids) in HOSTILE.items()}
        await until_status(admin, lambda found: told(found) == {**wanted, "good": ["disk-full"]}, "what they may tell")
        reasons = {name: reason for name, (_, reason, _) in HOSTILE.items()}
        await eventually(lambda: online(admin, *HOSTILE), lambda found: found == reasons, what="why not")


async def test_another_process_keeps_what_was_told(
    admin: Client, cluster: PlayedCluster, asking: Path, tmp_path: Path
) -> None:
    """A new leader knows no answers: what stands in the UpdateStatus must not vanish until it has asked."""
    calm = True

    async def handler(_: web.Request) -> web.StreamResponse:
        return web.json_response(response(insight())) if calm else web.Response(status=503)

    async with serving(handler, host("disks")) as served:
        await register(admin, "disks", served.port, served.authority)
        await cluster.cvo.start(TARGET)
        async with keeping(asking, tmp_path, *ALONE, "--informers", program=NEARBY):
            await until_status(admin, lambda found: told(found) == {"disks": ["disk-full"]}, "its insight")
        calm = False
        before = len(served.requests)
        async with keeping(asking, tmp_path, *ALONE, "--informers", program=NEARBY):
            await eventually(_counted(served), lambda count: count > before, what="it is asked again")
            await cluster.cvo.progress("etcd")
            found = await until_status(admin, lambda found: "etcd" in _at_work(found), "the operator")
            assert told(found) == {"disks": ["disk-full"]}


def _counted(served: Served) -> Callable[[], Any]:
    async def count() -> int:
        return len(served.requests)

    return count
