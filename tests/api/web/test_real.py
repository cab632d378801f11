"""The page of a cluster, with the rights as they are shipped: real tokens, real RBAC, real watches, a browser."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from tests.api.update_status.keeper import our_kinds
from tests.api.web.conftest import OpenTab, Watched
from tests.api.web.deployed import DEPLOY, HOME, bind, sign_in, token_of, until_live
from tests.authorizer import until_allowed
from tests.browser import require_browser
from tests.objects import Objects, usual_namespaces
from tests.unit.web.serving import certificate, serving
from windlass.api import capi, capo, mapi
from windlass.api.meta import tree
from windlass.api.update import UPDATE_STATUS, UpdateStatus
from windlass.api.update_heartbeat import UpdateStatusHeartbeat
from windlass.kube import config as connections
from windlass.kube.client import Client
from windlass.kube.errors import NotFound
from windlass.kube.verbs import PatchType
from windlass.machine_sync.constants import Namespaces
from windlass.machine_sync.view.machines import machines_view
from windlass.testing import BlockingAccess, crds
from windlass.testing.plane.pool import PlanePool
from windlass.update_status.document import write
from windlass.update_status.report import ControlPlane, Health, Operator, Report, State, Versions
from windlass.update_status.times import HOUR, MINUTE, ZERO, moment, rfc3339
from windlass.update_status.view.update import live_view

require_browser()

pytestmark = [pytest.mark.plane, pytest.mark.asyncio(loop_scope="module")]

UPDATE_STATUS_FOLDER = DEPLOY / "update-status" / "base"
USER = f"system:serviceaccount:{HOME}:windlass-web"
PEOPLE = ("ann", "bob")


@pytest.fixture(scope="module")
def plane(windlass_planes: PlanePool) -> Iterator[BlockingAccess]:
    """With the CRDs of both sides, those of updates, the page's ServiceAccount as shipped, and two people."""
    with our_kinds(windlass_planes, crds.documents(*crds.MACHINES)) as plane:
        usual_namespaces(plane)
        plane.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "windlass-update-status"}})
        plane.apply_files(
            UPDATE_STATUS_FOLDER / "view.yaml",
            DEPLOY / "web" / "base" / "rbac.yaml",
            DEPLOY / "web" / "components" / "machines" / "rbac.yaml",
            DEPLOY / "web" / "components" / "machines" / "view.yaml",
        )
        for name in PEOPLE:
            plane.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": HOME}})
        until_allowed(plane.rest, USER, "watch", "updatestatuses.update.openshift.io")
        until_allowed(plane.rest, USER, "watch", "machines.cluster.x-k8s.io", namespace="openshift-cluster-api")
        yield plane


@pytest.fixture(scope="module")
def objects(plane: BlockingAccess) -> Objects:
    return Objects(plane, Namespaces())


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def admin(plane: BlockingAccess) -> AsyncIterator[Client]:
    async with Client(connections.load(kubeconfig=plane.kubeconfig())) as client:
        yield client


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def base(plane: BlockingAccess, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """The page as its ServiceAccount serves it; rights are asked for again at once."""
    config = connections.load(kubeconfig=plane.service_account_kubeconfig(HOME, "windlass-web"))
    tls = certificate(tmp_path_factory.mktemp("tls"))
    async with Client(config) as client:
        views = (live_view(client), machines_view(client, Namespaces()))
        async with serving(*views, config=config, tls=tls, beat=0.2, remember=0.2) as base:
            yield base


def may_see_update(plane: BlockingAccess, person: str) -> str:
    binding = bind(plane, person, "windlass-update-status-view")
    user = f"system:serviceaccount:{HOME}:{person}"
    until_allowed(plane.rest, user, "get", "updatestatuses.update.openshift.io", name=UPDATE_STATUS)
    return binding


def may_see_machines(plane: BlockingAccess, person: str) -> None:
    user = f"system:serviceaccount:{HOME}:{person}"
    for namespace in Namespaces():
        bind(plane, person, "windlass-machines-view", namespace=namespace)
    until_allowed(plane.rest, user, "list", "machinesets.machine.openshift.io", namespace="openshift-machine-api")
    until_allowed(plane.rest, user, "list", "machinesets.cluster.x-k8s.io", namespace="openshift-cluster-api")


def report(target: str, *, state: State = State.PROGRESSING) -> Report:
    operator = Operator(name="etcd", state=state, health=Health.HEALTHY, since=ZERO, health_since=ZERO, message=target)
    plane = ControlPlane(
        updating="True",
        message=f"Working towards {target}",
        since=moment("2026-11-22T23:34:28Z"),
        versions=Versions(target=target, previous="4.16.0"),
        started=moment("2026-11-22T23:34:28Z"),
        baseline=60 * MINUTE,
        operators=(operator,),
    )
    return Report(control_plane=plane)


async def keep(admin: Client, found: Report) -> None:
    """Write the UpdateStatus and a heartbeat as the controller does."""
    await beat(admin, rfc3339(time.time_ns() + HOUR))
    with contextlib.suppress(NotFound):
        status = {"status": tree(write(found, now=time.time_ns()))}
        await admin.patch(UpdateStatus, UPDATE_STATUS, status, type=PatchType.MERGE, subresource="status")
        return
    await admin.create(UpdateStatus, {"metadata": {"name": UPDATE_STATUS}, "spec": {}})
    await keep(admin, found)


async def beat(admin: Client, last: str) -> None:
    fields = {"lastBeat": last, "periodSeconds": 10}
    try:
        await admin.patch(UpdateStatusHeartbeat, UPDATE_STATUS, fields, type=PatchType.MERGE)
    except NotFound:
        await admin.create(UpdateStatusHeartbeat, {"metadata": {"name": UPDATE_STATUS}, **fields})


async def test_the_update_is_followed_without_a_reload(
    tab: OpenTab, watched: Watched, base: str, plane: BlockingAccess, admin: Client
) -> None:
    await keep(admin, report("4.16.1"))
    may_see_update(plane, "ann")
    page = await sign_in(tab, base, token_of(plane, "ann"), "/update-status")
    await page.get_by_role("heading", name="The update to 4.16.1").wait_for()
    await until_live(page)
    await beat(admin, "2026-01-01T00:00:00Z")
    await page.locator("#state", has_text="Not current").wait_for()
    await page.get_by_role("alert").get_by_text("nobody keeps the UpdateStatus up to date").wait_for()
    await keep(admin, report("4.16.2"))
    await page.get_by_role("heading", name="The update to 4.16.2").wait_for()
    # Before the sign-in there is one refusal, which the browser reports as it does every 401.
    assert [text for text in watched.complaints if "401" not in text] == []


async def test_a_page_that_is_open_closes_with_the_right(
    tab: OpenTab, base: str, plane: BlockingAccess, admin: Client
) -> None:
    await keep(admin, report("4.16.1"))
    binding = may_see_update(plane, "bob")
    page = await sign_in(tab, base, token_of(plane, "bob"), "/update-status")
    await page.get_by_role("heading", name="The update to").wait_for()
    await asyncio.to_thread(plane.rest.request, "DELETE", binding)
    await page.get_by_role("heading", name="You may not see this").wait_for()
    text = await page.inner_text("body")
    assert "bob may not get updatestatuses.update.openshift.io cluster" in text
    assert "4.16" not in text, "what was shown is gone"


async def test_whoever_may_see_nothing_is_told_so_and_a_wrong_token_too(
    tab: OpenTab, base: str, plane: BlockingAccess
) -> None:
    plane.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "eve", "namespace": HOME}})
    page = await sign_in(tab, base, token_of(plane, "eve"))
    await page.get_by_role("alert").get_by_text("ask an administrator").wait_for()
    await page.get_by_label("Token of the cluster").fill("nonsense")
    await page.get_by_role("button", name="Sign in").click()
    await page.get_by_role("alert").get_by_text("does not accept that token").wait_for()
    assert await page.get_by_label("Token of the cluster").input_value() == ""


