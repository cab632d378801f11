"""`create_instance`: servers with their ports, trunks and volumes, for programs without Kubernetes.

    async with connect("prod") as cloud:                # an entry of your clouds.yaml
        status = await create_instance(cloud, spec, owner="fleet-7/worker-0")      # makes what can be made now
        status = await wait_active(cloud, spec, owner="fleet-7/worker-0", seconds=300)
        await wait_deleted(cloud, owner="fleet-7/worker-0", seconds=300)

`owner` is any text that stays the same: everything that is created is marked with it, and found again by it. So a call
may be repeated, in another process too, after a crash or a lost answer: there is one server for an owner. Two programs
must not call for the same owner at the same time. Requests of an earlier process may still arrive. So a new process
waits up to half a minute before it makes a server on ports that exist, and before it reports a deletion as complete.

| a call | does |
|---|---|
| `create_instance` | what can be done now, and never waits for the cloud to build |
| `instance_status` | only looks |
| `delete_instance` | what can be done now; needs no spec |
| `wait_active`, `wait_deleted` | the same until the end, or a deadline |

Errors: `Unresolvable`, `Halted`, and `CloudFailure`; `transient` of the last says whether another call may succeed.
"""

import asyncio
import base64
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from windlass.api.capi import Address
from windlass.openstack.cloud.account import VOLUMES, Account
from windlass.openstack.cloud.clouds import Clouds
from windlass.openstack.cloud.credentials import of_user
from windlass.openstack.cloud.failures import CloudFailure
from windlass.openstack.cloud.inventory import Recorded, ServerInventory
from windlass.openstack.cloud.requests import CloudRequest, Intent
from windlass.openstack.cloud.resources import Server
from windlass.openstack.instance.delete import next_deletion
from windlass.openstack.instance.match import server_of
from windlass.openstack.instance.next import needs_extensions, next_step
from windlass.openstack.instance.resolve import queries, resolve
from windlass.openstack.instance.spec import InstanceSpec, PortSpec, Problem, Resolved, VolumeSpec
from windlass.openstack.instance.state import addresses, verdict
from windlass.openstack.instance.step import Await, Send, Standing, Stuck, Vanished

_OWNERS: Final = uuid.UUID("3f0d7a52-6f5c-4b57-9d7c-2f3a3f6f2f10")
_ROUNDS: Final = 12
"""Rounds of requests in a call. A server needs four, a deletion five."""
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 10.0
"""Seconds between two visits while waiting."""

Found = TypeVar("Found")


class Cloud(Struct, frozen=True):
    """A project, and the clouds that carry requests to it."""

    clouds: Clouds
    project: Account


class InstanceStatus(Struct, frozen=True, kw_only=True):
    """The server. `id` and `state` (Nova's) are empty while there is none; `message` says why.

    `ready`: the server is ACTIVE; None if its state says neither. `building`: the state will soon change without
    another call.
    """

    name: str
    id: str = ""
    state: str = ""
    ready: bool | None = False
    building: bool = True
    message: str = ""
    addresses: tuple[Address, ...] = ()


