"""`windlass openstack orphans`: on the models of an API server and a cloud."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.kube.client.tls import AUTHORITY
from tests.unit.openstack.clouded import NAMESPACE, PROJECT, START, World, secret
from windlass.api import mapi
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_server import OpenStackServer
from windlass.api.core import ConfigMap, Secret
from windlass.capability.conventions.exit_codes import Exit
from windlass.cli import main
from windlass.model import MemoryApi
from windlass.openstack.cli.left_over import Found, OrphansRequest, Unknowable, carry_out, look, render
from windlass.openstack.cloud.clouds import Clouds
from windlass.openstack.cloud.credentials import Credentials
from windlass.openstack.cloud.marks import described, place_of
from windlass.openstack.cloud.wire import Http
from windlass.openstack.constants import MARK_ANNOTATION
from windlass.openstack.overview.orphans import Orphan

MARK, OTHER = (f"00000000-0000-4000-8000-00000000000{number}" for number in (1, 2))
IDENTITY = {"type": "Secret", "name": "credentials", "cloudName": "one"}


class Cluster:
    """A cluster in memory, and a project that has a port for each of the marks."""

    def __init__(self, *marks: str, kinds: tuple[type[Any], ...] = (OpenStackServer, mapi.Machine)) -> None:
        self.world = World()
        self.marks = marks
        self.api = MemoryApi(*kinds, Secret, clock=lambda: START)
        self.api.load(secret())

    def has(self, kind: type[Any], name: str, *, mark: str = "", namespace: str = NAMESPACE, **spec: Any) -> None:
        metadata = {"name": name, "namespace": namespace, "annotations": {MARK_ANNOTATION: mark} if mark else {}}
        resource = kind.RESOURCE
        whole = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, "spec": spec}
        self.api.load(whole)

    async def make_ports(self) -> None:
        wire = self.world.cloud.wire(PROJECT)
        for mark in self.marks:
            port = {"network_id": self.world.network, "name": "p", "description": described("", mark)}
            await wire.send(Http("network", "POST", "/v2.0/ports", body={"port": port}), seconds=30)

    async def look(self, *, then: Callable[[], None] = lambda: None) -> tuple[list[str], list[str]]:
        """The marks of the orphans, and the troubles; `then` happens when the cloud was asked."""
        await self.make_ports()
        asked = len(self.world.cloud.requests)
        listing = self.api.list

        async def late(kind: Any, **where: Any) -> Any:
            if len(self.world.cloud.requests) > asked:
                then()
            return await listing(kind, **where)

        self.api.list = late  # type: ignore[method-assign]
        found, troubles = await look(self.api, self.world.clouds(), OrphansRequest(machine_api=NAMESPACE))
        return [each.orphan.mark for each in found], troubles

    async def run(self, *, hours: float = 2.0, api: Any = (), **how: Any) -> int:
        """The exit code of the command, so many hours after the ports were made."""
        later = datetime.fromisoformat(self.world.cloud.services.time()) + timedelta(hours=hours)
        request = OrphansRequest(ask=False, **how)
        asked = self.api if api == () else api
        return await carry_out(asked, self.world.clouds(), request, where="here", now=lambda: later)


@pytest.mark.parametrize(
    ("marks", "how", "code", "ports"),
    [
        ((MARK,), {}, Exit.CHANGES, 1),
        ((MARK,), {"delete": True}, Exit.OK, 0),
        ((MARK,), {"delete": True, "hours": 0.9}, Exit.FAILED, 1),
        ((MARK,), {"delete": True, "hours": 0.9, "all_ages": True}, Exit.OK, 0),
        ((OTHER,), {"delete": True, "all_ages": True}, Exit.OK, 1),
    ],
    ids=["dry", "old", "young", "all ages", "owned"],
)
async def test_only_what_is_asked_for_and_old_enough_is_deleted(
    marks: tuple[str, ...], how: dict[str, Any], code: Exit, ports: int
) -> None:
    cluster = Cluster(*marks)
    cluster.has(OpenStackServer, "w", mark=OTHER, identityRef=IDENTITY)
    await cluster.make_ports()
    assert await cluster.run(**how) == code
    assert len(cluster.world.cloud.services.ports) == ports


async def test_what_no_object_has_is_found_with_the_credentials_that_objects_name() -> None:
    cluster = Cluster(MARK, OTHER)
    cluster.has(OpenStackServer, "w", mark=OTHER, identityRef=IDENTITY)
    assert await cluster.look() == ([MARK], [])


@pytest.mark.parametrize("kind", [OpenStackMachine, OpenStackCluster, mapi.Machine], ids=lambda kind: kind.__name__)
async def test_the_owner_may_be_of_any_kind_and_in_any_namespace(kind: type[Any]) -> None:
    cluster = Cluster(MARK, kinds=(OpenStackServer, kind))
    cluster.has(OpenStackServer, "w", identityRef=IDENTITY)
    cluster.has(kind, "owner", mark=MARK, namespace="elsewhere")
    assert await cluster.look() == ([], [])


@pytest.mark.parametrize(
    "data", [{}, {"ca-bundle.pem": AUTHORITY.decode()}, {"ca-bundle.pem": "\n"}], ids=["no CA", "CA", "blank"]
)
async def test_machines_of_the_machine_api_name_credentials_and_the_cluster_a_ca(
    data: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Cluster(MARK, kinds=(OpenStackServer, mapi.Machine, ConfigMap))
    value = {"cloudName": "one", "cloudsSecret": {"name": "credentials"}}
    cluster.has(mapi.Machine, "w", providerSpec={"value": value})
    cluster.has(mapi.Machine, "of-another-platform", providerSpec={"value": {"ami": "x"}})
    metadata = {"name": "cloud-provider-config", "namespace": "openshift-config"}
    cluster.api.load({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
    used: list[str] = []

    def clouds() -> Clouds:
        def wire(credentials: Credentials) -> Any:
            used.append(credentials.cacert)
            return cluster.world.cloud.wire(PROJECT)

        return Clouds(wire=wire, now=lambda: cluster.world.now, clock=lambda: cluster.world.cloud.services.now)

    monkeypatch.setattr(cluster.world, "clouds", clouds)
    assert await cluster.look() == ([MARK], [])
    assert used == [data["ca-bundle.pem"] if data.get("ca-bundle.pem", "").strip() else ""]


async def test_machines_outside_the_namespace_of_the_machine_api_choose_no_project() -> None:
    cluster = Cluster(MARK)
    theirs = {"cloudName": "one", "cloudsSecret": {"name": "nothing"}}
    cluster.has(mapi.Machine, "w", namespace="evil", providerSpec={"value": theirs})
    with pytest.raises(Unknowable, match="no object names credentials"):
        await cluster.look()
    cluster.has(OpenStackServer, "s", identityRef=IDENTITY)
    assert await cluster.look() == ([MARK] * 2, [])


async def test_an_owner_that_came_while_the_cloud_was_asked_is_seen() -> None:
    cluster = Cluster(MARK)
    cluster.has(OpenStackServer, "w", identityRef=IDENTITY)
    news = iter([lambda: cluster.has(OpenStackServer, "new", mark=MARK)])
    assert await cluster.look(then=lambda: next(news, lambda: None)()) == ([], [])


async def test_a_malformed_owner_still_owns() -> None:
    cluster = Cluster(MARK)
    cluster.has(OpenStackServer, "w", identityRef=IDENTITY)
    cluster.has(OpenStackServer, "odd", mark=MARK, ports="none")
    assert await cluster.look() == ([], [])


async def test_a_project_that_cannot_be_asked_is_a_trouble_and_the_others_are_asked() -> None:
    cluster = Cluster(MARK)
    cluster.has(OpenStackServer, "w", identityRef=IDENTITY)
    cluster.has(OpenStackServer, "x", identityRef={**IDENTITY, "name": "nothing"})
    marks, (trouble,) = await cluster.look()
    assert marks == [MARK]
    assert trouble == (
        f"Secret {NAMESPACE}/nothing does not exist: create it with the key clouds.yaml, or correct identityRef.name"
    )


@pytest.mark.parametrize(
    ("kinds", "why"),
    [
        ((), "the API server serves no kind that has resources in OpenStack: is it the right --context?"),
        ((OpenStackServer,), "no object names credentials of a cloud: say --os-cloud NAME"),
    ],
)
async def test_what_is_an_orphan_must_be_knowable(kinds: tuple[type[Any], ...], why: str) -> None:
    with pytest.raises(Unknowable) as error:
        await Cluster(MARK, kinds=kinds).look()
    assert error.value.message == why


def in_place(place: str, number: int) -> str:
    return f"{MARK[:-1]}{number}/0123456789abcdef/{place}"


@pytest.mark.parametrize(
    ("owners", "places"),
    [
        ((), ["cluster/prod/one", "server/prod/one", "server/dev/two", f"server/{'n' * 63}~0123456789abcdef"]),
        (("prod",), ["cluster/prod/one", "server/prod/one"]),
        (("dev/two",), ["server/dev/two"]),
        (("dev/two", "prod/one"), ["cluster/prod/one", "server/prod/one", "server/dev/two"]),
        (("dev/tw", "pro", "server"), []),
    ],
)
async def test_without_a_cluster_all_marks_of_a_project_are_shown_or_those_of_the_owners_that_are_named(
    owners: tuple[str, ...], places: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    every = ["cluster/prod/one", "server/prod/one", "server/dev/two", f"server/{'n' * 63}~0123456789abcdef"]
    cluster = Cluster(*(in_place(place, number) for number, place in enumerate(every)))
    await cluster.make_ports()
    monkeypatch.setattr("windlass.openstack.cli.left_over.of_user", lambda name: Credentials({}, name, "", "", "yours"))
    request = OrphansRequest(os_cloud="demo", no_cluster=True, owners=owners)
    found, troubles = await look(None, cluster.world.clouds(), request)
    assert (sorted(place_of(each.orphan.mark) for each in found), troubles) == (sorted(places), [])
    assert all("no cluster was asked" in line for line in render(found, request, now=START)[1:])


async def test_without_a_cluster_only_what_the_named_owners_had_is_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(in_place("server/prod/one", 1), in_place("server/prod/two", 2))
    await cluster.make_ports()
    monkeypatch.setattr("windlass.openstack.cli.left_over.of_user", lambda name: Credentials({}, name, "", "", "yours"))
    how: dict[str, Any] = {"os_cloud": "demo", "no_cluster": True, "owners": ("prod/one",), "delete": True}
    assert await cluster.run(api=None, **how) == Exit.OK
    (left,) = cluster.world.cloud.services.ports.values()
    assert left["description"].endswith("server/prod/two")


def test_without_a_kubeconfig_a_project_that_is_named_is_shown_and_nothing_is_deleted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[OrphansRequest] = []

    async def instead(api: Any, clouds: Any, request: OrphansRequest, **where: Any) -> Exit:
        asked.append(request)
        return Exit.CHANGES

    monkeypatch.setattr("windlass.openstack.cli.left_over.carry_out", instead)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    assert main(["openstack", "orphans", "--os-cloud", "demo"]) == Exit.CHANGES
    assert [each.no_cluster for each in asked] == [True]
    assert main(["openstack", "orphans", "--os-cloud", "demo", "--delete", "--yes"]) == Exit.UNREADABLE
    assert main(["openstack", "orphans"]) == Exit.UNREADABLE
    assert capsys.readouterr().err.count("no kubeconfig") == 2
    assert len(asked) == 1


OF_ONE = f"{MARK}/0123456789abcdef/cluster/prod/one"


def found(**more: Any) -> Found:
    orphan = Orphan("security group", "workers", "g-1", OF_ONE, "2026-11-22T11:00:00Z")
    account: Any = type("Project", (), {"where": "Secret prod/cloud"})
    return Found(orphan, account, **more)


def lines(each: Found, form: str = "table", *, headings: bool = True) -> list[str]:
    return render([each], OrphansRequest(form, headings=headings), now=START)


def test_a_row_says_what_it_is_how_old_and_why() -> None:
    heading, row = lines(found())
    assert heading.split() == ["KIND", "NAME", "ID", "AGE", "OWNER", "WHY"]
    assert row.split()[:5] == ["security-group", "workers", "g-1", "60m", "OpenStackCluster"]
    assert row.endswith("prod/one   no object has this mark")
    assert lines(found(), headings=False) == [row]
    assert START - timedelta(hours=1) == START.replace(hour=11)


def test_after_a_deletion_a_row_says_what_came_of_it() -> None:
    heading, row = lines(found(result="left", problem="in use by port x"))
    assert heading.split()[-2:] == ["RESULT", "REASON"]
    assert row.endswith("left     in use by port x")


def test_programs_get_every_field() -> None:
    (item,) = json.loads("\n".join(lines(found(), "json")))["items"]
    assert item == {
        "kind": "security group",
        "name": "workers",
        "id": "g-1",
        "mark": OF_ONE,
        "owner": "OpenStackCluster prod/one",
        "created": "2026-11-22T11:00:00Z",
        "credentials": "Secret prod/cloud",
        "why": "no object has this mark",
        "result": None,
        "problem": None,
    }
    assert yaml.safe_load("\n".join(lines(found(), "yaml"))) == {"items": [item]}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-n", "x"], "owners are looked for in all namespaces: leave out -n, or say --owner NAMESPACE"),
        (["--no-cluster"], "--no-cluster: no object can name the project: say --os-cloud NAME"),
        (
            ["--no-cluster", "--os-cloud", "x", "--delete", "--yes"],
            "--no-cluster --delete: nobody knows which objects exist: say whose with --owner NAMESPACE",
        ),
        (["--delete"], "--delete changes many objects and needs a terminal to ask for confirmation: add --yes"),
    ],
)
def test_a_wrong_command_line_says_what_to_do(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["openstack", "orphans", *arguments]) == 64
    assert capsys.readouterr().err.startswith(f"error: {message}\n")