async def test_signing_out_leaves_nothing(tab: OpenTab, base: str, plane: BlockingAccess, admin: Client) -> None:
    await keep(admin, report("4.16.1"))
    may_see_update(plane, "ann")
    page = await sign_in(tab, base, token_of(plane, "ann"), "/update-status")
    await page.get_by_role("heading", name="The update to").wait_for()
    await page.get_by_role("button", name="Sign out").click()
    await page.get_by_role("heading", name="Sign in").wait_for()
    assert await page.evaluate("fetch('/api/session').then((answer) => answer.status)") == 401
    assert await page.evaluate("localStorage.length + sessionStorage.length + document.cookie.length") == 0


def make_machine(objects: Objects, name: str) -> None:
    """On both sides, the Machine API authoritative."""
    infra = {
        "apiGroup": capo.OpenStackMachine.RESOURCE.group,
        "kind": capo.OpenStackMachine.RESOURCE.kind,
        "name": name,
    }
    spec = {"clusterName": "test", "bootstrap": {"dataSecretName": "x"}, "infrastructureRef": infra}
    objects.make(capi.Machine, name, spec, status={"phase": "Running"})
    objects.make(mapi.Machine, name, {}, status={"phase": "Provisioning", "authoritativeAPI": "MachineAPI"})


async def test_machines_of_both_sides_are_followed(
    tab: OpenTab, base: str, plane: BlockingAccess, objects: Objects
) -> None:
    may_see_machines(plane, "ann")
    name = f"worker-{time.time_ns()}"
    make_machine(objects, name)
    page = await sign_in(tab, base, token_of(plane, "ann"), "/machine-sync")
    row = page.get_by_role("row").filter(has_text=name)
    await row.get_by_text("Provisioning").wait_for()
    await row.get_by_text("Running").wait_for()
    objects.patch(mapi.Machine, name, {"spec": {"authoritativeAPI": "ClusterAPI"}})
    objects.patch(mapi.Machine, name, {"status": {"authoritativeAPI": "Migrating"}}, part="status")
    await row.get_by_text("moving \N{RIGHTWARDS ARROW} Cluster API").wait_for()
    await page.get_by_label("Filter").fill("no such machine")
    await row.wait_for(state="detached")
    await page.get_by_label("Filter").fill(name)
    await row.wait_for()
    for kind in (mapi.Machine, capi.Machine):
        objects.delete(kind, name)
    await row.wait_for(state="detached")


async def test_details_are_read_with_the_rights_of_whoever_asks(
    tab: OpenTab, base: str, plane: BlockingAccess, objects: Objects
) -> None:
    may_see_machines(plane, "ann")
    name = f"worker-{time.time_ns()}"
    make_machine(objects, name)
    page = await sign_in(tab, base, token_of(plane, "ann"), "/machine-sync")
    await page.get_by_role("button", name=name).press("Enter")
    dialog = page.get_by_role("dialog", name=f"Machine {name}")
    await dialog.get_by_role("heading", name="Cluster API").wait_for()
    # Plans need more than the view of machines: it is ann who lacks it, and not the page.
    refused = f'User "system:serviceaccount:{HOME}:ann" cannot'
    await dialog.get_by_text(refused).first.wait_for()
    assert USER not in await dialog.inner_text()
    await page.keyboard.press("Escape")
    await dialog.wait_for(state="hidden")
    assert await page.evaluate("document.activeElement.textContent") == name
    for kind in (mapi.Machine, capi.Machine):
        objects.delete(kind, name)
