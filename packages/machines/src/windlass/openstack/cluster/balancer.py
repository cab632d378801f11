"""The load balancer of the API servers, with a listener, a pool and a monitor for each port.

| there is | next |
|---|---|
| none with the mark, and none recorded | create it, once no earlier request can have made one |
| a recorded one with the mark of somebody else | a person must act |
| one in ERROR | a person must act: Octavia changes nothing of it any more |
| a recorded one without the mark | mark it, before anything else |
| one that is neither ACTIVE nor in ERROR | wait: until then Octavia refuses every request about it |
| several with the mark | delete all but the recorded or oldest one |
| something missing, or another value | one request at a time, port by port |
| nothing missing, by the answers to our requests | look once more, when Octavia has been quiet for two seconds |

The parts have no mark. Their names follow from that of the load balancer and the port, so the result of a request
whose answer was lost is found; they are the names that Cluster API's own provider gives. Whether users may change a
field is said by the CRD: only `allowedCIDRs` and `monitor`.

Members are added by `windlass.openstack.cluster.ingress`, in the same controller: a load balancer has one writer.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import Any, Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from windlass.api import capo_cluster as api
from windlass.openstack.cloud.balancer_requests import (
    ChangeListener,
    ChangeMonitor,
    CreateListener,
    CreateMonitor,
    CreatePart,
    CreatePool,
    PartOfBalancer,
)
from windlass.openstack.cloud.balancers import QUIET
from windlass.openstack.cloud.inventory import Blockers
from windlass.openstack.cloud.marks import mark_of
from windlass.openstack.cloud.network_inventory import Balancer, NetworkInventory
from windlass.openstack.cloud.resources import Listener, LoadBalancer, Pool
from windlass.openstack.cluster.admitted import admitted, canonical, ipv4
from windlass.openstack.cluster.names import balancer_name
from windlass.openstack.cluster.new_balancer import Place, creation
from windlass.openstack.cluster.part import ENDPOINT, News, Ours, Part
from windlass.openstack.status import DELETING, Reason
from windlass.openstack.taken import whose

P = TypeVar("P", bound=CreatePart)

API_PORT: Final = 6443
OVN: Final = "ovn"
"""The provider that balances by source only, and knows no `allowed_cidrs`."""
ERROR: Final = "ERROR"
_PENDING: Final = "PENDING_"
_NOT_IMPLEMENTED: Final = 501


def is_wanted(spec: api.OpenStackClusterSpec) -> bool:
    return spec.api_server_load_balancer is not None and spec.api_server_load_balancer.enabled is not False


def name_of(ours: Ours, found: Balancer | None = None) -> str:
    """The name of the load balancer, with which those of its parts begin. One that was made for the cluster in another
    namespace keeps its name."""
    return (found.balancer.name if found is not None else "") or balancer_name(ours.cluster)


def ports_of(spec: api.OpenStackClusterSpec) -> tuple[int, ...]:
    """The port of the API servers, then the additional ones of the load balancer."""
    given = spec.control_plane_endpoint
    first = (given.port if given is not None else 0) or spec.api_server_port or API_PORT
    more = spec.api_server_load_balancer.additional_ports if spec.api_server_load_balancer is not None else ()
    return tuple(dict.fromkeys((first, *more)))


def chosen(infra: api.OpenStackCluster, inventory: NetworkInventory) -> Balancer | None:
    """The load balancer of the cluster: the recorded one, else the oldest with the mark."""
    recorded = infra.status.api_server_load_balancer
    which = recorded.id if recorded is not None else ""
    return min(inventory.balancers, key=lambda each: each.balancer.id != which, default=None)


def leading(infra: api.OpenStackCluster, ours: Ours, inventory: NetworkInventory) -> Balancer | None:
    """The same, unless it is somebody else's, which the status of a copy records too: nothing is led to that one, and
    its members stay."""
    found = chosen(infra, inventory)
    return found if found is not None and _is_own(found.balancer, ours) else None


def _is_own(lb: LoadBalancer, ours: Ours) -> bool:
    """It has the mark of the cluster; or none, and the name that it would have been given."""
    return mark_of(lb) == ours.mark or (not mark_of(lb) and lb.name == name_of(ours))


def balancer(
    infra: api.OpenStackCluster, ours: Ours, inventory: NetworkInventory, place: Place, *, blockers: Blockers
) -> Part:
    """Only for a cluster whose load balancer `is_wanted`."""
    found = chosen(infra, inventory)
    if found is None:
        return creation(infra, ours, inventory, place, name=name_of(ours))
    about = _Found(infra, ours, found, place, blockers)
    return about.part([each.balancer for each in inventory.balancers if each is not found])


def removal(ours: Ours, inventory: NetworkInventory, formers: Collection[str] = ()) -> Part:
    """Deletes what has the mark, with all parts and members; and what an earlier provider recorded under its name.
    `formers`: earlier marks of the cluster."""
    deletions, waits = [], []
    for each in (found.balancer for found in inventory.balancers):
        if mark_of(each) not in (ours.mark, *formers) and (mark_of(each) or each.name != name_of(ours)):
            continue
        if each.provisioning_status.startswith(_PENDING):
            waits.append(_waits(each))
        else:
            deletions.append(ours.delete(each))
    part = Part(condition=DELETING, reason=Reason.DELETING_LOAD_BALANCER, waits="; ".join(waits))
    return part.needs(*deletions, why="the cluster is being deleted")


def monitor_of(wanted: api.HealthMonitor | None) -> dict[str, int]:
    """The fields of a monitor, as Octavia calls them; 0 or nothing is the default."""
    given = wanted or api.HealthMonitor()
    return {
        "delay": given.delay or 10,
        "timeout": given.timeout or 5,
        "max_retries": given.max_retries or 5,
        "max_retries_down": given.max_retries_down or 3,
    }


class _Found(Struct, frozen=True):
    """A load balancer that exists, and all that decides what comes next for it."""

    infra: api.OpenStackCluster
    ours: Ours
    found: Balancer
    place: Place
    blockers: Blockers

    def part(self, surplus: Iterable[LoadBalancer]) -> Part:
        lb, ours = self.found.balancer, self.ours
        name = lb.name or lb.id
        if mark_of(lb) not in ("", ours.mark):
            text = f"{whose(lb)}, and is recorded here: remove it from the status"
            return ENDPOINT.hindered(text, Reason.OWNED_BY_ANOTHER)
        if not _is_own(lb, ours):
            text = (
                f"load balancer {name} ({lb.id}), which the status records, has neither mark nor name of this cluster: "
                f"call it {name_of(ours)} if it is to be this cluster's, or create this object without its status"
            )
            return ENDPOINT.hindered(text, Reason.OWNED_BY_ANOTHER)
        part = replace(ENDPOINT, fields={"apiServerLoadBalancer": self._status_fields()})
        if lb.provisioning_status == ERROR:
            text = (
                f"load balancer {name} ({lb.id}) is in ERROR: see `openstack loadbalancer status show {lb.id}`, and "
                "have it failed over; or delete it with all its parts, and Windlass makes another one"
            )
            return part.hindered(text)
        if not self.found.can_be_changed:
            return part.awaits(_waits(lb))
        if not mark_of(lb):
            return part.needs(ours.adopt(lb), why="what is recorded gets the owner's mark")
        more = tuple(
            ours.delete(each)
            for each in surplus
            if mark_of(each) == ours.mark and not each.provisioning_status.startswith(_PENDING)
        )
        first = next(self._missing(), None)
        requests = (*more, *([first] if first is not None else ()))
        part = replace(part, news=self._news()).needs(*requests, why="what the spec asks of the load balancer")
        if not requests and not self.found.confirmed:
            return replace(part.awaits(f"load balancer {name}: Octavia to confirm its parts"), again=QUIET)
        return part

    def _missing(self) -> Iterator[PartOfBalancer]:
        """In the order in which they are needed. Each makes the load balancer busy, so only the first is sent."""
        for port in ports_of(self.infra.spec):
            name = f"{name_of(self.ours, self.found)}-{port}"
            listener, pool = _named(self.found.listeners, name), _named(self.found.pools, name)
            yield from self._listener(name, port, listener, pool)
            if listener is None or pool is None:
                if listener is not None:
                    yield self._create(CreatePool, name, self._pool(listener))
                continue
            yield from self._monitor(name, pool)

    def _listener(self, name: str, port: int, listener: Listener | None, pool: Pool | None) -> Iterator[PartOfBalancer]:
        wanted: dict[str, Any] = {"default_pool_id": pool.id} if pool is not None else {}
        cidrs = self._cidrs()
        if listener is None:
            body = {"loadbalancer_id": self.found.balancer.id, "protocol": "TCP", "protocol_port": port, **wanted}
            yield self._create(CreateListener, name, {**body, **({"allowed_cidrs": cidrs} if cidrs else {})})
            return
        before: dict[str, Any] = {"default_pool_id": listener.default_pool_id}
        if not self._is_ovn:
            wanted["allowed_cidrs"], before["allowed_cidrs"] = cidrs, canonical(listener.allowed_cidrs or ())
        if changed := {field: value for field, value in wanted.items() if before[field] != value}:
            yield self._change(ChangeListener, name, listener.id, before, changed)

    def _pool(self, listener: Listener) -> dict[str, Any]:
        algorithm = "SOURCE_IP_PORT" if self._is_ovn else "ROUND_ROBIN"
        return {"listener_id": listener.id, "protocol": "TCP", "lb_algorithm": algorithm}

    def _monitor(self, name: str, pool: Pool) -> Iterator[PartOfBalancer]:
        which = pool.health_monitor.id if pool.health_monitor is not None else ""
        monitor = next((each for each in self.found.monitors if each.id == which), None)
        wanted = monitor_of(self._spec.monitor)
        if monitor is not None:
            before = {field: getattr(monitor, field) for field in wanted}
            if changed := {field: value for field, value in wanted.items() if before[field] != value}:
                yield self._change(ChangeMonitor, name, monitor.id, before, changed)
        elif not which and not self._without_monitors:
            yield self._create(CreateMonitor, name, {"pool_id": pool.id, "type": "TCP", **wanted})

    def _create(self, kind: type[CreatePart], name: str, body: dict[str, Any]) -> PartOfBalancer:
        return made_for(self.found.balancer, self.ours, kind, name, body)

    def _change(
        self,
        kind: type[ChangeListener | ChangeMonitor],
        name: str,
        which: str,
        before: dict[str, Any],
        fields: dict[str, Any],
    ) -> PartOfBalancer:
        ours, lb = self.ours, self.found.balancer
        return kind(
            project=ours.project,
            mark=ours.mark,
            subject=name,
            balancer=lb.id,
            id=which,
            before={field: before[field] for field in fields},
            fields=fields,
        )

    @property
    def _spec(self) -> api.LoadBalancer:
        assert self.infra.spec.api_server_load_balancer is not None
        return self.infra.spec.api_server_load_balancer

    @property
    def _is_ovn(self) -> bool:
        return self.found.balancer.provider == OVN

    @property
    def _without_monitors(self) -> bool:
        """The provider said that it has none."""
        return any(
            each.what == "create monitor" and each.failure.code == _NOT_IMPLEMENTED for each in self.blockers.refusals
        )

    def _cidrs(self) -> list[str]:
        return [] if self._is_ovn else admitted(self.infra, self.place.subnets, self.place.router)

    def _news(self) -> tuple[News, ...]:
        entries = self._spec.allowed_cidrs
        if self._is_ovn and entries:
            return (News("SkippedAllowedCIDRs", "provider ovn does not restrict who reaches a listener"),)
        note = "is not an IPv4 address or network, and is left out of allowedCIDRs"
        told = [News("FailedIPAddressValidation", f"{each} {note}") for each in entries if ipv4(each) is None]
        if self._without_monitors:
            told.append(News("SkippedCreateMonitor", "the provider of the load balancer has no health monitors"))
        return tuple(told)

    def _status_fields(self) -> dict[str, Any]:
        """The tree of `status.apiServerLoadBalancer`; the floating IP in it is the endpoint's."""
        lb, recorded = self.found.balancer, self.infra.status.api_server_load_balancer
        network = recorded.load_balancer_network if recorded is not None else None
        whole = {
            "name": lb.name,
            "id": lb.id,
            "ip": recorded.ip if recorded is not None else "",
            "internalIP": lb.vip_address,
            "tags": list(lb.tags),
            "allowedCIDRs": self._cidrs(),
            "loadBalancerNetwork": {"id": lb.vip_network_id or (network.id if network is not None else "")},
        }
        return {field: value for field, value in whole.items() if value}


def made_for(lb: LoadBalancer, ours: Ours, kind: type[P], name: str, body: dict[str, Any], **more: Any) -> P:
    """The request that makes a part of the load balancer. It is found by its name, and has the tags of the cluster."""
    whole = {"name": name, **body, **({"tags": list(ours.tags)} if ours.tags else {})}
    return kind(
        project=ours.project, mark=ours.mark, intent=ours.intent, subject=name, balancer=lb.id, body=whole, **more
    )


def _waits(lb: LoadBalancer) -> str:
    return f"load balancer {lb.name or lb.id}: {lb.provisioning_status}"


def _named(parts: Iterable[Any], name: str) -> Any:
    return next((each for each in parts if each.name == name), None)
