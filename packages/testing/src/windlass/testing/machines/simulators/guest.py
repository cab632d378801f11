"""Simulates the kubelets of a real OpenStack project: a Node for each server that is ACTIVE.

A cloud on one computer runs no guests, so no kubelet ever registers. This one controller registers for all of them, in
the workload cluster. It knows servers and Nodes and nothing of Cluster API, so it has a Manager of its own.

| server | its Node |
|---|---|
| ACTIVE | is created, with the same provider ID; Ready, with the addresses of the server |
| any other status | Ready is Unknown, as when a kubelet falls silent |
| gone | is deleted |

A Node that has another provider ID, or that nobody here has created, is left alone.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from msgspec import Struct

from windlass.api import core
from windlass.kube.control.controller import Controller, Watch
from windlass.kube.control.plan import Create, Outcome, Plan, Target
from windlass.kube.control.poll import Poll, Polled
from windlass.kube.control.seen import Absent, Present, Reader, Seen
from windlass.testing.machines.simulators import kubelet

GUEST: Final = "simulators.windlass.dev/guest-of"
"""Annotation of Nodes that are created here: the project of their server."""

_ADDRESSES: Final = {"fixed": "InternalIP", "floating": "ExternalIP"}


class Guest(Struct, frozen=True):
    """A server as Nova lists it; `addresses` are those of a Node."""

    id: str
    name: str
    status: str
    addresses: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, server: Mapping[str, Any]) -> "Guest":
        found = [
            (_ADDRESSES.get(each.get("OS-EXT-IPS:type", "fixed"), "InternalIP"), str(each["addr"]))
            for network in sorted(server.get("addresses") or {})
            for each in server["addresses"][network]
        ]
        return cls(server["id"], server["name"], server["status"], (*found, ("Hostname", server["name"])))

    @property
    def runs(self) -> bool:
        return self.status == "ACTIVE"


class Guests:
    """The servers of `project`, which `servers` lists: a blocking call, made in a thread every `period` seconds.

    Those named in `without` have no kubelet, as a bastion has none.
    """

    def __init__(
        self,
        project: str,
        servers: Callable[[], Sequence[Mapping[str, Any]]],
        *,
        period: float,
        without: Collection[str] = (),
    ) -> None:
        self.project = project
        self.poll: Poll[str] = Poll("servers", self._look, period=period, at_least=min(period, 1.0))
        self._servers = servers
        self._without = without
        self._found: dict[str, list[Guest]] = {}
        self._answered = asyncio.Event()

    async def named(self, name: str) -> list[Guest]:
        """The servers of this name, oldest first. Waits for the first answer."""
        await self._answered.wait()
        return self._found.get(name, [])

    async def _look(self) -> Polled[str]:
        found: dict[str, list[Guest]] = {}
        for server in sorted(await asyncio.to_thread(self._servers), key=lambda each: str(each["created"])):
            if server["name"] not in self._without:
                found.setdefault(server["name"], []).append(Guest.of(server))
        before, self._found = self._found, found
        self._answered.set()
        return Polled(tuple(name for name in {**before, **found} if before.get(name) != found.get(name)))


class GuestSnapshot(Struct, frozen=True, kw_only=True):
    """The servers of one name, oldest first, and the Node of that name."""

    name: str
    project: str
    region: str
    guests: Sequence[Guest]
    node: Seen[core.Node]

    def provider_id(self, guest: Guest) -> str:
        return f"openstack://{self.region}/{guest.id}"


def guest_simulator(reader: Reader, guests: Guests, *, region: str = "") -> Controller[str, GuestSnapshot]:
    """The controller; keys are names of Nodes. `region` is what provider IDs name, as `identityRef.region` does."""

    async def observe(name: str, _: Outcome) -> GuestSnapshot:
        found = await guests.named(name)
        node = await reader.see(core.Node, name, confirm=True)
        return GuestSnapshot(name=name, project=guests.project, region=region, guests=found, node=node)

    return Controller(
        name="guest-simulator",
        watches=(Watch(core.Node, lambda node: [node.name] if GUEST in node.metadata.annotations else []),),
        sources=(guests.poll,),
        permissions=tuple(kubelet.NODE_PERMISSIONS),
        observe=observe,
        decide=decide_guest,
        workers=4,
    )


def decide_guest(seen: GuestSnapshot, *, now: datetime) -> Plan:
    """What the kubelets of the servers of this name would do."""
    if isinstance(seen.node, Absent):
        return Plan.of(next((_registers(seen, guest) for guest in seen.guests if guest.runs), None))
    node = seen.node
    if not isinstance(node, Present) or node.metadata.annotations.get(GUEST) != seen.project or node.deleting:
        return Plan.nothing("not a Node of ours")
    provider_id = node.object.spec.provider_id
    guest = next((each for each in seen.guests if seen.provider_id(each) == provider_id), None)
    if guest is None:
        return Plan.of(kubelet.is_removed(node, provider_id=provider_id))
    return Plan.of(kubelet.reports(node, guest.addresses, runs=guest.runs, now=now))


def _registers(seen: GuestSnapshot, guest: Guest) -> Create:
    metadata = {"annotations": {GUEST: seen.project}, "labels": {"kubernetes.io/hostname": seen.name}}
    body = {"metadata": metadata, "spec": {"providerID": seen.provider_id(guest)}}
    return Create(target=Target(core.Node, seen.name), body=body, why=f"server {guest.id} is ACTIVE")


def guests_of(cloud: str, *, without: Collection[str] = (), period: float = 2.0) -> Guests:
    """The servers of the project of `cloud`, an entry of the user's clouds.yaml. Blocks until there is a token."""
    from openstack.config import OpenStackConfig

    region = OpenStackConfig().get_one(cloud=cloud)
    session = region.get_session()
    compute = {
        "service_type": "compute",
        "interface": region.get_interface("compute"),
        "region_name": region.get_region_name("compute"),
    }

    def servers() -> list[Mapping[str, Any]]:
        found: list[Mapping[str, Any]] = []
        url = "/servers/detail"
        while url:
            page = session.get(url, endpoint_filter=compute).json()
            found += page["servers"]
            url = next((link["href"] for link in page.get("servers_links", ()) if link["rel"] == "next"), "")
        return found

    return Guests(str(session.get_project_id()), servers, period=period, without=without)
