"""What clouds do with the networks and load balancers of clusters: cases as those of `tests.cloud_cases`.

A case returns facts, and what its requests were told, in order: statuses, with the types or texts of refusals.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from tests.cloud_cases import Site
from windlass.openstack.cloud.wire import Method, Service

NOWHERE: Final = "00000000-0000-4000-8000-000000000000"
BALANCERS: Final = "/v2.0/lbaas"
_ID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")


class Script:
    """Requests to a site, and what is said to them."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.said: list[str] = []

    @property
    def told(self) -> str:
        return ", ".join(self.said)

    async def ask(self, method: Method, path: str, body: Any = None, **query: str) -> Any:
        """Ask Neutron or Octavia; note the status, and return what is in the envelope of the answer."""
        service: Service = "load-balancer" if path.startswith(BALANCERS) else "network"
        query_of = tuple((name.replace("__", ":"), value) for name, value in query.items())
        status, answer = await self.site.ask(service, method, path, body, query_of)
        refusal = answer if status >= 400 else {}
        text = (
            refusal.get("NeutronError", {}).get("type") or refusal.get("faultstring") or refusal.get("description", "")
        )
        self.said.append(f"{status} {_ID.sub('ID', text)}".strip())
        return next(iter(answer.values())) if answer else answer

    async def network(self, method: Method, path: str, **body: Any) -> Any:
        """Ask Neutron to make or change something; the envelope follows from the path."""
        name = path.split("/")[1].removesuffix("s").replace("-", "_")
        return await self.ask(method, f"/v2.0{path}", {name: body} if body else None)

    async def balance(self, method: Method, path: str, **body: Any) -> Any:
        """Ask Octavia the same, and wait for the load balancers to settle."""
        name = re.findall("[a-z]+", _ID.sub("", path))[-1].removesuffix("s")
        answer = await self.ask(method, f"{BALANCERS}{path}", {name: body} if body else None)
        await self.site.until(self.balancers, lambda found: not any("PENDING" in each for each in found.values()))
        return answer

    async def balancers(self) -> dict[str, str]:
        _, answer = await self.site.ask("load-balancer", "GET", f"{BALANCERS}/loadbalancers")
        return {each["id"]: each["provisioning_status"] for each in answer["loadbalancers"]}

    async def listed(self, path: str, **query: str) -> Any:
        found = await self.ask("GET", path, **query)
        self.said.pop()
        return found

    async def external(self) -> str:
        (found,) = await self.listed("/v2.0/networks", router__external="true")
        return str(found["id"])


async def a_network_and_its_subnet(site: Site) -> Any:
    script = Script(site)
    network = await script.network(
        "POST", "/networks", name="n", mtu=1400, port_security_enabled=False, description="d"
    )
    facts = [network[name] for name in ("mtu", "port_security_enabled", "description", "subnets", "router:external")]
    place = {"network_id": network["id"], "ip_version": 4}
    pools = [{"start": "10.9.1.10", "end": "10.9.1.11"}]
    subnet = await script.network("POST", "/subnets", cidr="10.9.0.0/24", dns_nameservers=["1.1.1.1"], **place)
    facts += [subnet[name] for name in ("gateway_ip", "allocation_pools", "dns_nameservers", "enable_dhcp", "cidr")]
    small = await script.network("POST", "/subnets", cidr="10.9.1.0/24", allocation_pools=pools, **place)
    changed = await script.network("PUT", f"/subnets/{subnet['id']}", dns_nameservers=["8.8.8.8"])
    facts += [changed["dns_nameservers"], small["allocation_pools"] == pools]
    await script.network("PUT", f"/subnets/{subnet['id']}", cidr="10.10.0.0/24")
    await script.ask("PUT", f"/v2.0/networks/{network['id']}/tags", {"tags": ["t"]})
    (shown,) = await script.listed("/v2.0/networks", id=network["id"], tags="t", fields="subnets")
    facts += [list(shown), sorted(shown["subnets"]) == sorted([subnet["id"], small["id"]])]
    for number in range(3):
        port = await script.network(
            "POST", "/ports", name=f"p{number}", network_id=network["id"], fixed_ips=[{"subnet_id": small["id"]}]
        )
    for address in (
        {"ip_address": "1.2.3.4"},
        {"subnet_id": small["id"], "ip_address": "1.2.3.4"},
        {"subnet_id": site.subnet},
    ):
        await script.network("POST", "/ports", name="q", network_id=network["id"], fixed_ips=[address])
    await script.network("DELETE", f"/subnets/{small['id']}")
    await script.network("DELETE", f"/networks/{network['id']}")
    for port in await script.listed("/v2.0/ports", network_id=network["id"]):
        await script.network("DELETE", f"/ports/{port['id']}")
    await script.network("DELETE", f"/networks/{network['id']}")
    await script.network("DELETE", f"/networks/{network['id']}")
    await script.network("GET", f"/subnets/{subnet['id']}")
    return facts, script.told