class Unresolvable(Exception):
    """The spec cannot be resolved: `problems` has each field, and what to do about it."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(f"{each.field}: {each.message}" for each in problems))


class Halted(Exception):
    """Nothing goes on until a person acts; the message says how."""


def mark_of_owner(owner: str) -> str:
    """The mark of all resources of `owner`: the same in every process."""
    return str(uuid.uuid5(_OWNERS, owner))


@asynccontextmanager
async def connect(name: str) -> AsyncIterator[Cloud]:
    """The project of the entry `name` in the user's clouds.yaml, found where openstacksdk finds it.

    Raises CloudFailure: Unauthenticated names what to correct in the file.
    """
    async with Clouds() as clouds:
        clouds.begin_term()
        yield Cloud(clouds, await clouds.project(of_user(name)))


async def create_instance(
    cloud: Cloud,
    spec: InstanceSpec,
    *,
    owner: str,
    user_data: str | bytes = "",
    server_id: str = "",
    ports: Sequence[str] | None = None,
) -> InstanceStatus:
    """Make what is missing and can be made now, and say what there is.

    `user_data` is sent as it is, encoded for Nova. `server_id`: the server of an earlier call; if it is gone, no other
    one is made. `ports`: IDs of ports that exist, in place of those of `spec`; they are not touched.
    """
    mark = mark_of_owner(owner)
    recorded = Recorded(server=server_id)
    if ports is not None:
        spec = replace(spec, ports=tuple(PortSpec(id=each) for each in ports))
    wanted = [spec.root, *spec.disks]
    services = [VOLUMES] if any(isinstance(each, VolumeSpec) for each in wanted) else []
    inventory = await cloud.project.look(mark, recorded, services=services, fresh=True)
    if ports is None and not server_id:
        inventory = _sure(cloud, mark, inventory)
    encoded = base64.b64encode(user_data.encode() if isinstance(user_data, str) else user_data).decode()
    try:
        resolved, extensions = await _resolved(cloud, spec)
    except (Unresolvable, CloudFailure):
        if (server := server_of(inventory, recorded)) is None:
            raise
        return _status(spec.name, server)  # it is made already: whether its image still exists does not matter
    waiting = ""
    for _ in range(_ROUNDS):
        step = next_step(
            spec,
            resolved,
            inventory,
            recorded=recorded,
            project=cloud.project.key,
            intent=Intent(mark),
            extensions=extensions,
            user_data=encoded,
        )
        match step:
            case Standing(server):
                return _status(spec.name, server)
            case Vanished():
                text = f"server {server_id} was deleted in the cloud"
                return InstanceStatus(name=spec.name, id=server_id, state="DELETED", building=False, message=text)
            case Stuck(message=message):
                raise Halted(message)
            case Await(what):
                return InstanceStatus(name=spec.name, message=f"waits: {what}")
            case Send(requests, why):
                waiting = why
                await _send(cloud.clouds, requests)
        inventory = await cloud.project.look(mark, recorded, services=services)
    return InstanceStatus(name=spec.name, message=f"goes on with the next call: {waiting}")


async def instance_status(cloud: Cloud, *, owner: str, server_id: str = "") -> InstanceStatus | None:
    """The server of `owner`, or that of `server_id`; None if there is none."""
    recorded = Recorded(server=server_id)
    found = await cloud.project.look(mark_of_owner(owner), recorded, fresh=True)
    server = server_of(found, recorded)
    return None if server is None else _status(server.name, server)


async def delete_instance(cloud: Cloud, *, owner: str, server_id: str = "") -> bool:
    """Delete what can be deleted now; True once nothing is left of what was made for `owner`."""
    mark, recorded = mark_of_owner(owner), Recorded(server=server_id)
    for _ in range(_ROUNDS):
        inventory = await cloud.project.look(mark, recorded, services=[VOLUMES], fresh=True)
        step = next_deletion(inventory, recorded=recorded, project=cloud.project.key, mark=mark)
        match step:
            case Vanished():
                return True
            case Stuck(message=message):
                raise Halted(message)
            case Send(requests):
                await _send(cloud.clouds, requests)
            case _:
                return False
    return False


async def wait_active(
    cloud: Cloud, spec: InstanceSpec, *, owner: str, seconds: float, user_data: str | bytes = "", server_id: str = ""
) -> InstanceStatus:
    """`create_instance` until the server is ACTIVE, or has another state that it stays in, such as ERROR.

    Transient failures are retried. Raises TimeoutError; its text says what is missing.
    """

    async def visit() -> InstanceStatus | str:
        status = await create_instance(cloud, spec, owner=owner, user_data=user_data, server_id=server_id)
        return status.message or "the server is building" if status.building else status

    return await _until_done(visit, seconds, f"server {spec.name} is not ACTIVE")


async def wait_deleted(cloud: Cloud, *, owner: str, seconds: float, server_id: str = "") -> None:
    """`delete_instance` until nothing is left. Raises TimeoutError."""

    async def visit() -> bool | str:
        return await delete_instance(cloud, owner=owner, server_id=server_id) or "the cloud is deleting it"

    await _until_done(visit, seconds, f"what {owner} had is not gone")


def _sure(cloud: Cloud, mark: str, found: ServerInventory) -> ServerInventory:
    """`found`; certain if it is empty. Then no late request of an earlier process can do harm.

    It cannot create a server: that request is sent only when the ports exist. If it creates a port or a volume, that is
    surplus, and a later call or the deletion deletes it.
    """
    if found.certain or found.all:
        return found
    cloud.clouds.forget(mark)
    cloud.clouds.born(mark)
    return replace(found, certain=True)


async def _resolved(cloud: Cloud, spec: InstanceSpec) -> tuple[Resolved, frozenset[str]]:
    answers = await cloud.project.find(queries(spec))
    found = resolve(spec, answers)
    if not isinstance(found, Resolved):
        for obstacle in found:
            if isinstance(obstacle, CloudFailure):
                raise obstacle
        raise Unresolvable([each for each in found if isinstance(each, Problem)])
    if not needs_extensions(found):
        return found, frozenset()
    return found, await cloud.project.extensions()


async def _send(clouds: Clouds, requests: Iterable[CloudRequest]) -> None:
    """Send all of them at the same time, to the end; raise the first failure."""
    results = await asyncio.gather(*(_sent(clouds, each) for each in requests), return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result


async def _sent(clouds: Clouds, request: CloudRequest) -> None:
    try:
        await clouds.send(request)
    except BaseException as failure:
        if not isinstance(failure, CloudFailure) or failure.unknown_outcome:  # cancelled, for one
            clouds.doubt(request)
        raise


def _status(name: str, server: Server) -> InstanceStatus:
    said = verdict(server)
    return InstanceStatus(
        name=name,
        id=server.id,
        state=server.status,
        ready=said.ready,
        building=said.building,
        message=said.message,
        addresses=addresses(server),
    )


async def _until_done(visit: Callable[[], Awaitable[Found | str]], seconds: float, what: str) -> Found:
    """Repeat `visit` until it returns something else than a text. A text says what is missing."""
    clock = asyncio.get_running_loop().time
    began, waiting = clock(), ""
    while True:
        asked = 0.0
        try:
            found = await visit()
        except CloudFailure as failure:
            if not failure.transient:
                raise
            waiting, asked = str(failure), failure.retry_after or 0.0
        else:
            if not isinstance(found, str):
                return found
            waiting = found
        pause = max(min((clock() - began) / 10, _LONGEST_PAUSE), _FIRST_PAUSE, asked)
        if clock() + pause > began + seconds:
            raise TimeoutError(f"{what} after {seconds:g} s: {waiting}")
        await asyncio.sleep(pause)
