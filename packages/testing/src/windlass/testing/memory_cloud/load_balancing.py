"""Octavia of the model: a load balancer is PENDING for a while after each write, and refuses others meanwhile.

What has `fail` in the name that it is given ends in ERROR. A load balancer in ERROR accepts its deletion only.
"""

from typing import Any, Final

from windlass.testing.memory_cloud import ports
from windlass.testing.memory_cloud.services import OF_OCTAVIA, Answer, Refused, Routes, Services, Tree, fits, octavia

PROVIDERS: Final = ("amphora", "octavia", "ovn")
_V2: Final = "/v2.0/lbaas"
_HIDDEN: Final = ("ready", "ends", "loadbalancer_id", "listener_id", "pool_id")
_READ_ONLY: Final = {
    "loadbalancers": {"vip_address", "vip_network_id", "vip_subnet_id", "provider", "flavor_id"},
    "listeners": {"protocol", "protocol_port", "loadbalancer_id"},
    "pools": {"protocol", "loadbalancer_id", "listener_id"},
    "members": {"address", "protocol_port", "subnet_id"},
    "healthmonitors": {"type", "pool_id"},
}


def _told(cloud: Services, kind: str, each: Tree) -> Tree:
    def ids(children: str, **parent: str) -> list[Tree]:
        (name, which), *_ = parent.items()
        return [{"id": one["id"]} for one in getattr(cloud, children).values() if one[name] == which]

    which, shown = each["id"], {name: value for name, value in each.items() if name not in _HIDDEN}
    match kind:
        case "loadbalancers":
            shown |= {child: ids(child, loadbalancer_id=which) for child in ("listeners", "pools")}
        case "listeners":
            pool = next(iter(ids("pools", listener_id=which)), {"id": None})
            shown |= {"loadbalancers": [{"id": each["loadbalancer_id"]}], "default_pool_id": pool["id"]}
        case "pools":
            monitor = next(iter(ids("healthmonitors", pool_id=which)), None)
            shown |= {"loadbalancers": [{"id": each["loadbalancer_id"]}], "members": ids("members", pool_id=which)}
            shown |= {"listeners": [{"id": each["listener_id"]}] if each["listener_id"] in cloud.listeners else []}
            shown |= {"healthmonitor_id": monitor["id"]} if monitor else {}
        case "healthmonitors":
            shown |= {"pools": [{"id": each["pool_id"]}]}
    return shown


def _list(cloud: Services, project: str, asked: Any, kind: str) -> Answer:
    own = [each for each in getattr(cloud, kind).values() if each["project_id"] == project]
    found = [_told(cloud, kind, each) for each in own if fits(each, asked.query)]
    return 200, {kind: found, f"{kind}_links": []}


def _get(cloud: Services, project: str, asked: Any, kind: str, which: str) -> Answer:
    return 200, {OF_OCTAVIA[kind]: _told(cloud, kind, cloud.owned(kind, project, which))}


def _list_members(cloud: Services, project: str, asked: Any, pool: str) -> Answer:
    cloud.owned("pools", project, pool)
    own = [each for each in cloud.members.values() if each["pool_id"] == pool and fits(each, asked.query)]
    return 200, {"members": [_told(cloud, "members", each) for each in own], "members_links": []}


