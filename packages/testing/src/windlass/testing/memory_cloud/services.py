"""What the services of the model have.

Time passes when a test says so: a server is BUILD and then ACTIVE, a deleted one is there for a while, a volume is
`creating` and then `available`, a load balancer is PENDING after each write.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address, ip_network
from typing import Any, TypeAlias
from uuid import NAMESPACE_URL, uuid5

Tree: TypeAlias = dict[str, Any]
Answer: TypeAlias = tuple[int, Any]
Routes: TypeAlias = Iterable[tuple[str, str, Callable[..., Answer]]]
"""Method, pattern of the path, and what acts: on the services, for a project, on a request and the pattern's groups."""

OF_NEUTRON = {
    "networks": "network",
    "subnets": "subnet",
    "routers": "router",
    "ports": "port",
    "trunks": "trunk",
    "floatingips": "floatingip",
    "security_groups": "security_group",
    "security_group_rules": "security_group_rule",
}
OF_OCTAVIA = {
    "loadbalancers": "loadbalancer",
    "listeners": "listener",
    "pools": "pool",
    "members": "member",
    "healthmonitors": "healthmonitor",
}
SINGULAR = {"servers": "instance", "volumes": "volume", **OF_NEUTRON, **OF_OCTAVIA}
"""The kinds that a project makes, as collections are called in JSON, and the names in envelopes and of quotas."""

_SPELLED = {"floatingip": "FloatingIP", "loadbalancer": "Load Balancer", "healthmonitor": "Health Monitor"}


class Refused(Exception):
    """The service refuses: the status and the body of its answer."""

    def __init__(self, status: int, body: Any) -> None:
        self.status, self.body = status, body
        super().__init__(f"{status}: {body}")


def nova(status: int, message: str) -> Refused:
    names = {400: "badRequest", 403: "forbidden", 404: "itemNotFound", 409: "conflictingRequest"}
    return Refused(status, {names.get(status, "computeFault"): {"code": status, "message": message}})


def neutron(status: int, kind: str, message: str) -> Refused:
    return Refused(status, {"NeutronError": {"type": kind, "message": message, "detail": ""}})


def octavia(status: int, message: str) -> Refused:
    return Refused(status, {"faultcode": "Client", "faultstring": message, "debuginfo": None})


