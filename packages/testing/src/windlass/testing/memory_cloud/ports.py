"""Neutron of the model: ports with their addresses, and the trunks on them."""

import zlib
from ipaddress import ip_address, ip_network
from typing import Any, Final

from windlass.testing.memory_cloud import groups
from windlass.testing.memory_cloud.services import Answer, Routes, Services, Tree, neutron

_OF_DEVICES: Final = ("network:router_interface", "network:router_gateway", "network:floatingip")


def rendered(cloud: Services, port: Tree) -> Tree:
    trunk = next((one for one in cloud.trunks.values() if one["port_id"] == port["id"]), None)
    details = {"trunk_details": {"trunk_id": trunk["id"], "sub_ports": trunk["sub_ports"]}} if trunk else {}
    return {**port, **details}


def within(address: str, cidr: str) -> bool:
    return ip_address(address) in ip_network(cidr)


def make(cloud: Services, project: str, network: Tree, asked_for: Any = None, **body: Any) -> Tree:
    """A port. `asked_for`: its addresses, each with a `subnet_id`, an `ip_address` or both; one of the first subnet
    by default. Raises Refused."""
    name = str(body.get("name", ""))
    number = zlib.crc32(f"{name}/{cloud.made['ports', name]}".encode())
    asked_for = asked_for or [{"subnet_id": each} for each in network["subnets"][:1]]
    addresses = [_address(cloud, network, each, number) for each in asked_for]
    state = {
        "name": "",
        "description": "",
        "device_id": "",
        "device_owner": "",
        "security_groups": [],
        "allowed_address_pairs": [],
        "status": "DOWN",
    }
    fixed = {"network_id": network["id"], "fixed_ips": addresses, "tags": []}
    which = cloud.add("ports", **{**state, **body, **fixed, "project_id": project, "created_at": cloud.time()})
    return cloud.ports[which]


def _address(cloud: Services, network: Tree, asked: Tree, number: int) -> Tree:
    address, subnet = asked.get("ip_address"), asked.get("subnet_id")
    if subnet is not None and subnet not in network["subnets"]:
        text = f"Failed to create port on network {network['id']}, because fixed_ips included invalid subnet {subnet}."
        raise neutron(400, "InvalidInput", f"Invalid input for operation: {text}")
    if address is None:
        return {"subnet_id": subnet, "ip_address": cloud.address(str(subnet), number)}
    offered = [subnet] if subnet is not None else network["subnets"]
    home = next((each for each in offered if within(address, cloud.subnets[each]["cidr"])), None)
    if home is None:
        kind, where = ("Subnet", "the specified subnet") if subnet else ("Network", "any of the subnets on the network")
        raise neutron(400, f"InvalidIpFor{kind}", f"IP address {address} is not a valid IP for {where}.")
    if address in cloud.taken(network["id"]):
        text = f"IP address {address} already allocated in subnet {home}"
        raise neutron(409, "IpAddressAlreadyAllocated", text)
    return {"subnet_id": home, "ip_address": address}


def _create_port(cloud: Services, project: str, asked: Any) -> Answer:
    body = dict(asked.body["port"])
    network = cloud.networks.get(body["network_id"])
    if network is None:
        raise neutron(404, "NetworkNotFound", f"Network {body['network_id']} could not be found.")
    groups.check(cloud, project, body.get("security_groups") or ())
    if body.get("security_groups") and not body.get("port_security_enabled", network["port_security_enabled"]):
        text = "Port security must be enabled and port must have an IP address in order to use security groups."
        raise neutron(400, "PortSecurityAndIPRequiredForSecurityGroups", text)
    cloud.check_quota("ports", project)
    asked_for = body.pop("fixed_ips", None)
    body.pop("tags", None)  # dropped, unless the cloud loads an extension driver for them
    return 201, {"port": make(cloud, project, network, asked_for, **body)}


def _create_trunk(cloud: Services, project: str, asked: Any) -> Answer:
    body = dict(asked.body["trunk"])
    cloud.owned("ports", project, body["port_id"])
    if any(trunk["port_id"] == body["port_id"] for trunk in cloud.trunks.values()):
        raise neutron(409, "ParentPortInUse", f"Port {body['port_id']} is currently in use and is not eligible")
    state = {"description": "", "name": "", "sub_ports": [], **body}
    which = cloud.add("trunks", **state, tags=[], status="ACTIVE", project_id=project, created_at=cloud.time())
    return 201, {"trunk": cloud.trunks[which]}


def _remove_subports(cloud: Services, project: str, asked: Any, which: str) -> Answer:
    trunk = cloud.owned("trunks", project, which)
    leaving = {each["port_id"] for each in asked.body["sub_ports"]}
    trunk["sub_ports"] = [each for each in trunk["sub_ports"] if each["port_id"] not in leaving]
    return 200, {"sub_ports": trunk["sub_ports"]}


def _delete_port(cloud: Services, project: str, asked: Any, which: str) -> Answer:
    port = cloud.owned("ports", project, which)
    if any(trunk["port_id"] == which for trunk in cloud.trunks.values()):
        raise neutron(409, "PortInUseAsTrunkParent", f"Port {which} is currently a parent port for trunk")
    if port["device_owner"].startswith("compute:"):
        raise neutron(403, "PolicyNotAuthorized", "rule:delete_port is disallowed by policy")
    if port["device_owner"] in _OF_DEVICES:
        text = f"cannot be deleted directly via the port API: has device owner {port['device_owner']}."
        raise neutron(409, "ServicePortInUse", f"Port {which} {text}")
    cloud.remove_port(which)
    return 204, None


def _delete_trunk(cloud: Services, project: str, asked: Any, which: str) -> Answer:
    trunk = cloud.owned("trunks", project, which)
    if cloud.ports[trunk["port_id"]]["device_id"]:
        raise neutron(409, "TrunkInUse", f"Trunk {which} is currently in use.")
    del cloud.trunks[which]
    return 204, None


ROUTES: Final[Routes] = (
    ("POST", "/v2.0/ports", _create_port),
    ("POST", "/v2.0/trunks", _create_trunk),
    ("PUT", "/v2.0/trunks/([^/]+)/remove_subports", _remove_subports),
    ("DELETE", "/v2.0/ports/([^/]+)", _delete_port),
    ("DELETE", "/v2.0/trunks/([^/]+)", _delete_trunk),
)
