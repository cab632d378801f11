"""Neutron of the model: routers with gateways and interfaces, and the floating IPs that they make reachable.

Gateways and floating IPs have ports on the external network, as in Neutron; no project owns these, so none sees them.
"""

from typing import Any, Final

from windlass.testing.memory_cloud import ports
from windlass.testing.memory_cloud.services import FREE, Answer, Refused, Routes, Services, Tree, neutron

_NOBODY: Final = ""


def _create_router(cloud: Services, project: str, asked: Any) -> Answer:
    body = dict(asked.body["router"])
    gateway = body.pop("external_gateway_info", None)
    network = _external(cloud, gateway, "create_router") if gateway else None
    cloud.check_quota("routers", project)
    state = {"name": "", "description": "", "tags": [], "status": "ACTIVE", "external_gateway_info": None, **body}
    router = cloud.routers[cloud.add("routers", **state, project_id=project, created_at=cloud.time())]
    if network is not None:
        try:
            _open(cloud, router, network, gateway)
        except Refused:
            del cloud.routers[router["id"]]
            raise
    return 201, {"router": router}


def _change_router(cloud: Services, project: str, asked: Any, which: str) -> Answer:
    router = cloud.owned("routers", project, which)
    body = dict(asked.body["router"])
    if "external_gateway_info" in body:
        gateway = body.pop("external_gateway_info")
        network = _external(cloud, gateway, "update_router") if gateway else None
        old = router["external_gateway_info"]
        if old is not None and any(each["router_id"] == which for each in cloud.floatingips.values()):
            text = f"since a gateway to external network {old['network_id']} is required by one or more floating IPs."
            text = f"Gateway cannot be updated for router {which}, {text}"
            raise neutron(409, "RouterExternalGatewayInUseByFloatingIp", text)
        _close(cloud, router)
        if network is not None:
            _open(cloud, router, network, gateway)
    router.update(body)
    return 200, {"router": router}


def _external(cloud: Services, gateway: Tree, action: str) -> Tree:
    which = gateway["network_id"]
    if gateway.get("external_fixed_ips") and not cloud.may_choose_addresses:
        raise _forbidden(f"rule:{action}:external_gateway_info:external_fixed_ips")
    if which not in cloud.networks:
        raise neutron(404, "NetworkNotFound", f"Network {which} could not be found.")
    if not cloud.networks[which]["router:external"]:
        raise neutron(400, "BadRequest", f"Bad router request: Network {which} is not an external network.")
    return cloud.networks[which]


def _forbidden(rule: str) -> Refused:
    return neutron(403, "PolicyNotAuthorized", f"({rule}) is disallowed by policy")


def _open(cloud: Services, router: Tree, network: Tree, gateway: Tree) -> None:
    device = {"device_id": router["id"], "device_owner": "network:router_gateway", "name": f"gateway-{router['id']}"}
    port = ports.make(cloud, _NOBODY, network, gateway.get("external_fixed_ips"), **device)
    router["external_gateway_info"] = {
        "network_id": network["id"],
        "external_fixed_ips": port["fixed_ips"],
        "enable_snat": gateway.get("enable_snat", True),
    }


def _close(cloud: Services, router: Tree) -> None:
    for port in _ports(cloud, router["id"], "network:router_gateway"):
        cloud.remove_port(port["id"])
    router["external_gateway_info"] = None


def _ports(cloud: Services, router: str, owner: str) -> list[Tree]:
    return [each for each in cloud.ports.values() if (each["device_id"], each["device_owner"]) == (router, owner)]


def _delete_router(cloud: Services, project: str, asked: Any, which: str) -> Answer:
    cloud.owned("routers", project, which)
    if used := [port["id"] for port in _ports(cloud, which, "network:router_interface")]:
        raise neutron(409, "RouterInUse", f"Router {which} has ports still attached: {', '.join(used)}")
    cloud.remove_ports(which)
    del cloud.routers[which]
    return 204, None


def _interfaces(cloud: Services, router: str, subnet: str) -> list[Tree]:
    found = _ports(cloud, router, "network:router_interface")
    return [port for port in found if port["fixed_ips"][0]["subnet_id"] == subnet]


def _add_interface(cloud: Services, project: str, asked: Any, which: str) -> Answer:
    cloud.owned("routers", project, which)
    subnet = cloud.owned("subnets", project, asked.body["subnet_id"])
    if _interfaces(cloud, which, subnet["id"]):
        text = f"Bad router request: Router already has a port on subnet {subnet['id']}."
        raise neutron(400, "BadRequest", text)
    cloud.check_quota("ports", project)
    addresses = [{"subnet_id": subnet["id"], "ip_address": subnet["gateway_ip"]}]
    device = {"device_id": which, "device_owner": "network:router_interface", "status": "ACTIVE"}
    port = ports.make(cloud, project, cloud.networks[subnet["network_id"]], addresses, **device)
    return 200, _interface(project, which, port)