def _create_balancer(cloud: Services, project: str, asked: Any) -> Answer:
    body = asked.body["loadbalancer"]
    if not (body.get("vip_network_id") or body.get("vip_subnet_id")):
        text = "VIP must contain one of: vip_port_id, vip_network_id, vip_subnet_id."
        raise octavia(400, f"Validation failure: {text}")
    subnet = body.get("vip_subnet_id")
    if subnet and subnet not in cloud.subnets:
        raise octavia(400, f"Subnet {subnet} not found.")
    which = cloud.subnets[subnet]["network_id"] if subnet else body["vip_network_id"]
    if which not in cloud.networks:
        raise octavia(400, f"Network {which} not found.")
    if body.get("provider", PROVIDERS[0]) not in PROVIDERS:
        raise octavia(400, f"Provider '{body['provider']}' is not enabled.")
    if body.get("flavor_id") and body["flavor_id"] not in cloud.balancer_flavors:
        raise octavia(400, "Validation failure: Invalid flavor_id.")
    if body.get("availability_zone") and body["availability_zone"] not in cloud.balancer_zones:
        raise octavia(400, "Validation failure: Invalid availability zone.")
    if not cloud.networks[which]["subnets"]:
        raise octavia(400, "Validation failure: Supplied network does not contain a subnet.")
    wanted = {"subnet_id": subnet or cloud.networks[which]["subnets"][0]}
    if body.get("vip_address"):
        wanted["ip_address"] = body["vip_address"]
    balancer = _add(cloud, project, "loadbalancers", {"provider": PROVIDERS[0], "flavor_id": None, **body}, None)
    name = f"octavia-lb-{balancer['id']}"
    device = {
        "name": name,
        "device_id": name.removeprefix("octavia-"),
        "device_owner": "Octavia",
        "admin_state_up": False,
    }
    try:
        cloud.check_quota("ports", project)
        port = ports.make(cloud, project, cloud.networks[which], [wanted], **device)
    except Refused as refusal:
        del cloud.loadbalancers[balancer["id"]]
        kind = {400: "BadRequestException", 409: "ConflictException"}[refusal.status]
        text = f"Error creating neutron port on network {which} due to {kind}('{kind}: {refusal.status}')."
        raise octavia(400 if refusal.status == 400 else 500, text) from None
    address = port["fixed_ips"][0]
    balancer.update(
        vip_port_id=port["id"],
        vip_network_id=which,
        vip_subnet_id=address["subnet_id"],
        vip_address=address["ip_address"],
        ready=cloud.now + cloud.balance,
    )
    return 201, {"loadbalancer": _told(cloud, "loadbalancers", balancer)}


def _create_listener(cloud: Services, project: str, asked: Any) -> Answer:
    body = asked.body["listener"]
    balancer = cloud.owned("loadbalancers", project, body["loadbalancer_id"])
    _mutable(balancer)
    for each in cloud.listeners.values():
        if all(each[name] == body[name] for name in ("loadbalancer_id", "protocol", "protocol_port")):
            text = f"already using protocol {body['protocol']} and protocol_port {body['protocol_port']}"
            raise octavia(409, f"Another Listener on this Load Balancer is {text}")
    state = {"allowed_cidrs": None, "timeout_client_data": 50000, "timeout_member_data": 50000}
    return _made(cloud, project, "listeners", {**state, **body}, balancer)


def _create_pool(cloud: Services, project: str, asked: Any) -> Answer:
    body = {"listener_id": None, **asked.body["pool"]}
    if body["listener_id"]:
        listener = cloud.owned("listeners", project, body["listener_id"])
        body["loadbalancer_id"] = listener["loadbalancer_id"]
    elif not body.get("loadbalancer_id"):
        raise octavia(400, "Validation failure: Must provide at least one of: loadbalancer_id, listener_id")
    balancer = cloud.owned("loadbalancers", project, body["loadbalancer_id"])
    if body["listener_id"] and any(each["listener_id"] == body["listener_id"] for each in cloud.pools.values()):
        raise octavia(409, "This listener already has a default pool")
    _mutable(balancer)
    return _made(cloud, project, "pools", body, balancer)


def _create_member(cloud: Services, project: str, asked: Any, which: str) -> Answer:
    pool, body = cloud.owned("pools", project, which), asked.body["member"]
    balancer = _mutable_pool(cloud, pool)
    for each in cloud.members.values():
        if each["pool_id"] == which and all(each[name] == body[name] for name in ("address", "protocol_port")):
            text = f"already using ip {body['address']} on protocol_port {body['protocol_port']}"
            raise octavia(409, f"Another member on this pool is {text}")
    return _made(cloud, project, "members", {"weight": 1, "subnet_id": None, **body, "pool_id": which}, balancer)


