"""`windlass.openstack.cloud` on a real OpenStack: tokens, counts of requests, faults, quotas, texts of refusals."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import eventually
from windlass.openstack.cloud.account import Account
from windlass.openstack.cloud.certainty import Times
from windlass.openstack.cloud.classify import classify
from windlass.openstack.cloud.clouds import Clouds, PollTimes
from windlass.openstack.cloud.credentials import of_user, read
from windlass.openstack.cloud.failures import (
    CloudFailure,
    Doubtful,
    InConflict,
    Missing,
    NotSent,
    OverQuota,
    Rejected,
    Throttled,
    Unauthenticated,
    Unavailable,
)
from windlass.openstack.cloud.gates import Pauses
from windlass.openstack.cloud.inventory import MARK, ServerInventory
from windlass.openstack.cloud.query import Query
from windlass.openstack.cloud.requests import (
    CreatePort,
    CreateServer,
    CreateTrunk,
    CreateVolume,
    DeletePort,
    DeleteServer,
    DeleteTrunk,
    DeleteVolume,
    Intent,
)
from windlass.openstack.cloud.resources import Flavor, Image
from windlass.openstack.cloud.wire import Http, Method, Service
from windlass.testing.cloud import CloudAccess, Project
from windlass.testing.cloud.project import ENTRY

SECRET = "Secret prod/cloud"
IMAGE = Query("image", filters=(("name", "cirros"),))
FLAVOR = Query("flavor", filters=(("name", "m1.tiny"),))
QUICK = Pauses(unavailable=(0.2, 1.0), quota=(60.0, 600.0), credentials=(0.5, 1.0), trial=5.0)


@pytest.fixture
async def clouds() -> AsyncIterator[Clouds]:
    """Of one process, with short pauses."""
    polls = PollTimes(after_write=0.3, building=1.0, at_rest=2.0)
    async with Clouds(pauses=QUICK, polls=polls, times=Times(request=2.0)) as clouds:
        yield clouds


@pytest.fixture
async def account(clouds: Clouds, project: Project) -> Account:
    return await clouds.project(read(project.clouds_yaml, ENTRY, where=SECRET))


def asked(project: Project) -> list[str]:
    """Our requests in the project, tokens included."""
    return [f"{each.service} {each.method} {each.path}" for each in project.requests(user_agent="^windlass-openstack/")]


def port(account: Account, project: Project, mark: str = "m", **body: Any) -> CreatePort:
    whole = {"name": "w-0", "network_id": project.network_id, "description": f"{MARK}={mark}", **body}
    return CreatePort(project=account.key, intent=Intent(mark), subject="w-0", body=whole)


async def names(account: Account) -> tuple[Image, Flavor]:
    answers = await account.find([IMAGE, FLAVOR])
    [image], [flavor] = answers[IMAGE], answers[FLAVOR]  # type: ignore[misc]
    assert isinstance(image, Image)
    assert isinstance(flavor, Flavor)
    return image, flavor


async def server(account: Account, port_id: str, mark: str = "m", **more: Any) -> CreateServer:
    image, flavor = await names(account)
    body = {
        "name": "w",
        "imageRef": image.id,
        "flavorRef": flavor.id,
        "networks": [{"port": port_id}],
        "metadata": {MARK: mark},
        **more,
    }
    return CreateServer(project=account.key, intent=Intent(mark), subject="w", body=body, microversion="2.53")


async def failure_of(clouds: Clouds, request: Any) -> CloudFailure:
    with pytest.raises(CloudFailure) as caught:
        await clouds.send(request)
    if caught.value.unknown_outcome:
        clouds.doubt(request)
    return caught.value


async def test_a_server_cold_costs_six_requests_and_another_one_two(
    clouds: Clouds, account: Account, project: Project
) -> None:
    for mark in ("m1", "m2"):
        await account.look(clouds.born(mark))
        made = await clouds.send(port(account, project, mark))
        await clouds.send(await server(account, made.id, mark))
    requests = asked(project)
    assert requests == [
        "keystone POST /v3/auth/tokens",
        "neutron POST /v2.0/ports",
        *sorted(["glance GET /v2/images", "nova GET /v2.1/flavors/detail"], key=requests.index),
        "nova POST /v2.1/servers",
        "neutron POST /v2.0/ports",
        "nova POST /v2.1/servers",
    ]
    writers = {each.user_agent.split(" ")[-1] for each in project.requests("nova", method="POST")}
    assert writers == {"(create)"}, "no controller has sent them"
    project.may_leave()


async def test_a_life_from_the_post_to_the_last_list(clouds: Clouds, account: Account, project: Project) -> None:
    woken: list[Any] = []
    clouds.polls.attach(lambda key, /, **_: woken.append(key))
    mark = clouds.born("m")
    parent = await clouds.send(port(account, project))
    body = {"name": "w-0", "port_id": parent.id, "description": f"{MARK}=m"}
    trunk = await clouds.send(CreateTrunk(project=account.key, intent=Intent(mark), subject="w-0", body=body))
    volume_body = {"name": "w-data", "size": 1, "metadata": {MARK: "m"}}
    volume = await clouds.send(
        CreateVolume(project=account.key, intent=Intent(mark), subject="w-data", body=volume_body)
    )
    made = await clouds.send(await server(account, parent.id))
    assert (made.status, made.metadata) == ("", {MARK: "m"})
    there = await account.look(mark, services=["block-storage"])
    assert there.certain
    assert ([each.id for each in there.servers], [each.id for each in there.ports]) == ([made.id], [parent.id])
    assert ([each.id for each in there.trunks], [each.id for each in there.volumes]) == ([trunk.id], [volume.id])
    clouds.follow("w", account, mark)

    [now] = (await eventually(lambda: account.look(mark), lambda found: found.servers[0].status == "ACTIVE")).servers
    assert set(woken) == {"w"}
    [address] = next(iter(now.addresses.values()))
    assert (now.name, address.type, address.addr[:5], now.metadata) == ("w", "fixed", "10.6.", {MARK: "m"})
    # Ports change less than servers while these are built, and are listed less often.
    [seen] = (await eventually(lambda: account.look(mark), lambda found: bool(found.ports[0].device_id))).ports
    assert seen.device_id == made.id
    assert seen.trunk_details is not None

    await clouds.send(DeleteServer(project=account.key, mark=mark, id=made.id))
    assert (await account.look(mark)).servers[0].task_state == "deleting"
    await eventually(lambda: account.look(mark), lambda found: not found.servers)
    await clouds.send(DeleteTrunk(project=account.key, mark=mark, id=trunk.id))
    await clouds.send(DeletePort(project=account.key, mark=mark, id=parent.id))
    await clouds.send(DeleteVolume(project=account.key, mark=mark, id=volume.id))
    await eventually(
        lambda: account.look(mark, services=["block-storage"], fresh=True),
        lambda left: not (left.servers or left.ports or left.trunks or left.volumes),
    )
    clouds.unfollow("w")


WEATHER: dict[str, tuple[dict[str, Any], type[CloudFailure], int]] = {
    "answer lost": ({"status": 503, "after": True}, Doubtful, 1),
    "503": ({"status": 503}, Doubtful, 0),
    "dropped": ({"drop": True}, Doubtful, 0),
    "dropped after the work": ({"drop": True, "after": True}, Doubtful, 1),
    "429": ({"status": 429, "headers": {"Retry-After": "1"}}, Throttled, 0),
}


async def test_after_each_fault_a_look_tells_what_is_there(clouds: Clouds, account: Account, project: Project) -> None:
    for name, (rule, kind, made) in WEATHER.items():
        mark = clouds.born(name.replace(" ", "-"))
        fault = project.fault("neutron", method="POST", path="/ports$", count=1, **rule)
        failure = await failure_of(clouds, port(account, project, mark))
        assert type(failure) is kind, name
        assert isinstance(await failure_of(clouds, port(account, project, mark)), NotSent), name

        async def look(mark: str = mark) -> ServerInventory | None:
            with suppress(NotSent):
                return await account.look(mark, fresh=True)
            return None

        there = await eventually(look, lambda found: found and found.certain)
        assert there is not None
        assert (len(there.ports), fault.hits) == (made, 1), name
    posts = project.requests("neutron", method="POST", path="/ports$", user_agent="^windlass-openstack/")
    assert len(posts) == len(WEATHER)
    project.may_leave("port")


async def test_a_service_that_is_too_slow(clouds: Clouds, account: Account, project: Project) -> None:
    project.fault("neutron", path="/networks", delay=2.0, count=1)
    with pytest.raises(Unavailable, match=r"no answer"):
        await account.ask(Http("network", "GET", "/v2.0/networks"), seconds=0.5)


async def test_retry_after_is_kept(clouds: Clouds, account: Account, project: Project) -> None:
    project.fault("nova", status=429, headers={"Retry-After": "2"}, count=1)
    with pytest.raises(Throttled) as caught:
        await account.ask(Http("compute", "GET", "/servers"))
    assert caught.value.retry_after == 2
    until = time.monotonic() + 2
    while time.monotonic() < until - 0.1:
        with pytest.raises(NotSent):
            await account.ask(Http("compute", "GET", "/servers"))
        await asyncio.sleep(0.2)
    assert len(project.requests("nova")) == 1
    await asyncio.sleep(0.2)
    assert (await account.ask(Http("compute", "GET", "/servers"))).status == 200


BAD_REQUESTS: list[tuple[Service, Method, str, Any, str, type[CloudFailure], str]] = [
    ("compute", "GET", "/servers/0b5f4c1e-8e5f-4d0c-9b0e-3f0a2a1d7c55", None, "", Missing, "could not be found"),
    ("compute", "POST", "/servers", {"server": {"name": "w"}}, "", Rejected, "Invalid input"),
    ("compute", "GET", "/servers", None, "2.999", Rejected, "version 2.999 of the compute API is not supported"),
    ("network", "POST", "/v2.0/ports", {"port": {}}, "", Rejected, "network_id"),
    ("network", "POST", "/v2.0/ports", {"port": {"network_id": "x"}}, "", Rejected, "x"),
    ("network", "GET", "/v2.0/ports/x", None, "", Missing, "x could not be found"),
    ("block-storage", "POST", "/volumes", {"volume": {"size": 0}}, "", Rejected, "size"),
    ("block-storage", "GET", "/volumes/x", None, "", Missing, "x could not be found"),
    ("image", "GET", "/v2/images/x", None, "", Missing, ""),
]


async def test_refusals_of_each_service_are_one_sentence_with_the_request_id(account: Account) -> None:
    for service, method, path, body, microversion, kind, text in BAD_REQUESTS:
        request = Http(service, method, path, body=body, microversion=microversion)
        failure = classify(request, await account.wire.send(request, seconds=20))
        assert type(failure) is kind, (request, failure)
        assert failure is not None
        assert text in failure.fault
        assert not failure.fault.startswith(("{", "[", "<"))
        assert "\n" not in str(failure)
        assert failure.request_id.startswith("req-")


async def test_quotas_are_told_with_numbers(clouds: Clouds, account: Account, project: Project) -> None:
    project.set_quota(instances=0, port=1, volumes=0)
    found = {each.resource: (each.limit, each.used) for each in await account.quotas()}
    assert (found["instances"], found["port"], found["volumes"]) == ((0, 0), (1, 0), (0, 0))
    made = await clouds.send(port(account, project))
    over = await failure_of(clouds, port(account, project, name="w-1"))
    assert isinstance(over, OverQuota)
    assert over.resource == "port"
    over = await failure_of(clouds, await server(account, made.id))
    assert isinstance(over, OverQuota)
    assert over.resource == "instances"
    body = {"name": "w-root", "size": 1, "metadata": {MARK: "m"}}
    over = await failure_of(clouds, CreateVolume(project=account.key, intent=Intent("m"), subject="w-root", body=body))
    assert isinstance(over, OverQuota)
    assert set(account.blockers("m").gates) == {
        "quota:compute/servers",
        "quota:network/ports",
        "quota:block-storage/volumes",
    }
    project.may_leave("port")


async def test_a_port_in_use_conflicts(clouds: Clouds, account: Account, project: Project) -> None:
    made = await clouds.send(port(account, project))
    address = made.fixed_ips[0]
    addresses = [{"subnet_id": address.subnet_id, "ip_address": address.ip_address}]
    conflict = await failure_of(clouds, port(account, project, fixed_ips=addresses))
    assert isinstance(conflict, InConflict)
    assert address.ip_address in str(conflict)
    await clouds.send(DeletePort(project=account.key, mark="m", id=made.id))


async def test_names_that_are_regexes_match_themselves_only(account: Account, project: Project) -> None:
    kinds = ("network", "subnet", "router", "security group", "image", "flavor", "server group", "keypair")
    queries = [Query(kind, filters=(("name", ".*"),)) for kind in kinds]  # type: ignore[arg-type]
    assert list((await account.find(queries)).values()) == [()] * len(kinds)
    one = Query("network", filters=(("name", project.name),))
    assert [each.name for each in (await account.find([one]))[one]] == [project.name]  # type: ignore[union-attr]


async def test_everything_can_be_found_by_its_id(account: Account, project: Project) -> None:
    image, flavor = await names(account)
    queries = [
        Query("image", id=image.id),
        Query("flavor", id=flavor.id),
        Query("network", id=project.network_id),
        Query("subnet", id=project.subnet_id),
    ]
    answers = await account.find(queries)
    assert [[each.id for each in answers[query]] for query in queries] == [  # type: ignore[union-attr]
        [image.id],
        [flavor.id],
        [project.network_id],
        [project.subnet_id],
    ]
    nothing = Query("image", id="0b5f4c1e-8e5f-4d0c-9b0e-3f0a2a1d7c55")
    assert (await account.find([nothing]))[nothing] == ()
    zones, extensions = Query("zone"), Query("extension")
    found = await account.find([zones, extensions])
    assert {"az1", "az2", "az3"} <= {zone.name for zone in found[zones]}  # type: ignore[union-attr]
    assert {"trunk", "port-security"} <= {each.alias for each in found[extensions]}  # type: ignore[union-attr]


async def test_twenty_cold_owners_ask_for_one_token(clouds: Clouds, project: Project) -> None:
    credentials = read(project.clouds_yaml, ENTRY, where=SECRET)

    async def observe(mark: str) -> None:
        await (await clouds.project(credentials)).look(mark)

    await asyncio.gather(*(observe(f"m{n}") for n in range(20)))
    requests = asked(project)
    assert sum(each.startswith("keystone") for each in requests) == 1, requests
    assert len(requests) == 1 + 4, requests  # servers, ports, extensions, trunks


async def test_calls_under_load_survive_tokens_that_are_refused(account: Account, project: Project) -> None:
    for skip in (20, 45, 70, 95):  # so far apart that no call meets three of them
        project.fault("neutron", path="/networks", status=401, skip=skip, count=1)
    request = Http("network", "GET", "/v2.0/networks", query=(("fields", "id"),))
    answers = await asyncio.gather(*(account.ask(request) for _ in range(100)))
    assert {answer.status for answer in answers} == {200}


async def test_a_wrong_password_is_told_and_an_application_credential_works(
    clouds: Clouds, project: Project, windlass_cloud: CloudAccess
) -> None:
    wrong = read(project.clouds_yaml.replace(project.password, "wrong"), ENTRY, where=SECRET)
    with pytest.raises(Unauthenticated, match=f"cloud openstack of {SECRET}"):
        await clouds.project(wrong)
    with pytest.raises(NotSent):
        await clouds.project(wrong)
    with pytest.raises(Unauthenticated, match="has no region 'nowhere'; it has: "):
        await clouds.project(read(project.clouds_yaml, ENTRY, where=SECRET, region="nowhere"))
    from windlass.testing.cloud import clouds as texts

    text = texts.text({"app": project.application_credential()})
    other = await clouds.project(read(text, "app", where=SECRET))
    assert other.services >= {"compute", "network", "image", "block-storage"}
    assert (await other.look("m")).servers == ()


@pytest.mark.filterwarnings("ignore:Support for InfluxDB")
async def test_a_users_own_clouds_yaml_reaches_the_cloud(
    clouds: Clouds, project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.yaml").write_text(project.clouds_yaml)
    monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(tmp_path / "mine.yaml"))
    account = await clouds.project(of_user(ENTRY))
    assert (await account.look("m")).servers == ()