class Services:
    """All services of the model, with the `routes` of each.

    spawn, destroy         seconds until a server is ACTIVE, or gone
    balance                seconds for which a load balancer is PENDING
    may_choose_addresses   the policy of Neutron lets members choose external addresses; by default it does not
    """

    def __init__(self, routes: Mapping[str, Routes]) -> None:
        self._routes = routes
        self.now = 0.0
        self.spawn = self.destroy = self.balance = 1.0
        self.may_choose_addresses = False
        self.servers: dict[str, Tree] = {}
        self.ports: dict[str, Tree] = {}
        self.trunks: dict[str, Tree] = {}
        self.volumes: dict[str, Tree] = {}
        self.attachments: dict[str, Tree] = {}
        self.images: dict[str, Tree] = {}
        self.flavors: dict[str, Tree] = {}
        self.networks: dict[str, Tree] = {}
        self.subnets: dict[str, Tree] = {}
        self.routers: dict[str, Tree] = {}
        self.floatingips: dict[str, Tree] = {}
        self.security_groups: dict[str, Tree] = {}
        self.security_group_rules: dict[str, Tree] = {}
        self.loadbalancers: dict[str, Tree] = {}
        self.listeners: dict[str, Tree] = {}
        self.pools: dict[str, Tree] = {}
        self.members: dict[str, Tree] = {}
        self.healthmonitors: dict[str, Tree] = {}
        self.server_groups: dict[str, Tree] = {}
        self.keypairs: dict[str, Tree] = {}
        self.zones = ["az1", "az2"]
        self.unavailable_zones: list[str] = []
        self.balancer_flavors: dict[str, Tree] = {}
        self.balancer_zones: list[str] = []
        self.extensions = ["standard-attr-tag", "tag-creation", "trunk", "trunk-details"]
        self.quotas: dict[str, dict[str, int]] = {}
        self.made: Counter[tuple[str, str]] = Counter()
        self._laid_out: set[str] = set()

    # what a test lays out

    def image(self, name: str, *, status: str = "active") -> str:
        return self.add("images", name=name, tags=[], status=status)

    def flavor(self, name: str, *, fits: bool = True, ephemeral: int = 100) -> str:
        """A flavor; one that does not fit any host makes servers that go to ERROR. `ephemeral`: GiB for local disks."""
        return self.add("flavors", name=name, vcpus=1, ram=512, disk=1, fits=fits, ephemeral=ephemeral)

    def balancer_flavor(self, name: str) -> str:
        return self.add("balancer_flavors", name=name, description="", enabled=True)

    def network(self, name: str, *, project: str = "project", cidr: str = "10.0.0.0/24", external: bool = False) -> str:
        """A network with one subnet of the same name."""
        network = self.add_network(project, {"name": name, "router:external": external})
        self._laid_out.add(network)
        self.subnet(name, network, cidr=cidr)
        return network

    def external_network(self, name: str = "public", *, cidr: str = "203.0.113.0/24") -> str:
        """A network of the cloud's administrator, for the gateways of routers and floating IPs."""
        return self.network(name, project="admin", cidr=cidr, external=True)

    def subnet(self, name: str, network: str, *, cidr: str) -> str:
        subnet = self.add_subnet(
            self.networks[network]["project_id"], {"name": name, "network_id": network, "cidr": cidr}
        )
        self._laid_out.add(subnet)
        return subnet

    def server_group(self, name: str) -> str:
        return self.add("server_groups", name=name)

    def held(self, project: str) -> Mapping[str, int]:
        """How many of each a project has, without what the test laid out."""
        self.advance()
        made = {kind: [one for one in getattr(self, kind) if one not in self._laid_out] for kind in SINGULAR}
        own = {kind: [one for one in made[kind] if getattr(self, kind)[one]["project_id"] == project] for kind in made}
        return {kind: len(found) for kind, found in own.items() if found}

    def handle(self, project: str, asked: Any) -> Answer:
        """The status and the body of the answer to a request. Raises Refused."""
        self.advance()
        for method, pattern, act in self._routes[asked.service]:
            if asked.method == method and (found := re.fullmatch(pattern, asked.path)):
                return act(self, project, asked, *found.groups())
        raise Refused(404, {"error": f"no route for {asked.method} {asked.path}"})

    # what the services share

    def add(self, kind: str, **state: Any) -> str:
        """A new resource; returns its ID. The n-th of a name has the same one in every run, whatever is made beside."""
        name = str(state.get("name", ""))
        self.made[kind, name] += 1
        which = str(uuid5(NAMESPACE_URL, f"{kind}/{name}/{self.made[kind, name]}"))
        getattr(self, kind)[which] = {"id": which, **state}
        return which

    def owned(self, kind: str, project: str, which: str, *, otherwise: Refused | None = None) -> Tree:
        """A resource of the project. Raises `otherwise`, or what the service says, if it has none of this ID."""
        found: Tree | None = getattr(self, kind).get(which)
        if found is not None and found["project_id"] == project:
            return found
        raise otherwise or _missing(kind, which)

    def add_network(self, project: str, body: Tree) -> str:
        state = {"name": "", "description": "", "mtu": 1442, "port_security_enabled": True, "router:external": False}
        state |= {"tags": [], "status": "ACTIVE", "shared": False, "subnets": [], "created_at": self.time()}
        return self.add("networks", **{**state, **body, "project_id": project})

    def add_subnet(self, project: str, body: Tree) -> str:
        """A subnet; by default its gateway is the first address, and the others are given to ports."""
        block = ip_network(body["cidr"], strict=False)
        spare = int(block.version == 4)
        gateway, last = block.network_address + spare, block.broadcast_address - spare
        state = {
            "name": "",
            "description": "",
            "tags": [],
            "created_at": self.time(),
            "ip_version": block.version,
            "enable_dhcp": True,
            "gateway_ip": str(gateway),
            "dns_nameservers": [],
            "allocation_pools": [{"start": str(gateway + 1), "end": str(last)}],
        }
        which = self.add("subnets", **{**state, **body, "cidr": str(block), "project_id": project})
        self.networks[body["network_id"]]["subnets"].append(which)
        return which

    def address(self, subnet: str, number: int) -> str:
        """An address that the subnet can give; `number` says which one if many are free. Raises Refused."""
        network = self.subnets[subnet]["network_id"]
        taken = self.taken(network) | {self.subnets[subnet]["gateway_ip"]}
        for pool in self.subnets[subnet]["allocation_pools"]:
            first, size = ip_address(pool["start"]), int(ip_address(pool["end"])) - int(ip_address(pool["start"])) + 1
            for step in range(min(size, len(taken) + 1)):
                if (address := str(first + (number + step) % size)) not in taken:
                    return address
        raise neutron(409, "IpAddressGenerationFailure", f"No more IP addresses available on network {network}.")

    def taken(self, network: str) -> set[str]:
        """The addresses that ports of a network have."""
        ports = (port for port in self.ports.values() if port["network_id"] == network)
        return {address["ip_address"] for port in ports for address in port["fixed_ips"]}

    def count(self, kind: str, project: str) -> int:
        return sum(each["project_id"] == project for each in getattr(self, kind).values())

    def limit(self, project: str, resource: str) -> int:
        return self.quotas.get(project, {}).get(resource, -1)

    def full(self, kind: str, project: str, resource: str, *, more: int = 1) -> int | None:
        """The limit, if the project cannot have that many `more`."""
        limit = self.limit(project, resource)
        return limit if 0 <= limit < self.count(kind, project) + more else None

    def check_quota(self, kind: str, project: str, *, more: int = 1) -> None:
        """Neutron's quota. Raises Refused."""
        if self.full(kind, project, SINGULAR[kind], more=more) is not None:
            raise neutron(409, "OverQuota", f"Quota exceeded for resources: ['{SINGULAR[kind]}'].")

    def time(self, at: float | None = None) -> str:
        """The moment `at`, or now."""
        moment = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.now if at is None else at)
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")

    def advance(self) -> None:
        """Let happen what is due."""
        for which, server in list(self.servers.items()):
            if server["gone"] is not None and self.now >= server["gone"]:
                self.remove_server(which)
            elif server["status"] == "BUILD" and self.now >= server["ready"]:
                fits = server["flavor"]["fits"]
                server["status"] = "ACTIVE" if fits else "ERROR"
                if not fits:
                    server["fault"] = {"code": 500, "message": "No valid host was found. ", "created": self.time()}
        for which, volume in list(self.volumes.items()):
            if volume["gone"] is not None and self.now >= volume["gone"]:
                del self.volumes[which]
            elif volume["status"] == "creating" and self.now >= volume["ready"]:
                volume["status"] = volume["ends"]
        for which, balancer in list(self.loadbalancers.items()):
            if balancer["ready"] is not None and self.now >= balancer["ready"]:
                self._settle(which)

    def _settle(self, which: str) -> None:
        """What was pending of a load balancer is done."""
        done = self.time(self.loadbalancers[which]["ready"]).removesuffix("Z")  # Octavia names no zone
        for kind in OF_OCTAVIA:
            all_of: dict[str, Tree] = getattr(self, kind)
            for each in [one for one in all_of.values() if one["loadbalancer_id"] == which]:
                if each["provisioning_status"] == "PENDING_DELETE":
                    del all_of[each["id"]]
                elif each["provisioning_status"].startswith("PENDING_"):
                    failed = each["ends"] == "ERROR"
                    each.update(provisioning_status=each["ends"], operating_status="ERROR" if failed else "ONLINE")
                    each["updated_at"] = done
        if which in self.loadbalancers:
            self.loadbalancers[which]["ready"] = None
        else:
            self.remove_ports(f"lb-{which}")

    def remove_ports(self, device: str) -> None:
        """The ports of a device that is not a server go with it."""
        for port in [each for each in self.ports.values() if each["device_id"] == device]:
            self.remove_port(port["id"])

    def remove_port(self, which: str) -> None:
        """A port goes, and its floating IPs are free again."""
        del self.ports[which]
        for address in self.floatingips.values():
            if address["port_id"] == which:
                address.update(FREE)

    def remove_server(self, which: str) -> None:
        """A server goes, and its ports and volumes are free again."""
        server = self.servers.pop(which)
        for port in self.ports.values():
            if port["device_id"] == which:
                port.update(device_id="", device_owner="")
        for disk in server["disks"]:
            if (volume := self.volumes.get(disk)) is not None:
                volume["status"] = "available"
                if volume["dies"]:
                    del self.volumes[disk]


