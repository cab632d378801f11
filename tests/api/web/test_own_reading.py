"""The page of a cluster that has no Update status: each reads it with rights of their own."""

import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.api.web.conftest import OpenTab, Watched
from tests.api.web.deployed import DEPLOY, HOME, bind, sign_in, token_of
from tests.authorizer import until_allowed
from tests.browser import require_browser
from tests.unit.web.serving import certificate, serving
from windlass.kube import config as connections
from windlass.kube.client import Client
from windlass.testing import BlockingAccess, crds
from windlass.testing.plane.pool import PlanePool
from windlass.testing.updates import Layout, PlayedCluster, Pool
from windlass.update_status.view.update import live_view

require_browser()

pytestmark = [pytest.mark.plane, pytest.mark.asyncio(loop_scope="module")]

SMALL = Layout(operators=("etcd", "machine-config"), pools=(Pool(name="master", nodes=1), Pool(name="worker", nodes=2)))
VERSIONS = {"apiGroups": ["config.openshift.io"], "resources": ["clusterversions", "clusteroperators"]}
NODES = {
    "apiGroups": ["", "machineconfiguration.openshift.io", "apps", "policy"],
    "resources": [
        *("nodes", "pods", "machineconfigpools", "machineconfigs"),
        *("machineconfignodes", "machineosbuilds", "deployments", "poddisruptionbudgets"),
    ],
}
SEEN = "Read from the cluster itself, because the cluster has no UpdateStatus API."


@pytest.fixture(scope="module")
def plane(windlass_planes: PlanePool) -> BlockingAccess:
    """Ann may read all that a report is made of, bob only ClusterVersion and ClusterOperators, eve nothing."""
    plane = windlass_planes.plane("module", crds=crds.documents(*crds.UPDATES)).blocking
    plane.apply_files(DEPLOY / "web" / "base" / "rbac.yaml")
    for person, rules in {"ann": (VERSIONS, NODES), "bob": (VERSIONS,), "eve": ()}.items():
        plane.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": person, "namespace": HOME}})
        role = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": f"reader-{person}"},
            "rules": [{**rule, "verbs": ["get", "list"]} for rule in rules],
        }
        plane.apply(role)
        bind(plane, person, f"reader-{person}")
    for person, resource in {"ann": "nodes", "bob": "clusteroperators.config.openshift.io"}.items():
        until_allowed(plane.rest, f"system:serviceaccount:{HOME}:{person}", "list", resource)
    until_allowed(
        plane.rest, f"system:serviceaccount:{HOME}:windlass-web", "watch", "updaterecords.update.openshift.io"
    )
    return plane


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cluster(plane: BlockingAccess) -> AsyncIterator[PlayedCluster]:
    async with Client(connections.load(kubeconfig=plane.kubeconfig())) as admin:
        played = PlayedCluster(admin, SMALL, pace=0)
        await played.install()
        await next(iter(played.healthy_update("4.16.1"))).play()
        yield played


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def base(
    plane: BlockingAccess, cluster: PlayedCluster, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[str]:
    """The page as its ServiceAccount serves it, which may read no ClusterVersion."""
    config = connections.load(kubeconfig=plane.service_account_kubeconfig(HOME, "windlass-web"))
    tls = certificate(tmp_path_factory.mktemp("tls"))
    settings = {"tls": tls, "beat": 0.2, "remember": 0.2}
    async with (
        Client(config) as client,
        serving(live_view(client, every=0.2), config=config, **settings) as base,
    ):
        yield base


async def test_each_sees_what_they_may_read_and_what_they_may_not_is_named(
    tab: OpenTab, watched: Watched, base: str, plane: BlockingAccess, cluster: PlayedCluster
) -> None:
    ann = await sign_in(tab, base, token_of(plane, "ann"))
    await ann.get_by_role("heading", name="Updating to 4.16.1: 0 of 2 operators updated", exact=True).wait_for()
    await ann.get_by_role("alert").get_by_text(SEEN).wait_for()
    await ann.locator("#age", has_text=re.compile(r"read \d+s ago")).wait_for()
    bob = await sign_in(tab, base, token_of(plane, "bob"))
    await bob.get_by_role("heading", name="Updating to 4.16.1: 0 of 2 operators updated", exact=True).wait_for()
    await bob.get_by_role("alert").get_by_text(re.compile("cannot be read: machineconfigpools, nodes, ")).wait_for()
    assert await ann.get_by_text("cannot be read").count() == 0
    assert await ann.get_by_role("link", name="Pool worker").count() == 1
    assert await bob.get_by_role("link", name="Pool worker").count() == 0
    await cluster.update("etcd")
    for page in (ann, bob):
        await page.get_by_role("heading", name="Updating to 4.16.1: 1 of 2 operators updated").wait_for()
    eve = await sign_in(tab, base, token_of(plane, "eve"))
    await eve.get_by_role("alert").get_by_text("ask an administrator").wait_for()
    assert [text for text in watched.complaints if "401" not in text and "403" not in text] == []


async def test_on_ones_own_machine_the_kubeconfig_decides(
    tab: OpenTab, plane: BlockingAccess, cluster: PlayedCluster
) -> None:
    config = connections.load(kubeconfig=plane.service_account_kubeconfig(HOME, "bob"))
    async with Client(config) as client, serving(live_view(client), config=config) as link:
        page = await tab(link)
        await page.get_by_role("heading", name="Updating to 4.16.1").wait_for()
        # Whether the API exists is not told to who may not ask for it.
        await page.get_by_role("alert").get_by_text("Read from the cluster itself").wait_for()
    config = connections.load(kubeconfig=plane.service_account_kubeconfig(HOME, "eve"))
    async with Client(config) as client, serving(live_view(client), config=config) as link:
        page = await tab(link)
        await page.get_by_role("heading", name="Nothing is known of an update").wait_for()
        await page.get_by_role("alert").get_by_text(re.compile("cannot be read.*clusterversions.*forbidden")).wait_for()
