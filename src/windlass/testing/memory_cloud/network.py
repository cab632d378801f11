"""Neutron of the model: networks that a test lays out, ports on them, trunks on those."""

import itertools
import zlib
from typing import Any, Final

from windlass.testing.memory_cloud.services import SINGULAR, Answer, Routes, Services, Tree, fits, neutron


def _list_extensions(cloud: Services, project: str, asked: Any) -> Answer:
    return 200, {"extensions": [{"alias": each} for each in cloud.extensions]}


def _list(cloud: Services, project: str, asked: Any, collection: str) -> Answer:
    key = collection.replace("-", "_")
    all_of = getattr(cloud, key, None)
    if not isinstance(all_of, dict):
        raise neutron(404, "HTTPNotFound", "The resource could not be found.")
    found = [each for each in all_of.values() if fits(each, asked.query) and _visible(cloud, project, key, each)]
    return 200, {key: [_told(cloud, key, each) for each in found]}


def _visible(cloud: Services, project: str, key: str, each: Tree) -> bool:
    which = {"networks": "id", "subnets": "network_id"}.get(key)
    network = cloud.networks.get(each[which]) if which else None
    return each["project_id"] == project or bool(network and network["router:external"])


def _address(number: int) -> str:
    return f"10.0.{number // 250 % 240}.{number % 250 + 1}"


def _told(cloud: Services, key: str, each: Tree) -> Tree:
    if key != "ports":
        return each
    trunk = next((one for one in cloud.trunks.values() if one["port_id"] == each["id"]), None)
    details = {"trunk_details": {"trunk_id": trunk["id"], "sub_ports": trunk["sub_ports"]}} if trunk else {}
    return {**each, **details}


def _create_port(cloud: Services, project: str, asked: Any) -> Answer:
    body = dict(asked.body["port"])
    network = cloud.networks.get(body["network_id"])
    if network is None:
        raise neutron(404, "NetworkNotFound", f"Network {body['network_id']} could not be found.")
    if cloud.full("ports", project, "port") is not None:
        raise neutron(409, "OverQuota", "Quota exceeded for resources: ['port'].")
    taken = {address["ip_address"] for port in cloud.ports.values() for address in port["fixed_ips"]}
    number = zlib.crc32(f"{body.get('name')}/{cloud.made['ports', str(body.get('name'))]}".encode())
    free = next(each for each in map(_address, itertools.count(number)) if each not in taken)
    asked_for = body.pop("fixed_ips", None) or [{"subnet_id": each} for each in network["subnets"][:1]]
    addresses = [
        {
            "subnet_id": each.get("subnet_id") or network["subnets"][0],
            "ip_address": each.get("ip_address") or free,
        }
        for each in asked_for
    ]
    for address in addresses:
        if address["ip_address"] in taken:
            text = f"IP address {address['ip_address']} already allocated in subnet {address['subnet_id']}"
            raise neutron(409, "IpAddressAlreadyAllocated", text)
    body.pop("tags", None)  # dropped, unless the cloud loads an extension driver for them
    state = {"description": "", "device_id": "", "device_owner": "", "security_groups": [], **body}
    which = cloud.add(
        "ports",
        **state,
        fixed_ips=addresses,
        tags=[],
        status="DOWN",
        project_id=project,
        created_at=cloud.time(),
    )
    return 201, {"port": cloud.ports[which]}


def _create_trunk(cloud: Services, project: str, asked: Any) -> Answer:
    body = dict(asked.body["trunk"])
    cloud.owned("ports", project, body["port_id"])
    if any(trunk["port_id"] == body["port_id"] for trunk in cloud.trunks.values()):
        raise neutron(409, "ParentPortInUse", f"Port {body['port_id']} is currently in use and is not eligible")
    state = {"description": "", "name": "", "sub_ports": [], **body}
    which = cloud.add("trunks", **state, tags=[], status="ACTIVE", project_id=project, created_at=cloud.time())
    return 201, {"trunk": cloud.trunks[which]}


def _change(cloud: Services, project: str, asked: Any, collection: str, which: str) -> Answer:
    resource = cloud.owned(collection, project, which)
    resource.update(asked.body[SINGULAR[collection]])
    return 200, {SINGULAR[collection]: resource}


def _tag(cloud: Services, project: str, asked: Any, collection: str, which: str) -> Answer:
    cloud.owned(collection, project, which)["tags"] = list(asked.body["tags"])
    return 200, asked.body


def _remove_subports(cloud: Services, project: str, asked: Any, which: str) -> Answer:
    trunk = cloud.owned("trunks", project, which)
    leaving = {each["port_id"] for each in asked.body["sub_ports"]}
    trunk["sub_ports"] = [each for each in trunk["sub_ports"] if each["port_id"] not in leaving]
    return 200, {"sub_ports": trunk["sub_ports"]}


def _delete_port(cloud: Services, project: str, asked: Any, which: str) -> Answer:
    cloud.owned("ports", project, which)
    if any(trunk["port_id"] == which for trunk in cloud.trunks.values()):
        raise neutron(409, "PortInUseAsTrunkParent", f"Port {which} is currently a parent port for trunk")
    del cloud.ports[which]
    return 204, None


def _delete_trunk(cloud: Services, project: str, asked: Any, which: str) -> Answer:
    trunk = cloud.owned("trunks", project, which)
    if cloud.ports[trunk["port_id"]]["device_id"]:
        raise neutron(409, "TrunkInUse", f"Trunk {which} is currently in use.")
    del cloud.trunks[which]
    return 204, None


def _quotas(cloud: Services, project: str, asked: Any, which: str) -> Answer:
    rows = {"port": "ports", "trunk": "trunks"}
    return 200, {
        "quota": {
            name: {"limit": cloud.limit(which, name), "used": cloud.count(kind, which), "reserved": 0}
            for name, kind in rows.items()
        }
    }


ROUTES: Final[Routes] = (
    ("GET", "/v2.0/extensions", _list_extensions),
    ("GET", "/v2.0/quotas/([^/]+)/details.json", _quotas),
    ("GET", "/v2.0/([a-z-]+)", _list),
    ("POST", "/v2.0/ports", _create_port),
    ("POST", "/v2.0/trunks", _create_trunk),
    ("PUT", "/v2.0/(ports|trunks)/([^/]+)", _change),
    ("PUT", "/v2.0/(ports|trunks)/([^/]+)/tags", _tag),
    ("PUT", "/v2.0/trunks/([^/]+)/remove_subports", _remove_subports),
    ("DELETE", "/v2.0/ports/([^/]+)", _delete_port),
    ("DELETE", "/v2.0/trunks/([^/]+)", _delete_trunk),
)
