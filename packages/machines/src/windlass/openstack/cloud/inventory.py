"""Facts for decisions: the resources of one owner in a project, and what stands in the way of requests."""

from collections.abc import Callable, Collection, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from windlass.openstack.cloud.failures import CloudFailure
from windlass.openstack.cloud.resources import Port, Reservation, Server, Trunk, Volume

MARK = "windlass-owner"
"""The metadata key of servers and volumes that holds the mark of their owner (`windlass.openstack.cloud.marks`)."""


class Recorded(Struct, frozen=True):
    """The IDs that the owner's status has. They are found even without a mark."""

    server: str = ""
    ports: tuple[str, ...] = ()
    volumes: tuple[str, ...] = ()
    trunks: tuple[str, ...] = ()


NONE: Final = Recorded()


class Quota(Struct, frozen=True):
    """`limit` and `used` of one resource of a project; `limit` -1: none."""

    resource: str
    limit: int
    used: int


class ServerInventory(Struct, frozen=True):
    """All resources with the mark of an owner, or recorded by it; each list oldest first.

    `certain`: nothing else with the mark exists or can come to exist by an earlier request: absences may lead to a
    create. False while an earlier leader's request may still arrive (`certain_in` seconds more, then look again).
    `attached`: other ports of servers that do not have the mark: those of a server that is to be adopted.
    `others`: what has another mark of the same root, or of the same holder.
    `hosts`: servers beside these that `ports` or `volumes` are attached to, of whatever owner.
    `elsewhere`: what `settled` took out, because it is attached to the server of another.
    `astray`: what is attached to a server that has the mark, and has itself the mark of another owner.
    `reservations` of its volumes, for servers that never came to be.
    `missing_since`: when the recorded server was first not found; None if it is there, or none is recorded.
    `as_of`: when the look began.
    """

    servers: tuple[Server, ...] = ()
    ports: tuple[Port, ...] = ()
    volumes: tuple[Volume, ...] = ()
    trunks: tuple[Trunk, ...] = ()
    attached: tuple[Port, ...] = ()
    reservations: tuple[Reservation, ...] = ()
    certain: bool = True
    certain_in: float = 0.0
    missing_since: datetime | None = None
    as_of: datetime | None = None
    others: tuple[Server | Volume | Port | Trunk, ...] = ()
    hosts: tuple[Server, ...] = ()
    elsewhere: tuple[Volume | Port | Trunk, ...] = ()
    astray: tuple[Volume | Port | Trunk, ...] = ()

    @property
    def all(self) -> tuple[Server | Volume | Port | Trunk, ...]:
        """All resources that can have a mark, except `attached`."""
        return (*self.servers, *self.volumes, *self.ports, *self.trunks)

    def with_others(self, wanted: Callable[[Server | Volume | Port | Trunk], bool]) -> "ServerInventory":
        """The wanted `others` as if they had the mark."""

        def moved(kind: type[Any], have: tuple[Any, ...]) -> tuple[Any, ...]:
            ids = {each.id for each in have}
            return (*have, *(each for each in taken if isinstance(each, kind) and each.id not in ids))

        taken = [each for each in self.others if wanted(each)]
        now_own = {each.id for each in taken}
        return replace(
            self,
            attached=tuple(each for each in self.attached if each.id not in now_own),
            servers=moved(Server, self.servers),
            ports=moved(Port, self.ports),
            volumes=moved(Volume, self.volumes),
            trunks=moved(Trunk, self.trunks),
            others=tuple(each for each in self.others if each not in taken),
            hosts=tuple(each for each in self.hosts if each.id not in now_own),
        )

    def counted(self, which: str, mark: str) -> "ServerInventory":
        """With this mark on the server, if it has none."""

        def with_it(each: Server) -> Server:
            bare = each.id == which and not each.metadata.get(MARK)
            return replace(each, metadata={**each.metadata, MARK: mark}) if bare else each

        return replace(self, servers=tuple(map(with_it, self.servers)))

    def settled(self, own: Collection[str]) -> "ServerInventory":
        """Without what is attached to a server that has none of the marks `own`: whose the server is, all that is
        attached to it is, whatever mark that has. Two owners that took one server at the same moment have marked its
        parts in any order, but only one has marked the server last."""
        theirs = {each.id for each in self.hosts}
        theirs |= {each.id for each in self.servers if each.metadata.get(MARK, "") not in own}
        ports = {each.id for each in self.ports if each.device_id in theirs}
        volumes = {each.id for each in self.volumes if any(on.server_id in theirs for on in each.attachments)}
        if not (ports or volumes):
            return self
        return replace(
            self,
            ports=tuple(each for each in self.ports if each.id not in ports),
            volumes=tuple(each for each in self.volumes if each.id not in volumes),
            trunks=tuple(each for each in self.trunks if each.port_id not in ports),
            elsewhere=(
                *self.elsewhere,
                *(each for each in self.ports if each.id in ports),
                *(each for each in self.volumes if each.id in volumes),
                *(each for each in self.trunks if each.port_id in ports),
            ),
        )

    @property
    def missing_for(self) -> timedelta:
        """Time between the first and the last look that did not find the recorded server."""
        if self.missing_since is None or self.as_of is None:
            return timedelta()
        return max(self.as_of - self.missing_since, timedelta())

    def is_look_due(self, now: datetime, *, seconds: float) -> bool:
        """The recorded server was missed `seconds` ago, and no look since was that much later: one more is needed."""
        if self.missing_since is None:
            return False
        return self.missing_for < timedelta(seconds=seconds) <= now - self.missing_since


class Closed(Struct, frozen=True):
    """A gate is closed until then: nothing is sent to the service, or nothing that needs the quota.

    When it opens, one request may try (`windlass.openstack.cloud.gates`).
    """

    until: datetime
    why: CloudFailure


class Refusal(Struct, frozen=True):
    """The last failure of a request of this owner: `what` is the verb (`create port`), `subject` the resource's name.

    `times`: how often in a row.
    """

    what: str
    subject: str
    failure: CloudFailure
    at: datetime
    times: int = 1


class Blockers(Struct, frozen=True):
    """What stands in the way: closed gates by service, by quota as `quota:network/ports`; the owner's latest
    refusals."""

    gates: Mapping[str, Closed] = {}
    refusals: tuple[Refusal, ...] = ()
