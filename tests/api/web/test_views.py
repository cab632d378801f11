"""OpenStack and OS images on the page of a real cluster: rights as they are shipped, watches, Leases, a browser."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any, ClassVar

import pytest
import pytest_asyncio
from msgspec import Struct

from tests.api.web.conftest import OpenTab
from tests.api.web.deployed import DEPLOY, HOME, bind, sign_in, token_of, until_live
from tests.authorizer import until_allowed
from tests.browser import require_browser
from tests.unit.web.examples import NO_FLAVOR, condition, failing
from tests.unit.web.serving import certificate, serving
from tests.waiting import until
from windlass.api.meta import ObjectMeta, Resource, always
from windlass.kube import config as connections
from windlass.kube.client import Client
from windlass.kube.clock import rfc3339_micro
from windlass.openstack.view.clouds import clouds_view
from windlass.os_build.view.pools import pools_view
from windlass.testing import BlockingAccess, crds
from windlass.testing.plane.pool import PlanePool
from windlass.web.board import Board
from windlass.web.following import Followed, Kept, follow

require_browser()

pytestmark = [pytest.mark.plane, pytest.mark.asyncio(loop_scope="module")]

USER = f"system:serviceaccount:{HOME}:windlass-web"
MACHINES = "/apis/infrastructure.cluster.x-k8s.io/v1beta1/namespaces/prod/openstackmachines"
POOLS = "/apis/machineconfiguration.openshift.io/v1/machineconfigpools"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/windlass-openstack/leases"
MERGE = "application/merge-patch+json"
ROLES = {"ann": "windlass-openstack-view", "bob": "windlass-os-build-view"}


@pytest.fixture(scope="module")
def plane(windlass_planes: PlanePool) -> BlockingAccess:
    """With the kinds of both views, the page's ServiceAccount as shipped, and two people with a view each."""
    kinds = crds.documents(*crds.MACHINES, *crds.OS_BUILDS)
    plane = windlass_planes.plane("module", crds=kinds).blocking
    for name in ("prod", "windlass-openstack"):
        plane.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    components = DEPLOY / "web" / "components"
    plane.apply_files(
        DEPLOY / "web" / "base" / "rbac.yaml",
        *(components / name / file for name in ("openstack", "os-build") for file in ("rbac.yaml", "view.yaml")),
    )
    for person, role in ROLES.items():
        plane.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": person, "namespace": HOME}})
        bind(plane, person, role)
    until_allowed(plane.rest, USER, "watch", "openstackservers.infrastructure.cluster.x-k8s.io")
    until_allowed(plane.rest, USER, "watch", "machineosbuilds.machineconfiguration.openshift.io")
    ann, bob = (f"system:serviceaccount:{HOME}:{person}" for person in ROLES)
    until_allowed(plane.rest, ann, "list", "openstackservers.infrastructure.cluster.x-k8s.io")
    until_allowed(plane.rest, bob, "list", "machineosbuilds.machineconfiguration.openshift.io")
    return plane


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def base(plane: BlockingAccess, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """The page as its ServiceAccount serves it."""
    config = connections.load(kubeconfig=plane.service_account_kubeconfig(HOME, "windlass-web"))
    tls = certificate(tmp_path_factory.mktemp("tls"))
    async with Client(config) as client:
        views = (clouds_view(client), pools_view(client))
        async with serving(*views, config=config, tls=tls, beat=0.2, remember=0.2) as base:
            yield base


def make_machine(plane: BlockingAccess, name: str, conditions: Any) -> None:
    spec = {"flavor": "m1.large", "image": {"filter": {"name": "rhcos"}}}
    meta = {"name": name, "labels": {"cluster.x-k8s.io/cluster-name": "one"}}
    kind = {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "OpenStackMachine"}
    plane.rest.request("POST", MACHINES, {**kind, "metadata": meta, "spec": spec})
    say(plane, f"{MACHINES}/{name}", conditions)


def make_pool(plane: BlockingAccess, name: str, conditions: Any) -> None:
    meta = {"name": name, "annotations": {"machineconfiguration.openshift.io/layering-enabled": ""}}
    kind = {"apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool"}
    spec = {"configuration": {"name": "rendered-1"}}
    plane.rest.request("POST", POOLS, {**kind, "metadata": meta, "spec": spec})
    say(plane, f"{POOLS}/{name}", conditions)


def say(plane: BlockingAccess, path: str, conditions: Any) -> None:
    plane.rest.request("PATCH", f"{path}/status", {"status": {"conditions": [*conditions]}}, content_type=MERGE)


def hold(plane: BlockingAccess, *, holder: str) -> None:
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 3600, "renewTime": rfc3339_micro(datetime.now(UTC))}
    meta = {"name": "windlass-openstack", "namespace": "windlass-openstack"}
    plane.apply({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta, "spec": spec})