async def networks_and_subnets_that_are_refused(site: Site) -> Any:
    script = Script(site)
    await script.network("POST", "/networks", name="n", mtu=99999)
    network = await script.network("POST", "/networks", name="n")
    bodies: list[dict[str, Any]] = [
        {"cidr": "10.9.0.0/16"},
        {"cidr": "10.9.8.0/24"},
        {"cidr": "nonsense"},
        {"cidr": "10.10.0.0/24", "ip_version": 6},
        {"cidr": "10.10.0.0/24", "network_id": NOWHERE},
        {"cidr": "10.10.0.0/24", "allocation_pools": [{"start": "10.11.0.1", "end": "10.11.0.9"}]},
        {"cidr": "fd00::/64", "ip_version": 6},
    ]
    for body in bodies:
        await script.network("POST", "/subnets", **{"network_id": network["id"], "ip_version": 4, **body})
    await script.network("POST", "/subnets", network_id=network["id"], cidr="10.12.0.0/24")
    await script.network("DELETE", f"/networks/{network['id']}")
    return script.told


async def a_router_and_its_interface(site: Site) -> Any:
    script = Script(site)
    gateway = {"network_id": await script.external()}
    router = await script.network("POST", "/routers", name="r", description="d", external_gateway_info=gateway)
    facts = [router["external_gateway_info"]["external_fixed_ips"][0]["ip_address"].startswith("203.0.113.")]
    other = await script.network("POST", "/routers", name="s")
    facts += [other["external_gateway_info"]]
    for bad in (NOWHERE, site.network):
        await script.network("POST", "/routers", name="t", external_gateway_info={"network_id": bad})
    fixed = {**gateway, "external_fixed_ips": [{"ip_address": "203.0.113.77"}]}
    await script.network("POST", "/routers", name="t", external_gateway_info=fixed)
    changed = await script.network("PUT", f"/routers/{other['id']}", external_gateway_info=gateway)
    facts += [changed["external_gateway_info"]["network_id"] == gateway["network_id"]]
    changed = await script.network("PUT", f"/routers/{other['id']}", external_gateway_info={})
    facts += [changed["external_gateway_info"]]

    async def interface(verb: str, which: str, subnet: str) -> None:
        await script.ask("PUT", f"/v2.0/routers/{which}/{verb}_router_interface", {"subnet_id": subnet})

    await interface("add", router["id"], site.subnet)
    await interface("add", router["id"], site.subnet)
    await interface("add", other["id"], site.subnet)
    await interface("add", router["id"], NOWHERE)
    await interface("add", NOWHERE, site.subnet)
    (port,) = await script.listed("/v2.0/ports", device_id=router["id"])
    facts += [port["device_owner"], port["fixed_ips"][0]["ip_address"][-4:], port["status"]]
    await script.network("DELETE", f"/ports/{port['id']}")
    await script.network("DELETE", f"/routers/{router['id']}")
    await interface("remove", other["id"], site.subnet)
    await interface("remove", router["id"], site.subnet)
    await interface("remove", router["id"], site.subnet)
    facts += [await script.listed("/v2.0/ports", device_id=router["id"])]
    for which in (router, other, router):
        await script.network("DELETE", f"/routers/{which['id']}")
    return facts, script.told


