"""Nova of the model: servers, from BUILD to ACTIVE or ERROR, and what they plug and attach."""

from typing import Any, Final

from windlass.testing.memory_cloud.services import Answer, Routes, Services, Tree, nova

PAGE: Final = 1000


def _list_servers(cloud: Services, project: str, asked: Any) -> Answer:
    query = dict(asked.query)
    own = [_shown(cloud, each) for each in cloud.servers.values() if each["project_id"] == project]
    size = min(int(query.get("limit", PAGE)), PAGE)
    start = next((place + 1 for place, each in enumerate(own) if each["id"] == query.get("marker")), 0)
    page = own[start : start + size]
    more = start + size < len(own)
    href = f"http://cloud/servers/detail?limit={size}&marker={page[-1]['id']}" if more else ""
    return 200, {"servers": page, **({"servers_links": [{"rel": "next", "href": href}]} if more else {})}


def _get_server(cloud: Services, project: str, asked: Any, which: str) -> Answer:
    return 200, {"server": _shown(cloud, cloud.owned("servers", project, which))}


def _create_server(cloud: Services, project: str, asked: Any) -> Answer:
    body = asked.body["server"]
    flavor = cloud.flavors.get(body.get("flavorRef", ""))
    if flavor is None:
        raise nova(400, f"Flavor {body.get('flavorRef')} could not be found.")
    if body.get("key_name") and body["key_name"] not in cloud.keypairs:
        raise nova(400, "Invalid key_name provided.")
    if body.get("availability_zone") and body["availability_zone"] not in cloud.zones:
        raise nova(400, "The requested availability zone is not available")
    if (image := body.get("imageRef")) and image not in cloud.images:
        raise nova(400, f"Can not find requested image: {image}")
    if (limit := cloud.full("servers", project, "instances")) is not None:
        raise nova(403, f"Quota exceeded for instances: Requested 1, but already used {limit} of {limit} instances")
    ports = [_port_to_plug(cloud, project, each["port"]) for each in body.get("networks", [])]
    devices = body.get("block_device_mapping_v2", [])
    volumes = [_volume_to_attach(cloud, project, each) for each in devices if each.get("source_type") == "volume"]
    local = any((each.get("destination_type"), each.get("source_type")) == ("local", "blank") for each in devices)
    if local and not flavor["ephemeral"]:
        for volume in volumes:  # as Nova does: it finds out too late, and keeps what it has reserved
            volume["status"] = "reserved"
            cloud.add("attachments", name=volume["name"], volume_id=volume["id"], status="reserved")
        raise nova(400, "Ephemeral disks requested are larger than the instance type allows.")
    state = {
        "name": body["name"],
        "status": "BUILD",
        "created": cloud.time(),
        "project_id": project,
        "metadata": dict(body.get("metadata", {})),
        "tags": list(body.get("tags", [])),
        "fault": None,
        "flavor": flavor,
        "ready": cloud.now + cloud.spawn,
        "gone": None,
        "body": asked.body,
        "disks": [volume["id"] for volume in volumes],
    }
    which = cloud.add("servers", **state)
    for port in ports:
        port.update(device_id=which, device_owner="compute:nova")
    for volume in volumes:
        volume["status"] = "in-use"
    links = [{"rel": "self", "href": f"http://cloud/servers/{which}"}]
    return 202, {"server": {"id": which, "links": links, "security_groups": [], "adminPass": "secret"}}


def _port_to_plug(cloud: Services, project: str, which: str) -> Tree:
    port = cloud.owned("ports", project, which, otherwise=nova(400, f"Port {which} could not be found."))
    if port["device_id"]:
        raise nova(409, f"Port {which} is still in use.")
    return port


def _volume_to_attach(cloud: Services, project: str, device: Tree) -> Tree:
    missing = nova(400, f"Block Device Mapping is Invalid: failed to get volume {device['uuid']}.")
    volume = cloud.owned("volumes", project, device["uuid"], otherwise=missing)
    if volume["status"] != "available":
        raise nova(400, f"Invalid volume: Volume {device['uuid']} status must be available.")
    volume["dies"] = device.get("delete_on_termination", False)
    return volume


def _delete_server(cloud: Services, project: str, asked: Any, which: str) -> Answer:
    server = cloud.owned("servers", project, which)
    if server["gone"] is None:
        server["gone"] = cloud.now + cloud.destroy
    return 204, None


def _mark_server(cloud: Services, project: str, asked: Any, which: str) -> Answer:
    server = cloud.owned("servers", project, which)
    if server["status"] == "BUILD":
        raise nova(409, f"Cannot 'update metadata' instance {which} while it is in vm_state building")
    server["metadata"].update(asked.body["metadata"])
    return 200, {"metadata": server["metadata"]}


def _shown(cloud: Services, server: Tree) -> Tree:
    shown = {name: server[name] for name in ("id", "name", "status", "created", "metadata", "tags")}
    ports = [port for port in cloud.ports.values() if port["device_id"] == server["id"]]
    addresses: dict[str, list[Tree]] = {}
    if server["status"] == "ACTIVE":
        for port in ports:
            name = cloud.networks[port["network_id"]]["name"]
            floating = [each for each in cloud.floatingips.values() if each["port_id"] == port["id"]]
            addresses.setdefault(name, []).extend(
                [
                    *(_address(each["ip_address"], "fixed") for each in port["fixed_ips"]),
                    *(_address(each["floating_ip_address"], "floating") for each in floating),
                ]
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


def _address(address: str, kind: str) -> Tree:
    return {"addr": address, "version": 6 if ":" in address else 4, "OS-EXT-IPS:type": kind}


def _create_server_group(cloud: Services, project: str, asked: Any) -> Answer:
    which = cloud.server_group(asked.body["server_group"]["name"])
    return 200, {"server_group": cloud.server_groups[which]}


def _flavor(found: Tree) -> Tree:
    return {**found, "OS-FLV-EXT-DATA:ephemeral": found["ephemeral"]}


def _list_zones(cloud: Services, project: str, asked: Any) -> Answer:
    off = cloud.unavailable_zones
    zones = [{"zoneName": each, "zoneState": {"available": each not in off}} for each in cloud.zones]
    return 200, {"availabilityZoneInfo": zones}


def _limits(cloud: Services, project: str, asked: Any) -> Answer:
    used = cloud.count("servers", project)
    absolute = {
        "maxTotalInstances": cloud.limit(project, "instances"),
        "totalInstancesUsed": used,
        "maxTotalCores": -1,
        "totalCoresUsed": used,
        "maxTotalRAMSize": -1,
        "totalRAMUsed": 512 * used,
    }
    return 200, {"limits": {"rate": [], "absolute": absolute}}


ROUTES: Final[Routes] = (
    ("GET", "/servers/detail", _list_servers),
    ("GET", "/servers/([^/]+)", _get_server),
    ("POST", "/servers", _create_server),
    ("DELETE", "/servers/([^/]+)", _delete_server),
    ("POST", "/servers/([^/]+)/metadata", _mark_server),
    ("GET", "/flavors/detail", lambda cloud, *_: (200, {"flavors": [*map(_flavor, cloud.flavors.values())]})),
    ("GET", "/os-keypairs", lambda cloud, *_: (200, {"keypairs": [*cloud.keypairs.values()]})),
    ("GET", "/os-server-groups", lambda cloud, *_: (200, {"server_groups": [*cloud.server_groups.values()]})),
    ("POST", "/os-server-groups", _create_server_group),
    ("GET", "/os-availability-zone", _list_zones),
    ("GET", "/limits", _limits),
)
