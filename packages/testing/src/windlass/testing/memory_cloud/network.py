"""Neutron of the model: networks and subnets, and what all of its resources have in common: lists, tags, quotas."""

from ipaddress import ip_network
from typing import Any, Final

from windlass.testing.memory_cloud import groups, ports, routing
from windlass.testing.memory_cloud.services import OF_NEUTRON, Answer, Routes, Services, Tree, fits, neutron

LARGEST_MTU: Final = 1442

_READ_ONLY: Final = {
    "networks": {"router:external"},
    "subnets": {"cidr", "network_id", "ip_version"},
    "security_groups": set[str](),
    "ports": {"network_id"},
    "trunks": {"port_id"},
}
"""The read-only fields of each kind; every other field of these kinds can be changed."""


def _list_extensions(cloud: Services, project: str, asked: Any) -> Answer:
    return 200, {"extensions": [{"alias": each} for each in cloud.extensions]}


def _list(cloud: Services, project: str, asked: Any, collection: str) -> Answer:
    key = _key(collection)
    found = [each for each in getattr(cloud, key).values() if _visible(cloud, project, key, each)]
    fields = [value for name, value in asked.query if name == "fields"]
    told = [_told(cloud, key, each) for each in found if fits(each, asked.query)]
    return 200, {key: [{name: each.get(name) for name in fields} if fields else each for each in told]}


def _get(cloud: Services, project: str, asked: Any, collection: str, which: str) -> Answer:
    key = _key(collection)
    found = getattr(cloud, key).get(which)
    if found is None or not _visible(cloud, project, key, found):
        found = cloud.owned(key, project, which)
    return 200, {OF_NEUTRON[key]: _told(cloud, key, found)}


def _key(collection: str) -> str:
    if (key := collection.replace("-", "_")) not in OF_NEUTRON:
        raise neutron(404, "HTTPNotFound", "The resource could not be found.")
    return key


def _visible(cloud: Services, project: str, key: str, each: Tree) -> bool:
    which = {"networks": "id", "subnets": "network_id"}.get(key)
    network = cloud.networks.get(each[which]) if which else None
    return each["project_id"] == project or bool(network and network["router:external"])


def _told(cloud: Services, key: str, each: Tree) -> Tree:
    match key:
        case "ports":
            return ports.rendered(cloud, each)
        case "security_groups":
            return groups.rendered(cloud, each)
    return each


def _create_network(cloud: Services, project: str, asked: Any) -> Answer:
    body = dict(asked.body["network"])
    if body.get("mtu", 0) > LARGEST_MTU:
        text = f"Invalid input for operation: Requested MTU is too big, maximum is {LARGEST_MTU}."
        raise neutron(400, "InvalidInput", text)
    cloud.check_quota("networks", project)
    which = cloud.add_network(project, body)
    return 201, {"network": cloud.networks[which]}


def _delete_network(cloud: Services, project: str, asked: Any, which: str) -> Answer:
    network = cloud.owned("networks", project, which)
    if used := [port["id"] for port in cloud.ports.values() if port["network_id"] == which]:
        text = f"Unable to complete operation on network {which}. There are one or more ports still in use on the "
        raise neutron(409, "NetworkInUse", f"{text}network, id for these ports is: {','.join(used)}.")
    for subnet in network["subnets"]:
        del cloud.subnets[subnet]
    del cloud.networks[which]
    return 204, None


def _create_subnet(cloud: Services, project: str, asked: Any) -> Answer:
    body = dict(asked.body["subnet"])
    if "ip_version" not in body:
        text = "Failed to parse request. Required attribute 'ip_version' not specified"
        raise neutron(400, "HTTPBadRequest", text)
    try:
        block = ip_network(body["cidr"], strict=False)
    except ValueError:
        raise _invalid(f"{body['cidr']} is not in a CIDR format.") from None
    if block.version != body["ip_version"]:
        raise _invalid(f"cidr '{body['cidr']}' does not match the ip_version '{body['ip_version']}'.")
    missing = neutron(404, "NetworkNotFound", f"Network {body['network_id']} could not be found.")
    network = cloud.owned("networks", project, body["network_id"], otherwise=missing)
    if any(block.overlaps(ip_network(cloud.subnets[each]["cidr"])) for each in network["subnets"]):
        raise _invalid(
            f"Requested subnet with cidr: {block} for network: {network['id']} overlaps with another subnet."
        )
    for pool in body.get("allocation_pools", ()):
        if not all(ports.within(pool[end], str(block)) for end in ("start", "end")):
            text = f"The allocation pool {pool['start']}-{pool['end']} spans beyond the subnet cidr {block}."
            raise neutron(400, "OutOfBoundsAllocationPool", text)
    cloud.check_quota("subnets", project)
    which = cloud.add_subnet(project, body)
    return 201, {"subnet": cloud.subnets[which]}


def _invalid(text: str) -> Exception:
    return neutron(400, "InvalidInput", f"Invalid input for operation: {text}")


def _delete_subnet(cloud: Services, project: str, asked: Any, which: str) -> Answer:
    subnet = cloud.owned("subnets", project, which)
    if any(address["subnet_id"] == which for port in cloud.ports.values() for address in port["fixed_ips"]):
        text = f"Unable to complete operation on subnet {which}: "
        raise neutron(409, "SubnetInUse", f"{text}One or more ports have an IP allocation from this subnet.")
    cloud.networks[subnet["network_id"]]["subnets"].remove(which)
    del cloud.subnets[which]
    return 204, None


def _change(cloud: Services, project: str, asked: Any, collection: str, which: str) -> Answer:
    key = _key(collection)
    resource = cloud.owned(key, project, which)
    body = asked.body[OF_NEUTRON[key]]
    for name in sorted(_READ_ONLY[key] & body.keys()):
        raise neutron(400, "HTTPBadRequest", f"Cannot update read-only attribute {name}")
    groups.check(cloud, project, body.get("security_groups", ()))
    resource.update(body)
    return 200, {OF_NEUTRON[key]: _told(cloud, key, resource)}


def _tag(cloud: Services, project: str, asked: Any, collection: str, which: str) -> Answer:
    cloud.owned(_key(collection), project, which)["tags"] = list(asked.body["tags"])
    return 200, asked.body


def _quotas(cloud: Services, project: str, asked: Any, which: str) -> Answer:
    return 200, {
        "quota": {
            name: {"limit": cloud.limit(which, name), "used": cloud.count(kind, which), "reserved": 0}
            for kind, name in OF_NEUTRON.items()
        }
    }


ROUTES: Final[Routes] = (
    ("GET", "/v2.0/extensions", _list_extensions),
    ("GET", "/v2.0/quotas/([^/]+)/details.json", _quotas),
    ("GET", "/v2.0/([a-z-]+)", _list),
    ("GET", "/v2.0/([a-z-]+)/([^/]+)", _get),
    ("POST", "/v2.0/networks", _create_network),
    ("POST", "/v2.0/subnets", _create_subnet),
    ("PUT", "/v2.0/(networks|subnets|ports|trunks|security-groups)/([^/]+)", _change),
    ("PUT", "/v2.0/([a-z-]+)/([^/]+)/tags", _tag),
    ("DELETE", "/v2.0/networks/([^/]+)", _delete_network),
    ("DELETE", "/v2.0/subnets/([^/]+)", _delete_subnet),
    *ports.ROUTES,
    *routing.ROUTES,
    *groups.ROUTES,
)