async def a_floating_ip(site: Site) -> Any:
    script = Script(site)
    external = await script.external()
    made = await script.network("POST", "/floatingips", floating_network_id=external, description="d")
    facts = [made[name] for name in ("status", "port_id", "fixed_ip_address", "description", "router_id")]
    other = await script.network("POST", "/floatingips", floating_network_id=external)
    for body in ({"floating_network_id": site.network}, {"floating_network_id": NOWHERE}):
        await script.network("POST", "/floatingips", **body)
    await script.network("POST", "/floatingips", floating_network_id=external, floating_ip_address="203.0.113.99")
    _, port = await site.port()
    path = f"/floatingips/{made['id']}"
    await script.network("PUT", path, port_id=port["id"])
    router = await script.network("POST", "/routers", name="r", external_gateway_info={"network_id": external})
    interface = {"subnet_id": site.subnet}
    await script.ask("PUT", f"/v2.0/routers/{router['id']}/add_router_interface", interface)
    used = await script.network("PUT", path, port_id=port["id"])
    same = used["fixed_ip_address"] == port["fixed_ips"][0]["ip_address"]
    facts += [used["status"], used["router_id"] == router["id"], same]
    facts += [each["status"] for each in await script.listed("/v2.0/floatingips", port_id=port["id"])]
    await script.network("PUT", path, port_id=port["id"])
    await script.network("PUT", f"/floatingips/{other['id']}", port_id=port["id"])
    await script.network("PUT", f"/floatingips/{other['id']}", port_id=NOWHERE)
    await script.network("POST", "/floatingips", floating_network_id=external, port_id=port["id"])
    await script.ask("PUT", f"/v2.0/routers/{router['id']}/remove_router_interface", interface)
    await script.network("PUT", f"/routers/{router['id']}", external_gateway_info=None)
    freed = await script.network("PUT", path, port_id=None)
    facts += [freed["status"], freed["port_id"], freed["fixed_ip_address"]]
    facts += [each["status"] for each in await script.listed("/v2.0/floatingips", id=made["id"])]
    await script.network("PUT", path, port_id=port["id"])
    await script.network("DELETE", f"/ports/{port['id']}")
    (left,) = await script.listed("/v2.0/floatingips", id=made["id"])
    facts += [left["port_id"], left["router_id"], left["status"]]
    for address in (made, other, made):
        await script.network("DELETE", f"/floatingips/{address['id']}")
    await script.ask("PUT", f"/v2.0/routers/{router['id']}/remove_router_interface", interface)
    await script.network("DELETE", f"/routers/{router['id']}")
    return facts, script.told


async def a_server_shows_its_floating_ip(site: Site) -> Any:
    script = Script(site)
    external = await script.external()
    router = await script.network("POST", "/routers", name="r", external_gateway_info={"network_id": external})
    await script.ask("PUT", f"/v2.0/routers/{router['id']}/add_router_interface", {"subnet_id": site.subnet})
    _, port = await site.port()
    address = await script.network("POST", "/floatingips", floating_network_id=external, port_id=port["id"])
    _, server = await site.boot(port["id"])

    async def shown() -> list[tuple[str, bool]]:
        addresses = [each for all_of in (await site.server(server["id"]))["addresses"].values() for each in all_of]
        kinds = [(each["OS-EXT-IPS:type"], each["addr"] == address["floating_ip_address"]) for each in addresses]
        return sorted(kinds)

    both = await site.until(shown, lambda found: len(found) == 2)
    await script.network("DELETE", f"/ports/{port['id']}")
    held = script.said[-1]
    await site.gone(server["id"])
    await script.network("DELETE", f"/ports/{port['id']}")
    await script.network("DELETE", f"/floatingips/{address['id']}")
    await script.ask("PUT", f"/v2.0/routers/{router['id']}/remove_router_interface", {"subnet_id": site.subnet})
    await script.network("DELETE", f"/routers/{router['id']}")
    return both, held


