"""What the services of the model have, and the rules that real ones keep.

Time passes when a test says so: a server is BUILD and then ACTIVE, a deleted one is there for a while, a volume is
`creating` and then `available`.
"""

import re
import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias
from uuid import NAMESPACE_URL, uuid5

Tree: TypeAlias = dict[str, Any]
Answer: TypeAlias = tuple[int, Any]

PAGE = 1000
_SINGULAR = {"ports": "port", "trunks": "trunk", "networks": "network", "subnets": "subnet"}


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
    """All services of the model. `spawn` and `destroy`: seconds until a server is ACTIVE, or gone."""

    def __init__(self, *, spawn: float, destroy: float) -> None:
        self.now = 0.0
        self.spawn, self.destroy = spawn, destroy
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
        self._made: Counter[tuple[str, str]] = Counter()

    # what a test lays out

    def image(self, name: str, *, tags: tuple[str, ...] = (), status: str = "active") -> str:
        return self._add(self.images, name=name, tags=list(tags), status=status)

    def flavor(self, name: str, *, fits: bool = True, ephemeral: int = 100) -> str:
        """A flavor; one that does not fit any host makes servers that go to ERROR. `ephemeral`: GiB for local disks."""
        return self._add(self.flavors, name=name, vcpus=1, ram=512, disk=1, fits=fits, ephemeral=ephemeral)

    def network(self, name: str, *, project: str = "project", cidr: str = "10.0.0.0/24", external: bool = False) -> str:
        """A network with one subnet of the same name."""
        network = self._add(
            self.networks,
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
        subnet = self._add(
            self.subnets,
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

    def security_group(self, name: str, *, project: str = "project") -> str:
        return self._add(self.security_groups, name=name, project_id=project, tags=[], description="")

    def server_group(self, name: str) -> str:
        return self._add(self.server_groups, name=name)

    def keypair(self, name: str) -> None:
        self.keypairs[name] = {"keypair": {"name": name}}

    def held(self, project: str) -> Mapping[str, int]:
        """How many of each a project has."""
        self._advance()
        kinds = {"servers": self.servers, "ports": self.ports, "trunks": self.trunks, "volumes": self.volumes}
        return {
            name: count
            for name, all_of in kinds.items()
            if (count := sum(each["project_id"] == project for each in all_of.values()))
        }

    # requests

    def handle(self, project: str, asked: Any) -> Answer:
        """The status and the body of the answer. Raises Refused."""
        self._advance()
        for service, method, pattern, act in self._routes():
            if (asked.service, asked.method) == (service, method) and (found := re.fullmatch(pattern, asked.path)):
                return act(project, asked, *found.groups())
        raise Refused(404, {"error": f"no route for {asked.method} {asked.path}"})

    def _routes(self) -> list[tuple[str, str, str, Callable[..., Answer]]]:
        return [
            ("compute", "GET", "/servers/detail", self._list_servers),
            ("compute", "GET", "/servers/([^/]+)", self._get_server),
            ("compute", "POST", "/servers", self._create_server),
            ("compute", "DELETE", "/servers/([^/]+)", self._delete_server),
            ("compute", "POST", "/servers/([^/]+)/metadata", self._mark_server),
            ("compute", "GET", "/flavors/detail", lambda *_: (200, {"flavors": [*self.flavors.values()]})),
            ("compute", "GET", "/os-keypairs", lambda *_: (200, {"keypairs": [*self.keypairs.values()]})),
            (
                "compute",
                "GET",
                "/os-server-groups",
                self._list_groups,
            ),
            ("compute", "GET", "/os-availability-zone", self._list_zones),
            ("compute", "GET", "/limits", self._nova_limits),
            ("network", "GET", "/v2.0/extensions", self._list_extensions),
            ("network", "GET", "/v2.0/quotas/([^/]+)/details.json", self._neutron_quotas),
            ("network", "GET", "/v2.0/([a-z-]+)", self._list_neutron),
            ("network", "POST", "/v2.0/ports", self._create_port),
            ("network", "POST", "/v2.0/trunks", self._create_trunk),
            ("network", "PUT", "/v2.0/(ports|trunks)/([^/]+)", self._change_neutron),
            ("network", "PUT", "/v2.0/(ports|trunks)/([^/]+)/tags", self._tag),
            ("network", "PUT", "/v2.0/trunks/([^/]+)/remove_subports", self._remove_subports),
            ("network", "DELETE", "/v2.0/ports/([^/]+)", self._delete_port),
            ("network", "DELETE", "/v2.0/trunks/([^/]+)", self._delete_trunk),
            ("image", "GET", "/v2/images", self._list_images),
            ("block-storage", "GET", "/volumes/detail", self._list_volumes),
            ("block-storage", "GET", "/limits", self._cinder_limits),
            ("block-storage", "POST", "/volumes", self._create_volume),
            ("block-storage", "POST", "/volumes/([^/]+)/metadata", self._mark_volume),
            ("block-storage", "DELETE", "/volumes/([^/]+)", self._delete_volume),
            ("block-storage", "GET", "/attachments", self._list_attachments),
            ("block-storage", "DELETE", "/attachments/([^/]+)", self._delete_attachment),
        ]

    # compute

    def _list_servers(self, project: str, asked: Any) -> Answer:
        query = dict(asked.query)
        own = [self._shown(each) for each in self.servers.values() if each["project_id"] == project]
        size = min(int(query.get("limit", PAGE)), PAGE)
        start = next((place + 1 for place, each in enumerate(own) if each["id"] == query.get("marker")), 0)
        page = own[start : start + size]
        more = start + size < len(own)
        href = f"http://cloud/servers/detail?limit={size}&marker={page[-1]['id']}" if more else ""
        return 200, {"servers": page, **({"servers_links": [{"rel": "next", "href": href}]} if more else {})}

    def _get_server(self, project: str, asked: Any, which: str) -> Answer:
        return 200, {"server": self._shown(self._server(project, which))}

    def _create_server(self, project: str, asked: Any) -> Answer:
        body = asked.body["server"]
        flavor = self.flavors.get(body.get("flavorRef", ""))
        if flavor is None:
            raise nova(400, f"Flavor {body.get('flavorRef')} could not be found.")
        if body.get("key_name") and body["key_name"] not in self.keypairs:
            raise nova(400, "Invalid key_name provided.")
        if body.get("availability_zone") and body["availability_zone"] not in self.zones:
            raise nova(400, "The requested availability zone is not available")
        if (image := body.get("imageRef")) and image not in self.images:
            raise nova(400, f"Can not find requested image: {image}")
        used, limit = self._count(self.servers, project), self._limit(project, "instances")
        if limit >= 0 and used >= limit:
            raise nova(403, f"Quota exceeded for instances: Requested 1, but already used {used} of {limit} instances")
        ports = [self._port_to_plug(project, each["port"]) for each in body.get("networks", [])]
        volumes = [self._volume_to_attach(project, each) for each in body.get("block_device_mapping_v2", [])]
        if (
            any(
                each.get("destination_type") == "local" and each.get("source_type") == "blank"
                for each in body.get("block_device_mapping_v2", [])
            )
            and not flavor["ephemeral"]
        ):
            for volume in volumes:
                if volume:  # as Nova does: it finds out too late, and keeps what it has reserved
                    volume["status"] = "reserved"
                    self._add(self.attachments, name=volume["name"], volume_id=volume["id"], status="reserved")
            raise nova(400, "Ephemeral disks requested are larger than the instance type allows.")
        state = {
            "name": body["name"],
            "status": "BUILD",
            "created": self._time(),
            "project_id": project,
            "metadata": dict(body.get("metadata", {})),
            "tags": list(body.get("tags", [])),
            "fault": None,
            "flavor": flavor,
            "ready": self.now + self.spawn,
            "gone": None,
            "body": asked.body,
            "disks": [volume["id"] for volume in volumes if volume],
        }
        which = self._add(self.servers, **state)
        for port in ports:
            port.update(device_id=which, device_owner="compute:nova")
        for volume in volumes:
            if volume:
                volume["status"] = "in-use"
        links = [{"rel": "self", "href": f"http://cloud/servers/{which}"}]
        return 202, {"server": {"id": which, "links": links, "security_groups": [], "adminPass": "secret"}}

    def _port_to_plug(self, project: str, which: str) -> Tree:
        port = self.ports.get(which)
        if port is None or port["project_id"] != project:
            raise nova(400, f"Port {which} could not be found.")
        if port["device_id"]:
            raise nova(409, f"Port {which} is still in use.")
        return port

    def _volume_to_attach(self, project: str, device: Tree) -> Tree | None:
        if device.get("source_type") != "volume":
            return None
        volume = self.volumes.get(device["uuid"])
        if volume is None or volume["project_id"] != project:
            raise nova(400, f"Block Device Mapping is Invalid: failed to get volume {device['uuid']}.")
        if volume["status"] != "available":
            raise nova(400, f"Invalid volume: Volume {device['uuid']} status must be available.")
        volume["dies"] = device.get("delete_on_termination", False)
        return volume

    def _delete_server(self, project: str, asked: Any, which: str) -> Answer:
        server = self._server(project, which)
        if server["gone"] is None:
            server["gone"] = self.now + self.destroy
        return 204, None

    def _mark_server(self, project: str, asked: Any, which: str) -> Answer:
        server = self._server(project, which)
        if server["status"] == "BUILD":
            raise nova(409, f"Cannot 'update metadata' instance {which} while it is in vm_state building")
        server["metadata"].update(asked.body["metadata"])
        return 200, {"metadata": server["metadata"]}

    def _server(self, project: str, which: str) -> Tree:
        server = self.servers.get(which)
        if server is None or server["project_id"] != project:
            raise nova(404, f"Instance {which} could not be found.")
        return server

    def _shown(self, server: Tree) -> Tree:
        shown = {name: server[name] for name in ("id", "name", "status", "created", "metadata", "tags")}
        ports = [port for port in self.ports.values() if port["device_id"] == server["id"]]
        addresses: dict[str, list[Tree]] = {}
        if server["status"] == "ACTIVE":
            for port in ports:
                name = self.networks[port["network_id"]]["name"]
                addresses.setdefault(name, []).extend(
                    {"addr": each["ip_address"], "version": 4, "OS-EXT-IPS:type": "fixed"} for each in port["fixed_ips"]
                )
        task = "deleting" if server["gone"] is not None else "spawning" if server["status"] == "BUILD" else None
        fault = {"fault": server["fault"]} if server["fault"] else {}
        disks = [{"id": volume} for volume in server["disks"]]
        return {
            **shown,
            **fault,
            "addresses": addresses,
            "OS-EXT-STS:task_state": task,
            "os-extended-volumes:volumes_attached": disks,
            "OS-EXT-AZ:availability_zone": "az1",
        }

    def _list_zones(self, project: str, asked: Any) -> Answer:
        zones = [{"zoneName": each, "zoneState": {"available": True}} for each in self.zones]
        return 200, {"availabilityZoneInfo": zones}

    def _list_groups(self, project: str, asked: Any) -> Answer:
        return 200, {"server_groups": [*self.server_groups.values()]}

    def _nova_limits(self, project: str, asked: Any) -> Answer:
        used = self._count(self.servers, project)
        return 200, {
            "limits": {
                "rate": [],
                "absolute": {
                    "maxTotalInstances": self._limit(project, "instances"),
                    "totalInstancesUsed": used,
                    "maxTotalCores": -1,
                    "totalCoresUsed": used,
                    "maxTotalRAMSize": -1,
                    "totalRAMUsed": 512 * used,
                },
            }
        }

    # network

    def _list_extensions(self, project: str, asked: Any) -> Answer:
        return 200, {"extensions": [{"alias": each} for each in self.extensions]}

    def _list_neutron(self, project: str, asked: Any, collection: str) -> Answer:
        key = collection.replace("-", "_")
        all_of = getattr(self, key, None)
        if not isinstance(all_of, dict):
            raise neutron(404, "HTTPNotFound", "The resource could not be found.")
        found = [each for each in all_of.values() if _fits(each, asked.query) and self._visible(project, key, each)]
        return 200, {key: [self._told(key, each) for each in found]}

    def _visible(self, project: str, key: str, each: Tree) -> bool:
        which = {"networks": "id", "subnets": "network_id"}.get(key)
        network = self.networks.get(each[which]) if which else None
        return each["project_id"] == project or bool(network and network["router:external"])

    def _told(self, key: str, each: Tree) -> Tree:
        if key != "ports":
            return each
        trunk = next((one for one in self.trunks.values() if one["port_id"] == each["id"]), None)
        details = {"trunk_details": {"trunk_id": trunk["id"], "sub_ports": trunk["sub_ports"]}} if trunk else {}
        return {**each, **details}

    def _create_port(self, project: str, asked: Any) -> Answer:
        body = dict(asked.body["port"])
        network = self.networks.get(body["network_id"])
        if network is None:
            raise neutron(404, "NetworkNotFound", f"Network {body['network_id']} could not be found.")
        used, limit = self._count(self.ports, project), self._limit(project, "port")
        if limit >= 0 and used >= limit:
            raise neutron(409, "OverQuota", "Quota exceeded for resources: ['port'].")
        number = zlib.crc32(f"{body.get('name')}/{self._made['ports', str(body.get('name'))]}".encode()) % 60_000
        asked_for = body.pop("fixed_ips", None) or [{"subnet_id": each} for each in network["subnets"][:1]]
        addresses = [
            {
                "subnet_id": each.get("subnet_id") or network["subnets"][0],
                "ip_address": each.get("ip_address") or f"10.0.{number // 250}.{number % 250 + 1}",
            }
            for each in asked_for
        ]
        taken = {address["ip_address"] for port in self.ports.values() for address in port["fixed_ips"]}
        for address in addresses:
            if address["ip_address"] in taken:
                text = f"IP address {address['ip_address']} already allocated in subnet {address['subnet_id']}"
                raise neutron(409, "IpAddressAlreadyAllocated", text)
        body.pop("tags", None)  # dropped, unless the cloud loads an extension driver for them
        state = {"description": "", "device_id": "", "device_owner": "", "security_groups": [], **body}
        which = self._add(
            self.ports,
            **state,
            fixed_ips=addresses,
            tags=[],
            status="DOWN",
            project_id=project,
            created_at=self._time(),
        )
        return 201, {"port": self.ports[which]}

    def _create_trunk(self, project: str, asked: Any) -> Answer:
        body = dict(asked.body["trunk"])
        self._neutron(project, "ports", body["port_id"])
        if any(trunk["port_id"] == body["port_id"] for trunk in self.trunks.values()):
            raise neutron(409, "ParentPortInUse", f"Port {body['port_id']} is currently in use and is not eligible")
        state = {"description": "", "name": "", "sub_ports": [], **body}
        which = self._add(self.trunks, **state, tags=[], status="ACTIVE", project_id=project, created_at=self._time())
        return 201, {"trunk": self.trunks[which]}

    def _change_neutron(self, project: str, asked: Any, collection: str, which: str) -> Answer:
        resource = self._neutron(project, collection, which)
        resource.update(asked.body[_SINGULAR[collection]])
        return 200, {_SINGULAR[collection]: resource}

    def _tag(self, project: str, asked: Any, collection: str, which: str) -> Answer:
        self._neutron(project, collection, which)["tags"] = list(asked.body["tags"])
        return 200, asked.body

    def _remove_subports(self, project: str, asked: Any, which: str) -> Answer:
        trunk = self._neutron(project, "trunks", which)
        leaving = {each["port_id"] for each in asked.body["sub_ports"]}
        trunk["sub_ports"] = [each for each in trunk["sub_ports"] if each["port_id"] not in leaving]
        return 200, {"sub_ports": trunk["sub_ports"]}

    def _delete_port(self, project: str, asked: Any, which: str) -> Answer:
        self._neutron(project, "ports", which)
        if any(trunk["port_id"] == which for trunk in self.trunks.values()):
            raise neutron(409, "PortInUseAsTrunkParent", f"Port {which} is currently a parent port for trunk")
        del self.ports[which]
        return 204, None

    def _delete_trunk(self, project: str, asked: Any, which: str) -> Answer:
        trunk = self._neutron(project, "trunks", which)
        if self.ports[trunk["port_id"]]["device_id"]:
            raise neutron(409, "TrunkInUse", f"Trunk {which} is currently in use.")
        del self.trunks[which]
        return 204, None

    def _neutron(self, project: str, collection: str, which: str) -> Tree:
        resource: Tree | None = getattr(self, collection).get(which)
        if resource is None or resource["project_id"] != project:
            kind = _SINGULAR[collection].capitalize()
            raise neutron(404, f"{kind}NotFound", f"{kind} {which} could not be found.")
        return resource

    def _neutron_quotas(self, project: str, asked: Any, which: str) -> Answer:
        rows = {"port": self.ports, "trunk": self.trunks}
        return 200, {
            "quota": {
                name: {"limit": self._limit(which, name), "used": self._count(all_of, which), "reserved": 0}
                for name, all_of in rows.items()
            }
        }

    # images and volumes

    def _list_images(self, project: str, asked: Any) -> Answer:
        tags = {value for name, value in asked.query if name == "tag"}
        query = [(name, value.removeprefix("in:")) for name, value in asked.query if name in ("name", "id")]
        found = [each for each in self.images.values() if _fits(each, query) and tags <= {*each["tags"]}]
        return 200, {"images": found}

    def _list_volumes(self, project: str, asked: Any) -> Answer:
        return 200, {"volumes": [each for each in self.volumes.values() if each["project_id"] == project]}

    def _create_volume(self, project: str, asked: Any) -> Answer:
        body = dict(asked.body["volume"])
        used, limit = self._count(self.volumes, project), self._limit(project, "volumes")
        if limit >= 0 and used >= limit:
            text = f"VolumeLimitExceeded: Maximum number of volumes allowed ({limit}) exceeded for quota 'volumes'."
            raise Refused(413, {"overLimit": {"code": 413, "message": text, "retryAfter": "0"}})
        fails = "fail" in body.get("name", "")
        state = {"metadata": {}, "availability_zone": "nova", **body}
        which = self._add(
            self.volumes,
            **state,
            status="creating",
            project_id=project,
            multiattach=False,
            created_at=self._time(),
            ready=self.now + self.spawn,
            ends="error" if fails else "available",
            dies=False,
            gone=None,
        )
        return 202, {"volume": self.volumes[which]}

    def _mark_volume(self, project: str, asked: Any, which: str) -> Answer:
        volume = self._volume(project, which)
        volume["metadata"].update(asked.body["metadata"])
        return 200, {"metadata": volume["metadata"]}

    def _delete_volume(self, project: str, asked: Any, which: str) -> Answer:
        volume = self._volume(project, which)
        if volume["status"] in ("in-use", "reserved"):
            raise Refused(
                400, {"badRequest": {"code": 400, "message": "Invalid volume: Volume status must be available"}}
            )
        volume.update(status="deleting", gone=self.now + self.destroy)
        return 202, None

    def _list_attachments(self, project: str, asked: Any) -> Answer:
        return 200, {"attachments": [each for each in self.attachments.values() if _fits(each, asked.query)]}

    def _delete_attachment(self, project: str, asked: Any, which: str) -> Answer:
        self._volume(project, self.attachments.pop(which)["volume_id"])["status"] = "available"
        return 200, {"attachments": []}

    def _volume(self, project: str, which: str) -> Tree:
        volume = self.volumes.get(which)
        if volume is None or volume["project_id"] != project:
            raise Refused(404, {"itemNotFound": {"code": 404, "message": f"Volume {which} could not be found."}})
        return volume

    def _cinder_limits(self, project: str, asked: Any) -> Answer:
        used = self._count(self.volumes, project)
        absolute = {
            "maxTotalVolumes": self._limit(project, "volumes"),
            "totalVolumesUsed": used,
            "maxTotalVolumeGigabytes": -1,
            "totalGigabytesUsed": used,
        }
        return 200, {"limits": {"rate": [], "absolute": absolute}}

    # time

    def _advance(self) -> None:
        """Let happen what is due."""
        for which, server in list(self.servers.items()):
            if server["gone"] is not None and self.now >= server["gone"]:
                self._remove_server(which)
            elif server["status"] == "BUILD" and self.now >= server["ready"]:
                fits = server["flavor"]["fits"]
                server["status"] = "ACTIVE" if fits else "ERROR"
                if not fits:
                    server["fault"] = {"code": 500, "message": "No valid host was found. ", "created": self._time()}
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

    def _time(self) -> str:
        return (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.now)).strftime("%Y-%m-%dT%H:%M:%SZ")

    def _add(self, all_of: dict[str, Tree], **state: Any) -> str:
        which = self._new_id(all_of, str(state["name"]))
        all_of[which] = {"id": which, **state}
        return which

    def _new_id(self, all_of: dict[str, Tree], name: str) -> str:
        """The n-th resource of a name has the same ID in every run, whatever is made at the same time."""
        kind = next(kind for kind, each in vars(self).items() if each is all_of)
        self._made[kind, name] += 1
        return str(uuid5(NAMESPACE_URL, f"{kind}/{name}/{self._made[kind, name]}"))

    def _count(self, all_of: dict[str, Tree], project: str) -> int:
        return sum(each["project_id"] == project for each in all_of.values())

    def _limit(self, project: str, resource: str) -> int:
        return self.quotas.get(project, {}).get(resource, -1)


def _fits(resource: Tree, query: Any) -> bool:
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
