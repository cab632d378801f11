"""The next step until a server stands, from what exists of it in the cloud.

| there is | next |
|---|---|
| a recorded server that has the mark of somebody else | stuck |
| something recorded without the mark | mark it, before anything else |
| a recorded server no more | vanished; it is never made again |
| the server, and something attached to it with the mark of another object | mark it: both took the server at once |
| the server | delete what is surplus, set missing tags, change address pairs; then it stands |
| no server, and choices that are not those of the spec, or user data that Nova does not take | stuck |
| two volumes in error for one disk | stuck: the replacement of the first one failed too |
| something missing, while an earlier request may still arrive | wait, then look again |
| a volume that is reserved, although there is no server | release it: Nova reserved it and refused the server |
| not all ports, trunks and volumes | create the missing ones, all at the same time |
| a volume that is not available yet | wait |
| all of it | create the server |

Created resources depend on nothing but the resolved spec, and have the mark from their first request on. So any step
may be repeated after a crash, and after a lost answer.
"""

from collections.abc import Iterator
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from windlass.openstack.cloud import requests
from windlass.openstack.cloud.inventory import MARK, NONE, Recorded, ServerInventory
from windlass.openstack.cloud.marks import in_words, is_root_of_object, mark_of, root_of
from windlass.openstack.cloud.resources import Port, Server, Trunk
from windlass.openstack.cloud.upkeep import TAGS, adopt, delete, tag
from windlass.openstack.instance import bodies
from windlass.openstack.instance.address_pairs import changes
from windlass.openstack.instance.match import Matched, is_going, match, server_of, trunk_on
from windlass.openstack.instance.resolve import is_complete
from windlass.openstack.instance.spec import InstanceSpec, Resolved
from windlass.openstack.instance.step import Await, Send, Standing, Step, Stuck, Vanished

USER_DATA_LIMIT: Final = 65_535
"""The length of user data in base64 that Nova accepts."""


def needs_extensions(resolved: Resolved) -> bool:
    """Whether `next_step` depends on Neutron's extensions. If they cannot be asked for, it must not be called."""
    return any(port.tags or port.trusted for port in resolved.ports)


def next_step(
    spec: InstanceSpec,
    resolved: Resolved,
    inventory: ServerInventory,
    *,
    recorded: Recorded = NONE,
    project: str,
    intent: requests.Intent,
    extensions: frozenset[str] = frozenset(),
    user_data: str = "",
    formers: frozenset[str] = frozenset(),
    pairs: bool = False,
) -> Step:
    """The next step. `project` is the key of the project that is asked; `user_data` is base64. `pairs`: the address
    pairs of ports follow the spec.

    `recorded`: what the owner's status has; its ports are in the order of the spec. `intent` says that the owner, its
    mark and `resolved` are persisted. `formers`: the marks that the owner replaces by its own.
    """
    inventory = inventory.settled({"", intent.mark, *formers})
    found = match(resolved, inventory, recorded=recorded, mark=intent.mark)
    if (server := found.server) is not None and mark_of(server) not in ("", intent.mark):
        step = next_adoption(inventory, recorded=recorded, project=project, mark=intent.mark, formers=formers)
        return step or Vanished()
    if marks := tuple(marking(inventory, project=project, mark=intent.mark, formers=formers)):
        return Send(marks, "what is recorded gets the owner's mark")
    surplus = tuple(delete(each, project=project, mark=intent.mark) for each in found.surplus)
    if recorded.server and server is None:
        return Send(surplus, "the recorded server is gone") if surplus else Vanished()
    if server is None and (wrong := _wrong(spec, resolved, user_data)):
        return Stuck("InvalidConfiguration", wrong)
    build = _Build(spec, resolved, inventory, found, project, intent, extensions, user_data)
    follows = pairs and server is not None
    changed = changes(resolved, spec, found.ports, project=project, mark=intent.mark) if follows else ()
    tidy = (*surplus, *build.tags(), *changed)
    if server is not None:
        return Send(tidy, "what differs from the spec") if tidy else Standing(server)
    if stuck := build.stuck():
        return Send(surplus, "surplus") if surplus else stuck
    if reserved := tuple(releases(inventory, project=project, mark=intent.mark)):
        return Send(reserved, "Nova refused the server that they were reserved for")
    missing = tuple(build.missing())
    if missing and not inventory.certain:
        late = f"the answer to an earlier request, which may arrive in the next {inventory.certain_in:.0f} s"
        return Send(tidy, "tags, and what is surplus") if tidy else Await(late)
    if missing:
        return Send((*tidy, *missing), "not there yet")
    if tidy:
        return Send(tidy, "tags, and what is surplus")
    return Await(", ".join(build.unavailable()))


def next_adoption(
    inventory: ServerInventory, *, recorded: Recorded, project: str, mark: str, formers: frozenset[str] = frozenset()
) -> Step | None:
    """The next step for the recorded server, or the one with our mark; None if there is neither.

    For a server without choices: an adopted one, or that of a moved object. Nothing is created for it. The server, its
    ports and its volumes get our mark, also in place of `formers`, so that their deletion is that of a server of ours.
    """
    server = server_of(inventory, recorded)
    if server is None:
        if requests := tuple(marking(inventory, project=project, mark=mark, formers=formers)):
            return Send(requests, "what the object had is taken over")
        return Vanished() if recorded.server else None
    if (foreign := _foreign(server, mark, formers)) is not None:
        return foreign
    # The server comes last: its mark says that all that belongs to it has one.
    parts = replace(inventory, servers=(), ports=(*inventory.ports, *inventory.attached))
    for some in (parts, ServerInventory(servers=(server,))):
        if requests := tuple(marking(some, project=project, mark=mark, formers=formers)):
            return Send(requests, "the server is adopted")
    return Standing(server)