FREE = {"port_id": None, "fixed_ip_address": None, "router_id": None, "status": "DOWN"}
"""A floating IP that no port has."""


def _missing(kind: str, which: str) -> Refused:
    singular = SINGULAR[kind]
    spelled = _SPELLED.get(singular) or singular.replace("_", " ").title()
    if kind in OF_OCTAVIA:
        return octavia(404, f"{spelled} {which} not found.")
    text = f"{spelled} {which} could not be found."
    return neutron(404, f"{spelled.replace(' ', '')}NotFound", text) if kind in OF_NEUTRON else nova(404, text)


def fits(resource: Tree, query: Any) -> bool:
    """As Neutron filters: values of one name are alternatives, tags are a list joined by commas."""
    wanted: dict[str, list[str]] = {}
    for name, value in query:
        wanted.setdefault(name, []).append(value)
    for name, values in wanted.items():
        tags = set(resource.get("tags", ()))
        asked = {tag for value in values for tag in value.split(",")}
        match name:
            case "fields" | "limit" | "marker":
                fits = True
            case "tags":
                fits = asked <= tags
            case "tags-any":
                fits = bool(asked & tags)
            case "not-tags":
                fits = not asked <= tags
            case "not-tags-any":
                fits = not asked & tags
            case _:
                fits = str(resource.get(name, "")).lower() in [value.lower() for value in values]
        if not fits:
            return False
    return True
