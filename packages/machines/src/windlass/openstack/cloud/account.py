"""One project of a cloud at work: requests through gates, look-ups that are kept, and what exists for each owner.

What exists is known from lists of the whole project, which all owners share, and from our own answers since then. The
rules about what may be taken from memory are in `certainty`.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator
from contextlib import asynccontextmanager, nullcontext, suppress
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar, cast
from weakref import WeakValueDictionary

import msgspec
from msgspec.structs import replace

from windlass.kube.logger import context
from windlass.openstack.cloud.balancer_requests import ROOT
from windlass.openstack.cloud.balancers import BALANCING, Balancers
from windlass.openstack.cloud.certainty import NEVER, Knowledge, Times
from windlass.openstack.cloud.classify import classify
from windlass.openstack.cloud.failures import CloudFailure, NotSent
from windlass.openstack.cloud.gates import Gates, Pauses
from windlass.openstack.cloud.inventory import NONE, Blockers, Quota, Recorded, ServerInventory
from windlass.openstack.cloud.kinds import KINDS, NEUTRON
from windlass.openstack.cloud.list_cache import Identified, ListCache
from windlass.openstack.cloud.list_updates import after, port_gone
from windlass.openstack.cloud.lookups import listed, matching, pages
from windlass.openstack.cloud.marks import kin_of, mark_of, place_of
from windlass.openstack.cloud.network_inventory import NetworkInventory, Unmarked
from windlass.openstack.cloud.network_requests import AssociateFloatingIp
from windlass.openstack.cloud.project_inventory import ProjectInventory
from windlass.openstack.cloud.query import EXTENSIONS, Answers, Query
from windlass.openstack.cloud.questions import Questions
from windlass.openstack.cloud.quotas import limits, network_limits
from windlass.openstack.cloud.requests import (
    ATTACHMENTS,
    CloudRequest,
    CreateServer,
    CreateServerGroup,
    Creation,
    MarkServer,
)
from windlass.openstack.cloud.resources import (
    DELETED,
    Extension,
    Flavor,
    FloatingIp,
    LoadBalancer,
    Network,
    Port,
    Reservation,
    Router,
    SecurityGroup,
    Server,
    Subnet,
    Trunk,
    Volume,
)
from windlass.openstack.cloud.server_slots import Left, ServerSlots
from windlass.openstack.cloud.unmarked import unmarked
from windlass.openstack.cloud.waiting import Place, is_silence
from windlass.openstack.cloud.wire import Answer, Http, Service, Wire

SERVERS: Final = "2.53"
"""The microversion that servers are listed with: tags, volumes and fault are in it."""
VOLUMES: Final = "block-storage"
_FLAVORS: Final = Query("flavor")
RESERVED: Final = "reserved"
"""The status of a volume that Nova has taken for a server that is not there yet."""
READ_SECONDS: Final = 25.0

ESTATE: Final = (Network, Subnet, Router, SecurityGroup, FloatingIp, LoadBalancer, Port)
"""What clusters have beside servers."""

R = TypeVar("R", bound=Identified)
T = TypeVar("T")


class Account:
    """See the module. `wire` speaks to the cloud, in one region; `key` is a digest of everything that decides which
    cloud, project and user this is; `where` says for people where its credentials are; `now` and `clock` are the time
    and a monotonic one, in seconds. Methods raise `CloudFailure`, and wait for nothing but their own request."""

    def __init__(
        self,
        wire: Wire,
        *,
        key: str,
        where: str,
        project_id: str,
        now: Callable[[], datetime],
        clock: Callable[[], float],
        pauses: Pauses,
        times: Times,
        unsent: set[str],
        sent: Callable[..., None],
        place: Place | None = None,
    ) -> None:
        self.key = key
        self.where = where
        self.wire = wire
        self.gates = Gates(pauses)
        self.knowledge = Knowledge(clock, times, unsent)
        self._project_id = project_id
        self._now = now
        self._clock = clock
        self._patience = times.answer
        self._sent = sent
        self._place = place
        self._quotas: tuple[float, tuple[Quota, ...]] = (NEVER, ())
        self._one_ended = asyncio.Event()
        self._grouping = asyncio.Lock()
        self._one_by_one: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._slots = ServerSlots(self._servers_left, clock)
        self._questions = Questions(self.ask, project_id=project_id, clock=clock)
        self._servers = self._listing("compute", "/servers/detail", "servers", Server, microversion=SERVERS)
        self._volumes = self._listing(VOLUMES, "/volumes/detail", "volumes", Volume)
        self._lists_of: dict[type[Any], ListCache[Any]] = {
            Server: self._servers,
            Volume: self._volumes,
            LoadBalancer: self._listing(BALANCING, f"{ROOT}/loadbalancers", "loadbalancers", LoadBalancer, own=True),
        }
        for kind in NEUTRON.values():
            self._lists_of[kind] = self._listing("network", KINDS[kind].path, KINDS[kind].key, kind, own=True)
        self.balancers = Balancers(
            self._lists_of[LoadBalancer], self.ask, project_id=project_id, now=now, clock=clock, gone=self._gone
        )
        self._ports: ListCache[Port] = self._lists_of[Port]
        self._trunks: ListCache[Trunk] = self._lists_of[Trunk]

    @property
    def services(self) -> frozenset[str]:
        return self.wire.services

    # looking

    async def find(self, queries: Iterable[Query]) -> Answers:
        """The answer to each query, asked at the same time; `lookups` says for how long it is kept."""
        return await self._questions.find(queries)

    async def look(
        self, mark: str, recorded: Recorded = NONE, *, services: Iterable[str] = (), fresh: bool = False
    ) -> ServerInventory:
        """What there is of an owner. From memory if nothing can have happened without us: the mark was `born` here, or
        was looked for and no outcome has been unknown since; states of servers and ports are then those of the last
        poll. `services`: where to look beside compute and network (`block-storage`). `fresh`: ask in any case."""
        need = self.knowledge.needed(mark, fresh=fresh)
        lists: list[ListCache[Any]] = [self._servers, self._ports]
        if VOLUMES in services and VOLUMES in self.services:
            lists.append(self._volumes)
        if any(each.began < need.since for each in (*lists, self._trunks)) and "trunk" in await self.extensions():
            lists.append(self._trunks)
        await asyncio.gather(*(each.since(need.since) for each in lists))
        # While the lists were on their way a request of this owner may have ended the doubt, or begun one.
        self.knowledge.compare(mark, self._like)
        need = self.knowledge.needed(mark)
        found = self._inventory(mark, recorded, certain=all(each.began >= need.certain for each in lists))
        held = [each for each in found.volumes if each.status == RESERVED]
        if held and found.certain and not found.servers:
            lost = await asyncio.gather(*(self._reservations(volume) for volume in held))
            return replace(found, reservations=tuple(each for some in lost for each in some))
        return found

    async def _reservations(self, volume: Volume) -> tuple[Reservation, ...]:
        query = (("volume_id", volume.id),)
        first = Http(VOLUMES, "GET", "/attachments", query, microversion=ATTACHMENTS)
        return await pages(first, "attachments", Reservation, self.ask)

    async def network_inventory(
        self,
        mark: str,
        recorded: Collection[str] = (),
        *,
        kinds: Collection[type[Any]] = ESTATE,
        age: float = 0.0,
        again: bool = False,
    ) -> NetworkInventory:
        """What an owner has beside servers, of these `kinds`, with the mark or an ID that is `recorded`.

        A floating IP may be recorded by its address.

        Lists are at most `age` seconds old; if `age` is infinite, none is asked for, unless something can have happened
        without us, as in `look`. Of load balancers the state is asked for in any case. `again`: in the same attempt, as
        far as possible from memory alone.
        """
        now, need = self._clock(), self.knowledge.needed(mark)
        asked = [kind for kind in kinds if kind is not LoadBalancer or BALANCING in self.services]
        lists = [self._lists_of[kind] for kind in asked]
        oldest = max(need.since, NEVER if again else now - age)
        await asyncio.gather(*(each.since(oldest) for each in lists))
        self.knowledge.compare(mark, self._like)
        need = self.knowledge.needed(mark)
        known: ListCache[FloatingIp] = self._lists_of[FloatingIp]
        ids = {*recorded, *(each.id for each in known.all() if each.floating_ip_address in recorded)}
        found = {kind: tuple(_of(self._lists_of[kind], mark, ids)) for kind in asked}
        akin = (each for kind in asked for each in _others(self._lists_of[kind], mark, found[kind]))
        moment = NEVER if again else now
        balancers = await self.balancers.see(_oldest_first(found.get(LoadBalancer, ())), since=moment)
        networks, routers = ({each.id for each in found.get(kind, ())} for kind in (Network, Router))
        ports = {each.id: each for each in found.get(Port, ())}
        if Port in asked:
            ports |= {
                each.id: each for each in self._ports.all() if each.network_id in networks or each.device_id in routers
            }
        began = min((each.began for each in lists), default=now)
        return NetworkInventory(
            networks=_oldest_first(found.get(Network, ())),
            subnets=_oldest_first(found.get(Subnet, ())),
            routers=_oldest_first(found.get(Router, ())),
            groups=_oldest_first(found.get(SecurityGroup, ())),
            floating_ips=_oldest_first(found.get(FloatingIp, ())),
            balancers=balancers,
            ports=_oldest_first(ports.values()),
            certain=began >= need.certain,
            certain_in=self.knowledge.certain_in(mark),
            as_of=self._time_of(began),
            others=tuple(akin),
        )

    async def unmarked(
        self, names: Collection[str], *, kinds: Collection[type[Any]], age: float, **of: Any
    ) -> Unmarked:
        """What has no mark and may be an owner's all the same: see `windlass.openstack.cloud.unmarked`. Lists are at
        most `age` seconds old; if `age` is infinite, none is asked for."""
        lists = {kind: self._lists_of[kind] for kind in kinds if kind is not LoadBalancer or BALANCING in self.services}
        return await unmarked(lists, names, since=self._clock() - age, **of)

    def has_reported_all(self, mark: str, addresses: Iterable[str]) -> bool:
        """Whether the answers to our own requests tell all that the owner can have: this process made up its mark, no
        outcome has been unknown since, and the floating IPs of these addresses are its own."""
        known: ListCache[FloatingIp] = self._lists_of[FloatingIp]
        own = {each.floating_ip_address for each in known.marked(mark)}
        return self.knowledge.needed(mark).since == NEVER and own.issuperset(addresses)

    async def project_inventory(self, also: Iterable[Query] = ()) -> ProjectInventory:
        """Everything that the project has, listed now, and of `also` (by ID) what other projects have."""
        kinds = set(self._lists_of)
        if VOLUMES not in self.services:
            kinds.discard(Volume)
        if BALANCING not in self.services:
            kinds.discard(LoadBalancer)
        if "trunk" not in await self.extensions():
            kinds.discard(Trunk)
        now = self._clock()
        await asyncio.gather(*(self._lists_of[kind].since(now) for kind in kinds))
        resources = {kind: {each.id: each for each in self._lists_of[kind].all()} for kind in kinds}
        missing = [each for each in also if not any(each.id in found for found in resources.values())]
        for found in (await self.find(missing)).values():
            if isinstance(found, CloudFailure):
                raise found
            for each in found:
                if isinstance(each, Network | Subnet | Router | SecurityGroup):
                    resources.setdefault(type(each), {})[each.id] = each
        marked = [each for each in resources.get(LoadBalancer, {}).values() if mark_of(each)]
        self.balancers.forget()
        balancers = await self.balancers.see(marked, since=now)
        return ProjectInventory(
            project=self.key, resources=resources, balancers={each.balancer.id: each for each in balancers}
        )

    async def servers_named(self, name: str, *, at: str, age: float) -> tuple[Server, ...]:
        """The servers of this name without a mark, or with that of an object of the place `at`, unless they are being
        deleted; from a list that is at most `age` seconds old."""
        await self._servers.since(self._clock() - age)
        named = (each for each in self._servers.all() if each.name == name and each.task_state != "deleting")
        return tuple(
            each
            for each in named
            if each.status not in DELETED and (not mark_of(each) or place_of(mark_of(each)) == at)
        )

    def _gone(self, balancer: LoadBalancer) -> None:
        """Octavia deletes the port of its address first, so that it is not in the way of its network any more."""
        self._lists_of[LoadBalancer].drop(balancer.id)
        port_gone(balancer.vip_port_id or "", self._lists_of)

    def known(self, mark: str, recorded: Recorded = NONE) -> ServerInventory:
        """The same from memory alone."""
        return self._inventory(mark, recorded, certain=False)

    def blockers(self, mark: str) -> Blockers:
        """What stands in the way of requests for this owner. Reads memory only."""
        return Blockers(self.gates.closed(self._now()), self.knowledge.refusals(mark))

    async def extensions(self) -> frozenset[str]:
        """The extensions of Neutron's API, by alias."""
        found = (await self.find([EXTENSIONS]))[EXTENSIONS]
        if isinstance(found, CloudFailure):
            raise found
        return frozenset(each.alias for each in found if isinstance(each, Extension))

    async def quotas(self, *, age: float = 0.0) -> tuple[Quota, ...]:
        """Limits and use, at most `age` seconds old: servers, cores, RAM, ports, volumes, gigabytes."""
        at, known = self._quotas
        if self._clock() - at > age:
            self._quotas = at, known = self._clock(), await self._limits()
        return known

    async def _limits(self) -> tuple[Quota, ...]:
        asked = [limits(self.ask, "compute"), network_limits(self.ask, self._project_id)]
        if VOLUMES in self.services:
            asked.append(limits(self.ask, VOLUMES))
        return tuple(quota for some in await asyncio.gather(*asked) for quota in some)

    async def _servers_left(self) -> Left:
        """The flavors are asked for only where their cores or memory count."""
        quotas = await limits(self.ask, "compute")
        left = {each.resource: each.limit - each.used for each in quotas if each.limit >= 0}
        if not left.keys() - {"instances"}:
            return Left(left)
        found = (await self.find([_FLAVORS]))[_FLAVORS]
        flavors = () if isinstance(found, CloudFailure) else cast("tuple[Flavor, ...]", found)
        return Left(left, {each.id: {"cores": each.vcpus, "ram": each.ram} for each in flavors})

    # asking

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Within it a worker may wait for the cloud. Raises NotSent; see `windlass.openstack.cloud.waiting`."""
        async with self._place.turn() if self._place is not None else nullcontext():
            yield

    async def ask(self, http: Http, *, agent: str = "", creates: bool = False, seconds: float = READ_SECONDS) -> Answer:
        """Send a request, unless a gate is closed; wait first while another one tries it. Raises CloudFailure."""
        deadline = self._clock() + seconds
        # A gate that opens lets one request try the service: were all that waited sent at once, it would fail again.
        while (rest := deadline - self._clock()) > 0 and self.gates.on_trial(http, self._now(), creates=creates):
            with suppress(TimeoutError):
                async with asyncio.timeout(rest):
                    await self._one_ended.wait()
        self.gates.admit(http, self._now(), creates=creates)
        try:
            answer = await self._answer(http, agent, deadline - self._clock())
        except CloudFailure as failure:
            self.gates.settle(http, failure, self._now(), creates=creates)
            raise
        except BaseException:  # cancelled: the next one tries, or the gate would stay on trial for ever
            self.gates.abandon(http, self._now(), creates=creates)
            raise
        else:
            self.gates.settle(http, None, self._now(), creates=creates)
            return answer
        finally:
            # A new event for those who begin to wait from now on; the old one wakes each waiter once.
            self._one_ended.set()
            self._one_ended = asyncio.Event()

    async def _answer(self, http: Http, agent: str, seconds: float) -> Answer:
        began, code = self._clock(), 0
        if self._place is not None:
            self._place.asks(http.service)
        try:
            answer = await self.wire.send(http, seconds=seconds, agent=agent)
            code = answer.status
            self._heard(http, answered=True)
        except CloudFailure as error:
            self._heard(http, answered=not is_silence(error))
            raise
        finally:
            self._sent(http.service, http.method, code=code, seconds=self._clock() - began)
        if (failure := classify(http, answer, now=self._now())) is not None:
            raise failure
        return answer

    def _heard(self, http: Http, *, answered: bool) -> None:
        if self._place is not None:
            self._place.heard(http.service, answered=answered)

    async def carry(self, request: CloudRequest) -> Any:
        """Send a request of a plan, and return the resource that its answer describes."""
        if isinstance(request, CreateServer):
            if not self.gates.on_trial(request.http, self._now(), creates=True):
                self.gates.check(request.http, self._now(), creates=True)
            # No more at once than the quota leaves room for: the others would be refused.
            async with self._slots.taken(request.body.get("flavorRef", "")):
                return await self._carry(request)
        if isinstance(request, CreateServerGroup):
            async with self._grouping:
                return await self._group(request)
        if isinstance(request, MarkServer):
            async with self._one_by_one.setdefault(request.id, asyncio.Lock()):
                return await self._mark(request)
        if isinstance(request, AssociateFloatingIp):
            async with self._one_by_one.setdefault(request.id, asyncio.Lock()):
                return await self._lead(request)
        return await self._carry(request)

    async def _group(self, request: CreateServerGroup) -> None:
        """Make the group unless there is one by now: several machines want it at the same time, and two groups of one
        name would be ambiguous for ever."""
        named = Query("server group", filters=(("name", request.subject),))
        if not matching(named, await self._questions.read(listed(named))):
            await self._carry(request)

    async def _mark(self, request: MarkServer) -> None:
        """Mark the server unless it has got another mark since the plan: of several objects that take one server at the
        same moment, the first has it, and the next look tells the others. So no object holds a server that it loses."""
        there = self._servers.get(request.id)
        if there is None or mark_of(there) in (request.before, request.mark):
            await self._carry(request)

    async def _lead(self, request: AssociateFloatingIp) -> None:
        """Lead the floating IP unless it leads elsewhere by now: Neutron would take it away from there, and the lists
        from which the plan was made may be half a minute old. The next look tells where it leads."""
        (now,) = await self._questions.read(Query("floating ip", id=request.id)) or (None,)
        if now is None or (now.port_id or None) == (request.before or None):
            await self._carry(request)
        else:
            self._lists_of[FloatingIp].put(now)

    async def _carry(self, request: CloudRequest) -> Any:
        if isinstance(request, Creation):
            self.knowledge.sending(request, self._like(request))
        self.balancers.sending(request)
        # From here to `accepted` the process may be cancelled: `doubt` of the carrier follows, and the next look asks.
        try:
            answer = await self.ask(request.http, agent=_sender(), creates=request.CREATES, seconds=self._patience)
        except NotSent:
            raise
        except CloudFailure as failure:
            if request.is_done(failure):  # by another request, whose answer the lists do not have
                self.knowledge.accepted(request)
                self.knowledge.doubt(request.mark)
                return None
            self.knowledge.refused(request, failure, self._now())
            raise
        self.knowledge.accepted(request)
        self.balancers.answered(request, answer)
        return after(request, answer, self._lists_of)

    async def refresh(self, *, volumes: bool, ports: float = 0.0) -> None:
        """List servers now, volumes if somebody waits for one, and ports unless their list is younger than `ports`."""
        began = self._clock()
        lists: list[ListCache[Any]] = [self._servers, *([self._volumes] if volumes else [])]
        await asyncio.gather(self._ports.since(began - ports), *(each.since(began) for each in lists))

    # within

    def _like(self, request: Creation) -> frozenset[str]:
        """The IDs of what is known to have the mark and the name of what `request` makes."""
        alike = self._lists_of[request.OF].marked(request.mark)
        name = "name" if "name" in request.body else "description"  # floating IPs have no name
        return frozenset(each.id for each in alike if getattr(each, name) == request.body[name])

    def _inventory(self, mark: str, recorded: Recorded, *, certain: bool) -> ServerInventory:
        servers = _of(self._servers, mark, [recorded.server] if recorded.server else [])
        foreign = {server.id for server in servers if mark_of(server) != mark}
        own = [server.id for server in servers if mark and server.id not in foreign]
        ports = _of(self._ports, mark, recorded.ports)
        volumes = _of(self._volumes, mark, recorded.volumes)
        trunks = _of(self._trunks, mark, recorded.trunks)
        there = {port.id for port in ports}
        attached = [port for which in foreign for port in self._ports.on(which)]
        hosts = {which: self._servers.get(which) for part in (*ports, *volumes) for which in _hosts_of(part)}
        missing = bool(recorded.server) and self._servers.get(recorded.server) is None
        as_of = self._time_of(self._servers.began)
        return ServerInventory(
            servers=tuple(sorted(servers, key=lambda each: each.created)),
            ports=_oldest_first(ports),
            volumes=_oldest_first(volumes),
            trunks=_oldest_first(trunks),
            attached=tuple(port for port in attached if port.id not in there),
            certain=certain,
            certain_in=self.knowledge.certain_in(mark),
            missing_since=self.knowledge.missing(mark, as_of if missing else None),
            as_of=as_of,
            others=(
                *_others(self._servers, mark, servers),
                *_others(self._volumes, mark, volumes),
                *_others(self._ports, mark, ports),
                *_others(self._trunks, mark, trunks),
            ),
            hosts=tuple(each for each in hosts.values() if each is not None and each not in servers),
            astray=tuple(each for each in self._attached_to(own) if mark_of(each) not in ("", mark)),
        )

    def _attached_to(self, servers: Iterable[str]) -> Iterator[Port | Volume | Trunk]:
        for which in servers:
            for port in self._ports.on(which):
                yield port
                yield from self._trunks.on(port.id)
            yield from self._volumes.on(which)

    def _time_of(self, began: float) -> datetime | None:
        """When a list began; None if there was none yet."""
        return self._now() - timedelta(seconds=max(self._clock() - began, 0.0)) if began > NEVER else None

    def _listing(
        self, service: Service, path: str, key: str, kind: type[R], *, own: bool = False, microversion: str = ""
    ) -> ListCache[R]:
        async def ask() -> tuple[R, ...]:
            fields = tuple(("fields", name) for name in _names(kind)) if service == "network" else ()
            project = (("project_id", self._project_id),) if own else ()
            first = Http(service, "GET", path, (*project, *fields), microversion=microversion)
            return await pages(first, key, kind, lambda page: self.ask(page, agent="poll"))

        return ListCache(ask, mark_of=mark_of, kin_of=kin_of, hosts_of=_hosts_of, clock=self._clock)


def _sender() -> str:
    """The controller that is at work in this task; without one it is `create_instance`."""
    return str(context().get("controller", "create"))


def _names(kind: type[Any]) -> tuple[str, ...]:
    return tuple(field.encode_name for field in msgspec.structs.fields(kind))


def _of(listing: ListCache[R], mark: str, recorded: Iterable[str]) -> list[R]:
    """Those with the mark, and the recorded ones, each once."""
    found = {each.id: each for each in listing.marked(mark)} if mark else {}
    for which in recorded:
        if (item := listing.get(which)) is not None:
            found.setdefault(which, item)
    return list(found.values())


def _others(listing: ListCache[R], mark: str, found: Iterable[R]) -> list[R]:
    """What has another mark of the same root, or of the same holder, but for what is `found` already."""
    ids = {each.id for each in found}
    return [each for each in listing.akin(mark) if each.id not in ids] if mark else []


def _hosts_of(found: object) -> tuple[str, ...]:
    """The IDs of the servers, or the router, that a port or a volume is attached to, and of the port of a trunk."""
    match found:
        case Port(device_id=which) | Trunk(port_id=which):
            return (which,) if which else ()
        case Volume():
            return tuple(each.server_id for each in found.attachments)
    return ()


def _oldest_first(found: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(sorted(found, key=lambda each: each.created_at))