async def security_groups_and_rules(site: Site) -> Any:
    script = Script(site)
    group = await script.network("POST", "/security-groups", name="g", description="d")
    other = await script.network("POST", "/security-groups", name="h")
    own = [(each["direction"], each["ethertype"], each["protocol"]) for each in group["security_group_rules"]]
    facts: list[Any] = [sorted(own), group["security_group_rules"][0]["remote_ip_prefix"]]
    changed = await script.network("PUT", f"/security-groups/{group['id']}", description="e", name="i")
    facts += [changed["description"], changed["name"]]
    ssh = {"security_group_id": group["id"], "direction": "ingress", "protocol": "tcp"}
    ssh |= {"ethertype": "IPv4", "port_range_min": 22, "port_range_max": 22}
    rule = await script.network("POST", "/security-group-rules", **ssh)
    one_by_one: list[dict[str, Any]] = [
        {"protocol": "6", "description": "other"},
        {"remote_ip_prefix": "0.0.0.0/0"},
        {"remote_ip_prefix": "10.0.0.5/24"},
        {"remote_ip_prefix": "10.0.0.0/24"},
        {"remote_group_id": other["id"]},
        {"remote_group_id": NOWHERE},
        {"remote_group_id": other["id"], "remote_ip_prefix": "10.0.0.0/8"},
        {"port_range_min": 30},
        {"ethertype": "IPv6", "remote_ip_prefix": "10.0.0.0/8"},
        {"security_group_id": NOWHERE},
    ]
    for body in one_by_one:
        await script.network("POST", "/security-group-rules", **{**ssh, **body})
    bulks: list[list[dict[str, Any]]] = [
        [{"port_range_min": 21}, {}],
        [{"protocol": "udp"}, {"protocol": "17"}],
        [{"protocol": "udp"}, {"protocol": "udp", "port_range_min": 1}],
        [{"port_range_min": 1}, {"security_group_id": other["id"]}],
        [],
    ]
    path = "/v2.0/security-group-rules"
    for bulk in bulks:
        await script.ask("POST", path, {"security_group_rules": [{**ssh, **each} for each in bulk]})
    facts += [len(await script.listed(path, security_group_id=group["id"], direction="ingress"))]
    _, port = await site.port(security_groups=[other["id"]])
    await script.network("POST", "/ports", network_id=site.network, name="q", security_groups=[NOWHERE])
    await script.network("PUT", f"/ports/{port['id']}", security_groups=[NOWHERE])
    open_network = await script.network("POST", "/networks", name="open", port_security_enabled=False)
    await script.network("POST", "/ports", network_id=open_network["id"], security_groups=[other["id"]])
    await script.network("DELETE", f"/networks/{open_network['id']}")
    await script.network("DELETE", f"/security-groups/{other['id']}")
    await script.network("PUT", f"/ports/{port['id']}", security_groups=[])
    await script.network("DELETE", f"/security-groups/{other['id']}")
    await script.network("DELETE", f"/security-group-rules/{rule['id']}")
    await script.network("DELETE", f"/security-group-rules/{rule['id']}")
    (shown,) = await script.listed("/v2.0/security-groups", id=group["id"])
    facts += [len(shown["security_group_rules"])]
    await script.network("DELETE", f"/security-groups/{group['id']}")
    await script.network("DELETE", f"/security-groups/{group['id']}")
    await script.network("DELETE", f"/ports/{port['id']}")
    return facts, script.told


async def quotas_of_a_cluster(site: Site) -> Any:
    script = Script(site)
    external = await script.external()
    group = await script.network("POST", "/security-groups", name="g")
    rule = {"security_group_id": group["id"], "direction": "ingress", "protocol": "tcp", "port_range_max": 90}
    makes: list[tuple[str, int, str, Callable[[int], dict[str, Any]]]] = [
        ("network", 2, "/networks", lambda _: {"name": "n"}),
        ("subnet", 2, "/subnets", lambda n: {"network_id": site.network, "ip_version": 4, "cidr": f"10.99.{n}.0/24"}),
        ("router", 1, "/routers", lambda _: {"name": "r"}),
        ("security_group", 3, "/security-groups", lambda _: {"name": "h"}),
        ("floatingip", 1, "/floatingips", lambda _: {"floating_network_id": external}),
        ("security_group_rule", 12, "/security-group-rules", lambda n: {**rule, "port_range_min": n + 1}),
    ]
    facts = []
    made: list[str]
    for resource, limit, path, body in makes:
        site.set_quota(resource, limit)
        made = []
        while "id" in (answer := await script.network("POST", path, **body(len(made)))):
            made.append(answer["id"])
        facts += [(script.said[-1], answer["message"], bool(made))]
        site.set_quota(resource, -1)
        for which in made:
            await script.network("DELETE", f"{path}/{which}")
    await script.network("DELETE", f"/security-groups/{group['id']}")
    return facts