def _remove_interface(cloud: Services, project: str, asked: Any, which: str) -> Answer:
    cloud.owned("routers", project, which)
    subnet = cloud.owned("subnets", project, asked.body["subnet_id"])["id"]
    found = _interfaces(cloud, which, subnet)
    if not found:
        text = f"Router {which} has no interface on subnet {subnet}"
        raise neutron(404, "RouterInterfaceNotFoundForSubnet", text)
    cidr = cloud.subnets[subnet]["cidr"]
    routed = [each for each in cloud.floatingips.values() if each["router_id"] == which]
    if any(ports.within(each["fixed_ip_address"], cidr) for each in routed):
        text = f"Router interface for subnet {subnet} on router {which} cannot be deleted, "
        text += "as it is required by one or more floating IPs."
        raise neutron(409, "RouterInterfaceInUseByFloatingIP", text)
    cloud.remove_port(found[0]["id"])
    return 200, _interface(project, which, found[0])


def _interface(project: str, router: str, port: Tree) -> Tree:
    subnet = port["fixed_ips"][0]["subnet_id"]
    place = {"port_id": port["id"], "network_id": port["network_id"], "subnet_id": subnet, "subnet_ids": [subnet]}
    return {"id": router, "project_id": project, **place}


def _create_address(cloud: Services, project: str, asked: Any) -> Answer:
    body = dict(asked.body["floatingip"])
    which, wanted = body["floating_network_id"], body.pop("floating_ip_address", None)
    if wanted is not None and not cloud.may_choose_addresses:
        raise _forbidden("rule:create_floatingip and rule:create_floatingip:floating_ip_address")
    network = cloud.networks.get(which)
    if network is None:
        raise neutron(404, "NetworkNotFound", f"Network {which} could not be found.")
    if not network["router:external"]:
        text = f"Bad floatingip request: Network {which} is not a valid external network."
        raise neutron(400, "BadRequest", text)
    cloud.check_quota("floatingips", project)
    use = _use(cloud, project, body.pop("port_id", None), network_id=which)
    owner = {"device_owner": "network:floatingip", "name": f"address-{cloud.made['floatingips', '']}"}
    port = ports.make(cloud, _NOBODY, network, [{"ip_address": wanted}] if wanted else None, **owner)
    state = {"description": "", "tags": [], **body, **use, "project_id": project, "created_at": cloud.time()}
    made = cloud.add("floatingips", **state, floating_ip_address=port["fixed_ips"][0]["ip_address"])
    port["device_id"] = made
    return 201, {"floatingip": {**cloud.floatingips[made], "status": "DOWN"}}


def _change_address(cloud: Services, project: str, asked: Any, which: str) -> Answer:
    address = cloud.owned("floatingips", project, which)
    body = dict(asked.body["floatingip"])
    before = address["status"]
    if "port_id" in body:
        port = body.pop("port_id")
        body |= _use(cloud, project, port, network_id=address["floating_network_id"], but=which)
    address.update(body)
    return 200, {"floatingip": {**address, "status": before}}  # Neutron answers before the router has done its part


def _use(cloud: Services, project: str, which: str | None, *, network_id: str, but: str = "") -> Tree:
    """What a floating IP says of the port that it is for. Raises Refused."""
    if which is None:
        return FREE
    port = cloud.owned("ports", project, which)
    fixed = next((each for each in port["fixed_ips"] if ":" not in each["ip_address"]), None)
    if fixed is None:
        text = f"Bad floatingip request: Cannot add floating IP to port {which} that has no fixed IPv4 addresses."
        raise neutron(400, "BadRequest", text)
    if any(each["port_id"] == which and each["id"] != but for each in cloud.floatingips.values()):
        text = f"Cannot associate floating IP with port {which} using fixed IP {fixed['ip_address']}, as that fixed IP "
        text += f"already has a floating IP on external network {network_id}."
        raise neutron(409, "FloatingIPPortAlreadyAssociated", text)
    for router in cloud.routers.values():
        gateway = router["external_gateway_info"] or {}
        if gateway.get("network_id") == network_id and _interfaces(cloud, router["id"], fixed["subnet_id"]):
            place = {"port_id": which, "fixed_ip_address": fixed["ip_address"], "router_id": router["id"]}
            return {**place, "status": "ACTIVE"}
    text = f"External network {network_id} is not reachable from subnet {fixed['subnet_id']}.  Therefore, cannot "
    raise neutron(404, "ExternalGatewayForFloatingIPNotFound", f"{text}associate Port {which} with a Floating IP.")


def _delete_address(cloud: Services, project: str, asked: Any, which: str) -> Answer:
    cloud.owned("floatingips", project, which)
    del cloud.floatingips[which]
    cloud.remove_ports(which)
    return 204, None


ROUTES: Final[Routes] = (
    ("POST", "/v2.0/routers", _create_router),
    ("POST", "/v2.0/floatingips", _create_address),
    ("PUT", "/v2.0/routers/([^/]+)", _change_router),
    ("PUT", "/v2.0/routers/([^/]+)/add_router_interface", _add_interface),
    ("PUT", "/v2.0/routers/([^/]+)/remove_router_interface", _remove_interface),
    ("PUT", "/v2.0/floatingips/([^/]+)", _change_address),
    ("DELETE", "/v2.0/routers/([^/]+)", _delete_router),
    ("DELETE", "/v2.0/floatingips/([^/]+)", _delete_address),
)
