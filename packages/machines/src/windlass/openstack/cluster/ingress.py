"""The way from the API endpoint to the machines of the control plane. Load balancers and floating IPs are changed by
the controller of the cluster alone, and this is the part of it that looks at machines.

| endpoint | machine | what is done |
|---|---|---|
| a load balancer | runs | a member for each port; then the annotation, which its own controller waits for |
| | is being deleted | its members go, then the annotation, then its own controller deletes the server |
| | is gone | members with its name go |
| a floating IP | | it leads to the oldest machine, and stays there until that one is deleted |
| | | it leads to a port of no machine: it stays there, and the condition says so |
| | runs, or is being deleted | the annotation is set, or taken away, once the floating IP leads to another one |
| a given one | runs | the annotation |

A member is the one with the address of the machine, whatever its name. One with the name and another address is
replaced: the new one is made first. Members that people add under other names stay.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from windlass.api.capo import OpenStackMachine
from windlass.kube.control.plan import Merge, target_of
from windlass.openstack.cloud.balancer_requests import CreateMember, DeleteMember
from windlass.openstack.cloud.network_inventory import Balancer
from windlass.openstack.cloud.resources import FloatingIp, Member, Pool, Subnet
from windlass.openstack.cluster.balancer import ERROR, made_for
from windlass.openstack.cluster.part import ENDPOINT, Ours, Part
from windlass.openstack.cluster.snapshot import ControlMachine
from windlass.openstack.cluster.unmarked import leads_elsewhere
from windlass.openstack.cluster.vip_subnet import subnet_of
from windlass.openstack.constants import INGRESS_ANNOTATION
from windlass.openstack.status import ENDPOINT_READY, Reason

_WAY: Final = Part(condition=ENDPOINT_READY, reason=Reason.LOAD_BALANCER_MEMBER_ERROR)
GIVEN: Final = "given"
"""The annotation where the endpoint is not ours to lead anywhere."""


class Way(Struct, frozen=True, kw_only=True):
    """What comes next in the cloud, and the annotations of machines that say how far it is."""

    part: Part = _WAY
    annotations: tuple[Merge, ...] = ()


def address_of(machine: ControlMachine, subnets: Sequence[Subnet], vip: str = "") -> str:
    """Its address on the network of the cluster, else its first one; empty if it has none yet. Of IPv4 and IPv6, the
    one that the `vip` of the load balancer is: OVN balances between addresses of one kind only."""
    inside = [each for each in machine.addresses if subnet_of(each, subnets) is not None]
    alike = (each for each in inside if (":" in each) == (":" in vip))
    return next(alike, "") or next(iter([*inside, *machine.addresses]), "")


def is_led(machine: ControlMachine) -> bool:
    """Whether an annotation names the load balancer or floating IP through which the endpoint reaches the machine."""
    return machine.found.metadata.annotations.get(INGRESS_ANNOTATION, GIVEN) != GIVEN


def given(machines: Sequence[ControlMachine]) -> Way:
    """Nothing of ours leads to the machines."""
    return Way(annotations=_annotated(machines, GIVEN))


def by_floating_ip(ours: Ours, floating: FloatingIp, machines: Sequence[ControlMachine]) -> Way:
    live = [each for each in machines if not each.deleting]
    if any(floating.port_id in each.ports for each in live):
        return Way(annotations=_annotated(machines, floating.id))
    oldest = sorted(live, key=lambda each: (each.found.metadata.creation_timestamp or "", each.name))
    first = next((each.ports[0] for each in oldest if each.ports), None)
    if first is None:  # it goes with the port of the last machine
        return Way(annotations=_released(machines))
    if floating.port_id and not any(floating.port_id in each.ports for each in machines):
        return Way(part=ENDPOINT.hindered(leads_elsewhere(floating)), annotations=_released(machines))
    why = "a machine of the control plane gets the floating IP"
    return Way(part=_WAY.needs(ours.lead(floating, first), why=why))


def by_balancer(
    ours: Ours,
    found: Balancer | None,
    machines: Sequence[ControlMachine],
    *,
    name: str,
    ports: Sequence[int],
    subnets: Sequence[Subnet],
    network: str,
) -> Way:
    """`name` of the load balancer; `network`: the ID of that of the cluster, on which the machines are."""
    if found is None or found.balancer.provisioning_status == ERROR:  # machines that go must not wait for it
        return Way(annotations=_released(machines))
    if not found.can_be_changed:  # its own part says so
        return Way()
    members = _Members(ours, found, machines, name, ports, subnets, network)
    return members.way()


class _Members(Struct, frozen=True):
    ours: Ours
    found: Balancer
    machines: Sequence[ControlMachine]
    name: str
    ports: Sequence[int]
    subnets: Sequence[Subnet]
    network: str

    def way(self) -> Way:
        """First remove members of deleted machines, which wait for it; then add missing ones; then remove the rest."""
        leaving = [each.name for each in self.machines if each.deleting]
        requests = [*self._leave(leaving), *self._missing(), *self._surplus()]
        pools = [pool for port in self.ports if (pool := self._pool(port)) is not None]
        complete = len(pools) == len(self.ports)
        settled = [
            each
            for each in self.machines
            if (each.deleting and not any(self._of(pool, port, each.name) for port, pool in self._pools()))
            or (not each.deleting and complete and self._is_in(each))
        ]
        part = _WAY.needs(*requests[:1], why="the load balancer leads to the control plane")
        return Way(part=part, annotations=_annotated(settled, self.found.balancer.id))

    def _pool(self, port: int) -> Pool | None:
        return next((each for each in self.found.pools if each.name == f"{self.name}-{port}"), None)

    def _pools(self) -> Iterator[tuple[int, Pool]]:
        for port in self.ports:
            if (pool := self._pool(port)) is not None:
                yield port, pool

    def _of(self, pool: Pool, port: int, machine: str) -> list[Member]:
        return [each for each in pool.members if each.name == self._member(port, machine)]

    def _member(self, port: int, machine: str) -> str:
        return f"{self.name}-{port}-{machine}"

    def _address(self, machine: ControlMachine) -> str:
        return address_of(machine, self.subnets, self.found.balancer.vip_address or "")

    def _is_in(self, machine: ControlMachine) -> bool:
        address = self._address(machine)
        return bool(address) and all(_has(pool, address, port) for port, pool in self._pools())

    def _leave(self, leaving: Iterable[str]) -> Iterator[DeleteMember]:
        for machine in leaving:
            for port, pool in self._pools():
                yield from (self._delete(pool, each) for each in self._of(pool, port, machine))

    def _missing(self) -> Iterator[CreateMember]:
        for machine in self.machines:
            address = self._address(machine)
            if machine.deleting or not address:
                continue
            for port, pool in self._pools():
                if not _has(pool, address, port):
                    yield self._create(pool, self._member(port, machine.name), address, port)

    def _surplus(self) -> Iterator[DeleteMember]:
        """Members of machines that are gone, or have another address."""
        addresses = {each.name: self._address(each) for each in self.machines}
        for port, pool in self._pools():
            prefix = self._member(port, "")
            for member in pool.members:
                machine = (member.name or "").removeprefix(prefix)
                if not (member.name or "").startswith(prefix):
                    continue
                if machine not in addresses or addresses[machine] not in ("", member.address):
                    yield self._delete(pool, member)

    def _create(self, pool: Pool, name: str, address: str, port: int) -> CreateMember:
        lb, subnet = self.found.balancer, subnet_of(address, self.subnets)
        elsewhere = lb.vip_network_id not in (None, "", self.network)
        where = {"subnet_id": subnet.id} if elsewhere and subnet is not None else {}
        body = {"address": address, "protocol_port": port, **where}
        return made_for(lb, self.ours, CreateMember, name, body, pool=pool.id)

    def _delete(self, pool: Pool, member: Member) -> DeleteMember:
        return DeleteMember(
            project=self.ours.project,
            mark=self.ours.mark,
            subject=member.name or member.id,
            balancer=self.found.balancer.id,
            pool=pool.id,
            id=member.id,
        )


def _has(pool: Pool, address: str, port: int) -> bool:
    return any((each.address, each.protocol_port) == (address, port) for each in pool.members)


def _released(machines: Iterable[ControlMachine]) -> tuple[Merge, ...]:
    """Machines in deletion do not wait for the endpoint."""
    return _annotated([each for each in machines if each.deleting], "")


def _annotated(machines: Iterable[ControlMachine], value: str) -> tuple[Merge, ...]:
    """The annotation of machines that run is `value`; one that is being deleted has none any more."""
    merges = (_annotate(each, "" if each.deleting else value) for each in machines)
    return tuple(each for each in merges if each.needed)


def _annotate(machine: ControlMachine, value: str) -> Merge:
    annotations = dict(machine.found.metadata.annotations)
    others = {name: each for name, each in annotations.items() if name != INGRESS_ANNOTATION}
    return Merge(
        target=target_of(OpenStackMachine, machine.found.metadata),
        observed={"metadata": {"annotations": annotations}},
        desired={"metadata": {"annotations": {**others, **({INGRESS_ANNOTATION: value} if value else {})}}},
        why="the API endpoint leads to the control plane" if value else "the API endpoint does not lead to it any more",
    )