async def a_load_balancer_with_its_parts(site: Site) -> Any:
    script = Script(site)
    body = {"name": "lb", "vip_subnet_id": site.subnet, "description": "d", "provider": "amphora", "tags": ["t"]}
    made = await script.balance("POST", "/loadbalancers", **body)
    facts = [made[name] for name in ("provisioning_status", "operating_status", "listeners", "description", "tags")]
    facts += [made["created_at"].endswith("Z")]
    (vip,) = await script.listed("/v2.0/ports", id=made["vip_port_id"])
    facts += [vip["device_owner"], vip["name"] == f"octavia-lb-{made['id']}", vip["device_id"] == f"lb-{made['id']}"]
    facts += [vip["fixed_ips"][0]["ip_address"] == made["vip_address"], made["vip_network_id"] == site.network]
    port = {"protocol": "TCP", "protocol_port": 6443, "loadbalancer_id": made["id"]}
    listener = await script.balance("POST", "/listeners", name="l", allowed_cidrs=["10.0.0.0/8"], **port)
    await script.balance("POST", "/listeners", name="m", **port)
    await script.balance("POST", "/listeners", name="m", **{**port, "loadbalancer_id": NOWHERE})
    lines = {"protocol": "TCP", "lb_algorithm": "ROUND_ROBIN"}
    pool = await script.balance("POST", "/pools", name="p", listener_id=listener["id"], **lines)
    await script.balance("POST", "/pools", name="q", listener_id=listener["id"], **lines)
    await script.balance("POST", "/pools", name="q", **lines)
    check = {"type": "TCP", "delay": 10, "timeout": 5, "max_retries": 5, "pool_id": pool["id"]}
    monitor = await script.balance("POST", "/healthmonitors", name="h", **check)
    await script.balance("POST", "/healthmonitors", name="h", **check)
    await script.balance("POST", "/healthmonitors", name="h", **{**check, "pool_id": NOWHERE})
    members = f"/pools/{pool['id']}/members"
    member = await script.balance("POST", members, name="m", address="10.6.0.9", protocol_port=6443)
    await script.balance("POST", members, name="n", address="10.6.0.9", protocol_port=6443)
    await script.balance("POST", f"/pools/{NOWHERE}/members", name="n", address="10.6.0.9", protocol_port=6443)

    path = f"{BALANCERS}/loadbalancers/{made['id']}"
    tree = (await script.listed(f"{path}/status"))["loadbalancer"]
    (shown,) = tree["listeners"]
    (pools,) = shown["pools"]
    facts += [tree["provisioning_status"], shown["operating_status"], pools["health_monitor"]["type"]]
    facts += [(each["address"], each["protocol_port"], each["operating_status"]) for each in pools["members"]]
    (found,) = await script.listed(f"{BALANCERS}/pools", loadbalancer_id=made["id"])
    facts += [found["healthmonitor_id"] == monitor["id"], found["members"] == [{"id": member["id"]}]]
    facts += [found["listeners"] == [{"id": listener["id"]}], found["loadbalancers"] == [{"id": made["id"]}]]
    (found,) = await script.listed(f"{BALANCERS}/loadbalancers", description="d")
    facts += [found["listeners"] == [{"id": listener["id"]}], found["pools"] == [{"id": pool["id"]}]]
    facts += [await script.listed(f"{BALANCERS}/loadbalancers", description="other")]
    facts += [len(await script.listed(f"{BALANCERS}{members}", name="m"))]

    changed = await script.balance("PUT", f"/listeners/{listener['id']}", allowed_cidrs=["1.0.0.0/8"])
    facts += [changed["provisioning_status"], changed["allowed_cidrs"], changed["default_pool_id"] == pool["id"]]
    await script.balance("PUT", f"/listeners/{listener['id']}", protocol_port=1)
    await script.balance("PUT", f"/healthmonitors/{monitor['id']}", delay=20)
    await script.balance("PUT", f"/pools/{pool['id']}", name="o")
    await script.balance("PUT", f"{members}/{member['id']}", weight=5)
    await script.balance("PUT", f"/loadbalancers/{made['id']}", description="e")
    await script.balance("DELETE", f"/loadbalancers/{made['id']}")
    await script.balance("DELETE", f"{members}/{member['id']}")
    await script.balance("DELETE", f"{members}/{member['id']}")
    await script.balance("DELETE", f"/healthmonitors/{monitor['id']}")
    await script.balance("DELETE", f"/listeners/{listener['id']}")
    await script.balance("DELETE", f"/listeners/{listener['id']}")
    facts += [(await script.balance("GET", f"/pools/{pool['id']}"))["listeners"]]
    await script.ask("DELETE", path, cascade="true")
    await site.until(script.balancers, lambda left: not left)
    await script.balance("GET", f"/loadbalancers/{made['id']}")
    facts += [await script.listed("/v2.0/ports", id=made["vip_port_id"])]
    return facts, script.told