async def test_each_viewer_sees_what_their_own_rights_let_them(tab: OpenTab, base: str, plane: BlockingAccess) -> None:
    make_machine(plane, "lacks-a-flavor", failing("DependencyFailed", NO_FLAVOR, since="2026-11-29T10:00:00Z"))
    failed = [condition("BuildFailed", "True", "PushDenied", "The registry refuses to take the image")]
    make_pool(plane, "infra", failed)
    ann = await sign_in(tab, base, token_of(plane, "ann"))
    bob = await sign_in(tab, base, token_of(plane, "bob"))
    await ann.get_by_text("OpenStackMachine prod/lacks-a-flavor: DependencyFailed").wait_for()
    await bob.get_by_text("Pool infra: Failed: PushDenied").wait_for()
    for page, foreign in ((ann, "infra"), (bob, "flavor")):
        assert "/overview" in page.url
        assert foreign not in await page.inner_text("main")
    # The other view tells nothing but that a right is missing.
    await ann.get_by_role("link", name="OS images").first.click()
    await ann.get_by_role("heading", name="You may not see this").wait_for()
    status = "fetch('/api/views/os-build/document').then((answer) => answer.status)"
    assert await ann.evaluate(status) == 403
    plane.rest.request("DELETE", f"{MACHINES}/lacks-a-flavor")
    plane.rest.request("DELETE", f"{POOLS}/infra")


async def test_machines_on_openstack_are_followed(tab: OpenTab, base: str, plane: BlockingAccess) -> None:
    hold(plane, holder="windlass_pod_1")
    page = await sign_in(tab, base, token_of(plane, "ann"), "/openstack")
    make_machine(plane, "a-0", [condition(name, "True", message="it is there") for name in ("Ready", "InstanceReady")])
    row = page.get_by_role("row").filter(has_text="prod/a-0")
    await row.get_by_text("Ready", exact=True).wait_for()
    await until_live(page)
    say(plane, f"{MACHINES}/a-0", failing("DependencyFailed", NO_FLAVOR, since="2026-11-29T10:00:00Z"))
    await row.get_by_text("Needs somebody").wait_for()
    await page.locator("#attention").get_by_text("no flavor matches flavor (name m9.huge)").wait_for()
    await row.get_by_role("button").click()
    dialog = page.get_by_role("dialog", name="OpenStackMachine prod/a-0")
    await dialog.get_by_text("It is tried again within 10 minutes").wait_for()
    await page.keyboard.press("Escape")
    # Nobody renews the Lease any more: what is shown may be old.
    hold(plane, holder="")
    await page.locator("#state", has_text="Not current").wait_for()
    hold(plane, holder="windlass_pod_2")
    await until_live(page)
    plane.rest.request("DELETE", f"{MACHINES}/a-0")
    await row.wait_for(state="detached")


async def test_a_condition_of_half_a_megabyte_costs_a_page_a_kilobyte(
    tab: OpenTab, base: str, plane: BlockingAccess
) -> None:
    """The log of a build may be anything that a user's command prints."""
    harm = "<img src=x onerror='window.harm = 1'>\u202e"
    make_pool(plane, "huge", [condition("BuildFailed", "True", "StepFailed", harm + "word " * 100_000)])
    page = await sign_in(tab, base, token_of(plane, "bob"), "/os-build")
    await page.locator("#pools").get_by_text("onerror='window.harm = 1'").first.wait_for()
    assert await page.evaluate("window.harm") is None
    size = "fetch('/api/views/os-build/document').then((answer) => answer.text()).then((text) => text.length)"
    assert await page.evaluate(size) < 8000
    plane.rest.request("DELETE", f"{POOLS}/huge")
    await page.locator("#pools").get_by_text("onerror").first.wait_for(state="detached")


async def test_secrets_cannot_be_read_by_the_page(plane: BlockingAccess) -> None:
    for verb in ("get", "list", "watch"):
        until_allowed(plane.rest, USER, verb, "secrets", allowed=False)


class Toy(Struct, frozen=True):
    RESOURCE: ClassVar[Resource] = Resource("toys.example.com", "v1", "Toy", "toys")
    metadata: ObjectMeta = always(ObjectMeta)


async def test_a_kind_that_is_not_served_is_no_trouble(plane: BlockingAccess) -> None:
    told: list[Kept] = []

    def document(kept: Kept) -> dict[str, Any]:
        told.append(kept)
        return {"unserved": [*kept.unserved]}

    board = Board()
    async with Client(connections.load(kubeconfig=plane.kubeconfig())) as client:
        running = asyncio.create_task(follow(client, {"toy": Followed(Toy, lambda found: found)}, document, board))
        try:
            await until(lambda: bool(told) and told[-1].unserved)
            assert board.part("troubles") == b"[]"
            assert board.part("stale") is None
        finally:
            running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await running
