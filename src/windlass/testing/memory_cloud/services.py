"""What the services of the model have.

Time passes when a test says so: a server is BUILD and then ACTIVE, a deleted one is there for a while, a volume is
`creating` and then `available`.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias
from uuid import NAMESPACE_URL, uuid5

Tree: TypeAlias = dict[str, Any]
Answer: TypeAlias = tuple[int, Any]
Routes: TypeAlias = Iterable[tuple[str, str, Callable[..., Answer]]]
"""Method, pattern of the path, and what acts: on the services, for a project, on a request and the pattern's groups."""

SINGULAR = {"ports": "port", "trunks": "trunk", "servers": "instance", "volumes": "volume"}
_OF_NEUTRON = ("ports", "trunks")


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


class Services:
    """All services of the model, with the `routes` of each. `spawn` and `destroy`: seconds until a server is ACTIVE, or
    gone."""

    def __init__(self, routes: Mapping[str, Routes]) -> None:
        self._routes = routes
        self.now = 0.0
        self.spawn = self.destroy = 1.0
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
        self.security_groups: dict[str, Tree] = {}
        self.server_groups: dict[str, Tree] = {}
        self.keypairs: dict[str, Tree] = {}
        self.zones = ["az1", "az2"]
        self.extensions = ["standard-attr-tag", "tag-creation", "trunk", "trunk-details"]
        self.quotas: dict[str, dict[str, int]] = {}
        self.made: Counter[tuple[str, str]] = Counter()

    # what a test lays out

    def image(self, name: str, *, status: str = "active") -> str:
        return self.add("images", name=name, tags=[], status=status)

    def flavor(self, name: str, *, fits: bool = True, ephemeral: int = 100) -> str:
        """A flavor; one that does not fit any host makes servers that go to ERROR. `ephemeral`: GiB for local disks."""
        return self.add("flavors", name=name, vcpus=1, ram=512, disk=1, fits=fits, ephemeral=ephemeral)

    def network(self, name: str, *, project: str = "project", cidr: str = "10.0.0.0/24", external: bool = False) -> str:
        """A network with one subnet of the same name."""
        network = self.add(
            "networks",
            name=name,
            project_id=project,
            tags=[],
            subnets=[],
            description="",
            **{"router:external": external},
        )
        self.subnet(name, network, cidr=cidr)
        return network

    def subnet(self, name: str, network: str, *, cidr: str) -> str:
        project = self.networks[network]["project_id"]
        subnet = self.add(
            "subnets",
            name=name,
            network_id=network,
            cidr=cidr,
            project_id=project,
            tags=[],
            ip_version=4,
            description="",
        )
        self.networks[network]["subnets"].append(subnet)
        return subnet

    def server_group(self, name: str) -> str:
        return self.add("server_groups", name=name)

    def held(self, project: str) -> Mapping[str, int]:
        """How many of each a project has."""
        self.advance()
        return {kind: count for kind in SINGULAR if (count := self.count(kind, project))}

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
        name = str(state["name"])
        self.made[kind, name] += 1
        which = str(uuid5(NAMESPACE_URL, f"{kind}/{name}/{self.made[kind, name]}"))
        getattr(self, kind)[which] = {"id": which, **state}
        return which

    def owned(self, kind: str, project: str, which: str, *, otherwise: Refused | None = None) -> Tree:
        """A resource of the project. Raises `otherwise`, or what the service says, if it has none of this ID."""
        found: Tree | None = getattr(self, kind).get(which)
        if found is not None and found["project_id"] == project:
            return found
        name = SINGULAR[kind].capitalize()
        text = f"{name} {which} could not be found."
        raise otherwise or (neutron(404, f"{name}NotFound", text) if kind in _OF_NEUTRON else nova(404, text))

    def count(self, kind: str, project: str) -> int:
        return sum(each["project_id"] == project for each in getattr(self, kind).values())

    def limit(self, project: str, resource: str) -> int:
        return self.quotas.get(project, {}).get(resource, -1)

    def full(self, kind: str, project: str, resource: str) -> int | None:
        """The limit, if the project has as much as that; None if it may have more."""
        limit = self.limit(project, resource)
        return limit if 0 <= limit <= self.count(kind, project) else None

    def time(self) -> str:
        return (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.now)).strftime("%Y-%m-%dT%H:%M:%SZ")

    def advance(self) -> None:
        """Let happen what is due."""
        for which, server in list(self.servers.items()):
            if server["gone"] is not None and self.now >= server["gone"]:
                self._remove_server(which)
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

    def _remove_server(self, which: str) -> None:
        server = self.servers.pop(which)
        for port in self.ports.values():
            if port["device_id"] == which:
                port.update(device_id="", device_owner="")
        for disk in server["disks"]:
            if (volume := self.volumes.get(disk)) is not None:
                volume["status"] = "available"
                if volume["dies"]:
                    del self.volumes[disk]


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