async def a_load_balancer_tells_when_its_parts_change(site: Site) -> Any:
    """Its `updated_at` is another one after each change, and stays while there is none."""
    script = Script(site)
    made = await script.balance("POST", "/loadbalancers", name="lb", vip_subnet_id=site.subnet)
    path = f"{BALANCERS}/loadbalancers/{made['id']}"

    async def version() -> Any:
        return (await script.listed(path))["updated_at"]

    facts, seen = [made["updated_at"]], [await version()]

    async def change(method: Method, path: str, **body: Any) -> Any:
        answer = await script.balance(method, path, **body)
        seen.append(await version())
        return answer

    port = {"protocol": "TCP", "protocol_port": 1}
    listener = await change("POST", "/listeners", name="l", loadbalancer_id=made["id"], **port)
    await change("PUT", f"/listeners/{listener['id']}", allowed_cidrs=["10.0.0.0/8"])
    lines = {"protocol": "TCP", "lb_algorithm": "ROUND_ROBIN"}
    pool = await change("POST", "/pools", name="p", listener_id=listener["id"], **lines)
    check = {"type": "TCP", "delay": 10, "timeout": 5, "max_retries": 5}
    monitor = await change("POST", "/healthmonitors", name="h", pool_id=pool["id"], **check)
    await change("PUT", f"/healthmonitors/{monitor['id']}", delay=20)
    members = f"/pools/{pool['id']}/members"
    member = await change("POST", members, name="m", address="10.6.0.9", protocol_port=1)
    await change("PUT", f"{members}/{member['id']}", weight=5)
    await change("DELETE", f"{members}/{member['id']}")
    await change("DELETE", f"/healthmonitors/{monitor['id']}")
    await change("DELETE", f"/pools/{pool['id']}")
    await change("DELETE", f"/listeners/{listener['id']}")
    facts += [len(seen), len(set(seen)), await version() == seen[-1]]
    await script.ask("DELETE", path, cascade="true")
    await site.until(script.balancers, lambda left: not left)
    return facts


async def a_load_balancer_that_is_pending_refuses(site: Site) -> Any:
    script = Script(site)
    body = {"loadbalancer": {"name": "windlass:slow", "vip_network_id": site.network}}
    made = await script.ask("POST", f"{BALANCERS}/loadbalancers", body)
    path = f"{BALANCERS}/loadbalancers/{made['id']}"
    listener = {"name": "l", "protocol": "TCP", "protocol_port": 1, "loadbalancer_id": made["id"]}
    await script.ask("POST", f"{BALANCERS}/listeners", {"listener": listener})
    await script.ask("PUT", path, {"loadbalancer": {"description": "e"}})
    await script.ask("DELETE", path)
    await script.ask("DELETE", path, cascade="true")
    await site.until(script.balancers, lambda found: found[made["id"]] == "ACTIVE")
    await script.ask("DELETE", path)
    await script.ask("DELETE", path)
    await site.until(script.balancers, lambda left: not left)
    return script.told


async def load_balancers_that_are_refused(site: Site) -> Any:
    script = Script(site)
    bodies: list[dict[str, Any]] = [
        {},
        {"vip_subnet_id": NOWHERE},
        {"vip_network_id": NOWHERE},
        {"vip_subnet_id": site.subnet, "provider": "none"},
        {"vip_subnet_id": site.subnet, "flavor_id": NOWHERE},
        {"vip_subnet_id": site.subnet, "availability_zone": "mars"},
        {"vip_subnet_id": site.subnet, "vip_address": "1.2.3.4"},
    ]
    for body in bodies:
        await script.balance("POST", "/loadbalancers", name="lb", **body)
    providers = [each["name"] for each in await script.listed(f"{BALANCERS}/providers")]
    return script.told, providers, await script.listed(f"{BALANCERS}/flavors", name="small")