def _foreign(server: Server, mark: str, formers: frozenset[str]) -> Stuck | None:
    if (owner := mark_of(server)) in ("", mark) or owner in formers:
        return None
    text = f"server {server.id} belongs to {in_words(owner)}: remove the key {MARK} of its metadata to take it over"
    return Stuck("OwnedByAnother", text)


def _wrong(spec: InstanceSpec, resolved: Resolved, user_data: str) -> str:
    """Why no server can be made, whatever the cloud says; empty if one can."""
    if not is_complete(spec, resolved):
        return f"not every choice of server {spec.name} is made: resolve it again"
    if len(user_data) > USER_DATA_LIMIT:
        return f"user data has {len(user_data)} characters in base64, and Nova takes {USER_DATA_LIMIT}: shorten it"
    return ""


class _Build(Struct, frozen=True):
    """The facts that decide which resources are missing."""

    spec: InstanceSpec
    resolved: Resolved
    inventory: ServerInventory
    found: Matched
    project: str
    intent: requests.Intent
    extensions: frozenset[str]
    user_data: str

    def missing(self) -> Iterator[requests.CloudRequest]:
        """What can be created now: parts at the same time, and the server once all parts are there."""
        mark, incomplete = self.intent.mark, False
        for wanted, port in zip(self.resolved.ports, self.found.ports, strict=True):
            if port is None:
                incomplete = True
                body = bodies.port_body(wanted, mark=mark, extensions=self.extensions)
                yield requests.CreatePort(project=self.project, intent=self.intent, subject=wanted.name, body=body)
            elif wanted.trunk and trunk_on(port, self.inventory) is None:
                # Some network drivers put no trunk on a port that a server has already.
                incomplete = True
                body = bodies.trunk_body(wanted, port.id, mark=mark)
                yield requests.CreateTrunk(project=self.project, intent=self.intent, subject=wanted.name, body=body)
        for volume in self.resolved.volumes:
            if volume.name not in self.found.volumes:
                incomplete = True
                body = bodies.volume_body(volume, self.resolved, server=self.spec.name, mark=mark)
                yield requests.CreateVolume(project=self.project, intent=self.intent, subject=volume.name, body=body)
        if not incomplete and not any(self.unavailable()):
            yield self._server()

    def _server(self) -> requests.CreateServer:
        ports = [port.id for port in self.found.ports if port is not None]
        return requests.CreateServer(
            project=self.project,
            intent=self.intent,
            subject=self.spec.name,
            body=bodies.server_body(
                self.spec, self.resolved, ports=ports, volumes=self.found.volumes, mark=self.intent.mark
            ),
            user_data=self.user_data,
            hints=bodies.hints(self.spec, self.resolved),
            microversion=bodies.microversion(self.spec, self.found.volumes),
        )

    def unavailable(self) -> Iterator[str]:
        for name, volume in self.found.volumes.items():
            if volume.status != "available":
                yield f"volume {name} ({volume.id}) is {volume.status}"

    def stuck(self) -> Stuck | None:
        """Replace a broken volume once. Both volumes stay, and show that it was replaced already."""
        for name, volumes in self.found.broken.items():
            if len(volumes) > 1:
                ids = ", ".join(volume.id for volume in volumes)
                text = (
                    f"volume {name} could not be made, twice: see what Cinder says of {ids}; delete both to try again"
                )
                return Stuck("InstanceCreateFailed", text)
        return None

    def tags(self) -> Iterator[requests.SetTags]:
        """Requests to set tags that differ from the spec. A port that should have none in particular keeps what it
        has."""
        if TAGS not in self.extensions:
            return
        for wanted, port in zip(self.resolved.ports, self.found.ports, strict=True):
            if port is None:
                continue
            trunks = (trunk for trunk in self.inventory.trunks if trunk.port_id == port.id)
            some: tuple[Port | Trunk, ...] = (port, *trunks)
            for each in some:
                if wanted.tags and set(wanted.tags) != set(each.tags):
                    yield tag(each, wanted.tags, project=self.project, mark=self.intent.mark)


def marking(
    inventory: ServerInventory, *, project: str, mark: str, formers: frozenset[str] = frozenset()
) -> Iterator[requests.CloudRequest]:
    """Marks what has no mark, as the owner's status records it, or one of `formers`; and what is attached to a server
    of the owner, although another object has marked it, which wanted the same server. Programs and objects leave each
    other's alone.

    Nova takes no mark for a server that is being deleted, and may list such a server without its metadata.
    """
    for each in inventory.all:
        if mark_of(each) in {"", *formers} and not (isinstance(each, Server) and is_going(each)):
            yield adopt(each, project=project, mark=mark)
    for each in inventory.astray:
        if is_root_of_object(root_of(mark)) and is_root_of_object(root_of(mark_of(each))):
            yield adopt(each, project=project, mark=mark)


def releases(inventory: ServerInventory, *, project: str, mark: str) -> Iterator[requests.CloudRequest]:
    """Takes back what Nova reserved for a server that it refused: such a volume can be neither used nor deleted."""
    names = {volume.id: volume.name for volume in inventory.volumes if mark_of(volume) == mark}
    for each in inventory.reservations:
        if each.volume_id in names:
            name = names[each.volume_id]
            yield requests.ReleaseVolume(project=project, mark=mark, subject=name, id=each.id, volume=each.volume_id)