def _create_monitor(cloud: Services, project: str, asked: Any) -> Answer:
    body = {"max_retries_down": 3, **asked.body["healthmonitor"]}
    balancer = _mutable_pool(cloud, cloud.owned("pools", project, body["pool_id"]))
    if any(each["pool_id"] == body["pool_id"] for each in cloud.healthmonitors.values()):
        raise octavia(409, "This pool already has a health monitor")
    return _made(cloud, project, "healthmonitors", body, balancer)


def _made(cloud: Services, project: str, kind: str, body: Tree, balancer: Tree) -> Answer:
    made = _add(cloud, project, kind, body, balancer["id"])
    _lock(cloud, balancer)
    return 201, {OF_OCTAVIA[kind]: _told(cloud, kind, made)}


def _add(cloud: Services, project: str, kind: str, body: Tree, balancer: str | None) -> Tree:
    state = {"name": "", "description": "", "tags": [], "admin_state_up": True, **body, "project_id": project}
    state |= {"provisioning_status": "PENDING_CREATE", "operating_status": "OFFLINE", "ends": _end(body)}
    state |= {"created_at": cloud.time().removesuffix("Z"), "updated_at": None}  # Octavia names no zone
    made: Tree = getattr(cloud, kind)[cloud.add(kind, **state)]
    made["loadbalancer_id"] = balancer or made["id"]
    return made


def _end(body: Tree) -> str:
    return "ERROR" if "fail" in body.get("name", "") else "ACTIVE"


def _lock(cloud: Services, balancer: Tree) -> None:
    balancer.update(provisioning_status="PENDING_UPDATE", ends="ACTIVE", ready=cloud.now + cloud.balance)
    balancer["updated_at"] = cloud.time().removesuffix("Z")


def _mutable(balancer: Tree) -> None:
    if balancer["provisioning_status"] != "ACTIVE":
        raise octavia(409, f"Load Balancer {balancer['id']} is immutable and cannot be updated.")


def _mutable_pool(cloud: Services, pool: Tree) -> Tree:
    if pool["provisioning_status"] != "ACTIVE":
        raise octavia(409, f"Pool {pool['id']} is immutable and cannot be updated.")
    balancer = cloud.loadbalancers[pool["loadbalancer_id"]]
    _mutable(balancer)
    return balancer


def _own(cloud: Services, project: str, kind: str, which: str) -> tuple[Tree, Tree]:
    """A part of a load balancer, and that, if it can be changed. Raises Refused."""
    found = cloud.owned(kind, project, which)
    if "pool_id" in found:
        return found, _mutable_pool(cloud, cloud.pools[found["pool_id"]])
    balancer = cloud.loadbalancers[found["loadbalancer_id"]]
    _mutable(balancer)
    return found, balancer


def _change(cloud: Services, project: str, asked: Any, kind: str, which: str) -> Answer:
    name = OF_OCTAVIA[kind]
    body = asked.body[name]
    for field in sorted(_READ_ONLY[kind] & body.keys()):
        raise octavia(400, f"Unknown attribute for argument {name}_.{name}: {field}")
    if kind == "loadbalancers":
        part = balancer = cloud.owned(kind, project, which)
        _in_state(balancer, "ACTIVE")
    else:
        part, balancer = _own(cloud, project, kind, which)
    _lock(cloud, balancer)
    part.update({**body, "provisioning_status": "PENDING_UPDATE", "ends": _end(body)})
    return 200, {name: _told(cloud, kind, part)}


def _in_state(balancer: Tree, *states: str) -> None:
    if (state := balancer["provisioning_status"]) not in states:
        raise octavia(409, f"Invalid state {state} of loadbalancer resource {balancer['id']}")


def _delete_balancer(cloud: Services, project: str, asked: Any, which: str) -> Answer:
    balancer = cloud.owned("loadbalancers", project, which)
    cascade = dict(asked.query).get("cascade") == "true"
    parts = [
        each
        for kind in OF_OCTAVIA
        for each in getattr(cloud, kind).values()
        if each["loadbalancer_id"] == which and each is not balancer
    ]
    if parts and not cascade:
        text = f"Cannot delete Load Balancer {which} - it has children"
        raise octavia(400, f"Validation failure: {text}")
    _in_state(balancer, "ACTIVE", "ERROR")
    _lock(cloud, balancer)
    for each in [balancer, *parts]:
        each["provisioning_status"] = "PENDING_DELETE"
    return 204, None