async def what_fails_in_a_load_balancer(site: Site) -> Any:
    script = Script(site)
    broken = await script.balance("POST", "/loadbalancers", name="windlass:fail", vip_subnet_id=site.subnet)
    facts = [*(await script.balancers()).values()]
    port = {"protocol": "TCP", "protocol_port": 1}
    await script.balance("POST", "/listeners", name="l", loadbalancer_id=broken["id"], **port)
    await script.balance("PUT", f"/loadbalancers/{broken['id']}", description="e")
    await script.balance("DELETE", f"/loadbalancers/{broken['id']}")
    await site.until(script.balancers, lambda left: not left)

    whole = await script.balance("POST", "/loadbalancers", name="lb", vip_subnet_id=site.subnet)
    listener = await script.balance("POST", "/listeners", name="windlass:fail", loadbalancer_id=whole["id"], **port)
    lines = {"protocol": "TCP", "lb_algorithm": "ROUND_ROBIN", "listener_id": listener["id"]}
    facts += [(await script.balance("GET", f"/listeners/{listener['id']}"))["provisioning_status"]]
    facts += [*(await script.balancers()).values()]
    await script.balance("PUT", f"/listeners/{listener['id']}", description="e")
    facts += [(await script.balance("GET", f"/listeners/{listener['id']}"))["provisioning_status"]]
    pool = await script.balance("POST", "/pools", name="windlass:fail", **lines)
    await script.balance("POST", f"/pools/{pool['id']}/members", name="m", address="10.6.0.9", protocol_port=1)
    await script.balance("DELETE", f"/pools/{pool['id']}")
    await script.ask("DELETE", f"{BALANCERS}/loadbalancers/{whole['id']}", cascade="true")
    await site.until(script.balancers, lambda left: not left)
    return facts, script.told


CASES: Final[Mapping[Callable[[Site], Awaitable[Any]], Any]] = {
    a_network_and_its_subnet: (
        [
            1400,
            False,
            "d",
            [],
            False,
            "10.9.0.1",
            [{"start": "10.9.0.2", "end": "10.9.0.254"}],
            ["1.1.1.1"],
            True,
            "10.9.0.0/24",
            ["8.8.8.8"],
            True,
            ["subnets"],
            True,
        ],
        (
            "201, 201, 201, 200, 400 HTTPBadRequest, 200, 201, 201, 409 IpAddressGenerationFailure, 400 "
            "InvalidIpForNetwork, 400 InvalidIpForSubnet, 400 InvalidInput, 409 SubnetInUse, 409 "
            "NetworkInUse, 204, 204, 204, 404 NetworkNotFound, 404 SubnetNotFound"
        ),
    ),
    networks_and_subnets_that_are_refused: (
        "400 InvalidInput, 201, 201, 400 InvalidInput, 400 InvalidInput, 400 InvalidInput, 404 "
        "NetworkNotFound, 400 OutOfBoundsAllocationPool, 201, 400 HTTPBadRequest, 204"
    ),
    a_router_and_its_interface: (
        [True, None, True, None, "network:router_interface", ".0.1", "ACTIVE", []],
        (
            "201, 201, 404 NetworkNotFound, 400 BadRequest, 403 PolicyNotAuthorized, 200, 200, 200, 400 "
            "BadRequest, 409 IpAddressAlreadyAllocated, 404 SubnetNotFound, 404 RouterNotFound, 409 "
            "ServicePortInUse, 409 RouterInUse, 404 RouterInterfaceNotFoundForSubnet, 200, 404 "
            "RouterInterfaceNotFoundForSubnet, 204, 204, 404 RouterNotFound"
        ),
    ),
    a_floating_ip: (
        ["DOWN", None, None, "d", None, "DOWN", True, True, "ACTIVE", "ACTIVE", None, None, "DOWN", None, None, "DOWN"],
        (
            "201, 201, 400 BadRequest, 404 NetworkNotFound, 403 PolicyNotAuthorized, 404 "
            "ExternalGatewayForFloatingIPNotFound, 201, 200, 200, 200, 409 FloatingIPPortAlreadyAssociated, "
            "404 PortNotFound, 409 FloatingIPPortAlreadyAssociated, 409 RouterInterfaceInUseByFloatingIP, 409"
            " RouterExternalGatewayInUseByFloatingIp, 200, 200, 204, 204, 204, 404 FloatingIPNotFound, 200, "
            "204"
        ),
    ),
    a_server_shows_its_floating_ip: ([("fixed", False), ("floating", True)], "403 PolicyNotAuthorized"),
    security_groups_and_rules: (
        [[("egress", "IPv4", None), ("egress", "IPv6", None)], None, "e", "i", 6, 6],
        (
            "201, 201, 200, 201, 409 SecurityGroupRuleExists, 409 SecurityGroupRuleExists, 201, 201, 201, 404"
            " SecurityGroupNotFound, 400 SecurityGroupMultipleRemoteEntites, 400 "
            "SecurityGroupInvalidPortRange, 400 SecurityGroupRuleParameterConflict, 404 "
            "SecurityGroupNotFound, 409 SecurityGroupRuleExists, 409 DuplicateSecurityGroupRuleInPost, 201, "
            "400 SecurityGroupNotSingleGroupRules, 400 HTTPBadRequest, 404 SecurityGroupNotFound, 404 "
            "SecurityGroupNotFound, 201, 400 PortSecurityAndIPRequiredForSecurityGroups, 204, 409 "
            "SecurityGroupInUse, 200, 204, 204, 404 SecurityGroupRuleNotFound, 204, 404 "
            "SecurityGroupNotFound, 204"
        ),
    ),
    quotas_of_a_cluster: [
        ("409 OverQuota", "Quota exceeded for resources: ['network'].", True),
        ("409 OverQuota", "Quota exceeded for resources: ['subnet'].", True),
        ("409 OverQuota", "Quota exceeded for resources: ['router'].", True),
        ("409 OverQuota", "Quota exceeded for resources: ['security_group'].", True),
        ("409 OverQuota", "Quota exceeded for resources: ['floatingip'].", True),
        ("409 OverQuota", "Quota exceeded for resources: ['security_group_rule'].", True),
    ],
    a_load_balancer_with_its_parts: (
        [
            "PENDING_CREATE",
            "OFFLINE",
            [],
            "d",
            ["t"],
            False,
            "Octavia",
            True,
            True,
            True,
            True,
            "ACTIVE",
            "ONLINE",
            "TCP",
            ("10.6.0.9", 6443, "ONLINE"),
            True,
            True,
            True,
            True,
            True,
            True,
            [],
            1,
            "PENDING_UPDATE",
            ["1.0.0.0/8"],
            True,
            [],
            [],
        ],
        (
            "201, 201, 409 Another Listener on this Load Balancer is already using protocol TCP and "
            "protocol_port 6443, 404 Load Balancer ID not found., 201, 409 This listener already has a "
            "default pool, 400 Validation failure: Must provide at least one of: loadbalancer_id, "
            "listener_id, 201, 409 This pool already has a health monitor, 404 Pool ID not found., 201, 409 "
            "Another member on this pool is already using ip 10.6.0.9 on protocol_port 6443, 404 Pool ID not "
            "found., 200, 400 Unknown attribute for argument listener_.listener: protocol_port, 200, 200, "
            "200, 200, 400 Validation failure: Cannot delete Load Balancer ID - it has children, 204, 404 "
            "Member ID not found., 204, 204, 404 Listener ID not found., 200, 204, 404 Load Balancer ID not "
            "found."
        ),
    ),
    a_load_balancer_tells_when_its_parts_change: [None, 12, 12, True],
    a_load_balancer_that_is_pending_refuses: (
        "201, 409 Load Balancer ID is immutable and cannot be updated., 409 Invalid state PENDING_CREATE of "
        "loadbalancer resource ID, 409 Invalid state PENDING_CREATE of loadbalancer resource ID, 409 Invalid "
        "state PENDING_CREATE of loadbalancer resource ID, 204, 409 Invalid state PENDING_DELETE of "
        "loadbalancer resource ID"
    ),
    load_balancers_that_are_refused: (
        (
            "400 Validation failure: VIP must contain one of: vip_port_id, vip_network_id, vip_subnet_id., "
            "400 Subnet ID not found., 400 Network ID not found., 400 Provider 'none' is not enabled., 400 "
            "Validation failure: Invalid flavor_id., 400 Validation failure: Invalid availability zone., 400 "
            "Error creating neutron port on network ID due to BadRequestException('BadRequestException: "
            "400')."
        ),
        ["amphora", "octavia", "ovn"],
        [],
    ),
    what_fails_in_a_load_balancer: (
        ["ERROR", "ERROR", "ACTIVE", "ACTIVE"],
        (
            "201, 409 Load Balancer ID is immutable and cannot be updated., 409 Invalid state ERROR of "
            "loadbalancer resource ID, 204, 201, 201, 200, 200, 200, 201, 409 Pool ID is immutable and cannot"
            " be updated., 204, 204"
        ),
    ),
}