def _delete(cloud: Services, project: str, asked: Any, kind: str, which: str) -> Answer:
    part, balancer = _own(cloud, project, kind, which)
    _lock(cloud, balancer)
    part["provisioning_status"] = "PENDING_DELETE"
    if kind == "pools":
        for each in [*cloud.members.values(), *cloud.healthmonitors.values()]:
            if each["pool_id"] == which:
                each["provisioning_status"] = "PENDING_DELETE"
    return 204, None


def _status(cloud: Services, project: str, asked: Any, which: str) -> Answer:
    balancer = cloud.owned("loadbalancers", project, which)

    def rendered(each: Tree, *names: str) -> Tree:
        return {name: each[name] for name in ("id", "name", "provisioning_status", "operating_status", *names)}

    def pool(each: Tree) -> Tree:
        members = [one for one in cloud.members.values() if one["pool_id"] == each["id"]]
        monitors = [rendered(one, "type") for one in cloud.healthmonitors.values() if one["pool_id"] == each["id"]]
        shown = {**rendered(each), "members": [rendered(one, "address", "protocol_port") for one in members]}
        return {**shown, **({"health_monitor": monitors[0]} if monitors else {})}

    def listener(each: Tree) -> Tree:
        return {
            **rendered(each),
            "pools": [pool(one) for one in cloud.pools.values() if one["listener_id"] == each["id"]],
        }

    listeners = [listener(each) for each in cloud.listeners.values() if each["loadbalancer_id"] == which]
    return 200, {"statuses": {"loadbalancer": {**rendered(balancer), "listeners": listeners}}}


def _versions(cloud: Services, project: str, asked: Any) -> Answer:
    states = {"v2.0": "SUPPORTED", "v2.5": "SUPPORTED", "v2.12": "SUPPORTED", "v2.30": "CURRENT"}
    return 200, {"versions": [{"id": version, "status": status} for version, status in states.items()]}


def _list_providers(cloud: Services, project: str, asked: Any) -> Answer:
    return 200, {"providers": [{"name": each, "description": ""} for each in PROVIDERS]}


def _list_flavors(cloud: Services, project: str, asked: Any) -> Answer:
    found = [each for each in cloud.balancer_flavors.values() if fits(each, asked.query)]
    return 200, {"flavors": found, "flavors_links": []}


_MEMBERS: Final = f"{_V2}/pools/([^/]+)/members"
_PART: Final = f"{_V2}/(?:pools/[^/]+/)?(listeners|pools|healthmonitors|members)/([^/]+)"
_BALANCER: Final = f"{_V2}/(loadbalancers)/([^/]+)"
ROUTES: Final[Routes] = (
    ("GET", "/", _versions),
    ("GET", f"{_V2}/providers", _list_providers),
    ("GET", f"{_V2}/flavors", _list_flavors),
    ("GET", f"{_V2}/(loadbalancers|listeners|pools|healthmonitors)", _list),
    ("GET", _MEMBERS, _list_members),
    ("GET", _BALANCER, _get),
    ("GET", _PART, _get),
    ("GET", f"{_V2}/loadbalancers/([^/]+)/status", _status),
    ("POST", f"{_V2}/loadbalancers", _create_balancer),
    ("POST", f"{_V2}/listeners", _create_listener),
    ("POST", f"{_V2}/pools", _create_pool),
    ("POST", f"{_V2}/healthmonitors", _create_monitor),
    ("POST", _MEMBERS, _create_member),
    ("PUT", _BALANCER, _change),
    ("PUT", _PART, _change),
    ("DELETE", f"{_V2}/loadbalancers/([^/]+)", _delete_balancer),
    ("DELETE", _PART, _delete),
)
