"""What clouds do, as cases that run on the model of a cloud and on a real one: both have to give the same facts."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct

from windlass.openstack.cloud.wire import Http, Method, Service, Wire

MARK: Final = "windlass-owner"


class Site(Struct):
    """A cloud with a project. `until(look, wanted)` lets time pass until a look is as wanted."""

    wire: Wire
    network: str
    subnet: str
    image: str
    flavor: str
    until: Callable[[Callable[[], Awaitable[Any]], Callable[[Any], bool]], Awaitable[Any]]
    set_quota: Callable[[str, int], None]

    async def ask(
        self,
        service: Service,
        method: Method,
        path: str,
        body: Mapping[str, Any] | None = None,
        query: tuple[tuple[str, str], ...] = (),
        *,
        microversion: str = "",
    ) -> tuple[int, Any]:
        """The status and the body of the answer."""
        request = Http(service, method, path, query=query, body=body, microversion=microversion)
        answer = await self.wire.send(request, seconds=60)
        return answer.status, msgspec.json.decode(answer.body) if answer.body[:1] in (b"{", b"[") else None

    async def port(self, **fields: Any) -> tuple[int, Any]:
        body = {"port": {"network_id": self.network, "name": "p", **fields}}
        status, answer = await self.ask("network", "POST", "/v2.0/ports", body)
        return status, answer.get("port", answer)

    async def boot(self, port: str, **fields: Any) -> tuple[int, Any]:
        body = {
            "server": {
                "name": "s",
                "flavorRef": self.flavor,
                "imageRef": self.image,
                "networks": [{"port": port}],
                "metadata": {MARK: "m"},
                **fields,
            }
        }
        status, answer = await self.ask("compute", "POST", "/servers", body, microversion="2.53")
        return status, answer.get("server", answer)

    async def server(self, which: str) -> Any:
        status, answer = await self.ask("compute", "GET", f"/servers/{which}", microversion="2.53")
        return answer["server"] if status == 200 else status

    async def delete(self, service: Service, path: str) -> int:
        return (await self.ask(service, "DELETE", path))[0]

    async def gone(self, which: str) -> None:
        """Delete a server and wait for its end."""
        await self.delete("compute", f"/servers/{which}")
        await self.until(lambda: self.server(which), lambda found: found == 404)


async def a_port_is_found_by_its_description(site: Site) -> Any:
    status, port = await site.port(description=f"{MARK}=m")
    _, found = await site.ask("network", "GET", "/v2.0/ports", query=(("description", f"{MARK}=m"),))
    _, nothing = await site.ask("network", "GET", "/v2.0/ports", query=(("description", "other"),))
    facts = status, port["status"], port["device_id"], len(found["ports"]), len(nothing["ports"])
    return *facts, await site.delete("network", f"/v2.0/ports/{port['id']}")


async def an_address_is_given_once(site: Site) -> Any:
    _, first = await site.port()
    taken = [{"subnet_id": site.subnet, "ip_address": first["fixed_ips"][0]["ip_address"]}]
    status, refusal = await site.port(fixed_ips=taken)
    await site.delete("network", f"/v2.0/ports/{first['id']}")
    return status, refusal["NeutronError"]["type"]


async def a_port_needs_a_network(site: Site) -> Any:
    status, refusal = await site.port(network_id="00000000-0000-4000-8000-000000000000")
    return status, refusal["NeutronError"]["type"]


async def tags_replace_each_other(site: Site) -> Any:
    _, port = await site.port()
    path = f"/v2.0/ports/{port['id']}"
    first, _ = await site.ask("network", "PUT", f"{path}/tags", {"tags": ["a", "b"]})
    second, _ = await site.ask("network", "PUT", f"{path}/tags", {"tags": ["c"]})
    _, found = await site.ask("network", "GET", "/v2.0/ports", query=(("id", port["id"]),))
    await site.delete("network", path)
    return first, second, found["ports"][0]["tags"]


async def a_description_is_changed(site: Site) -> Any:
    _, port = await site.port()
    path = f"/v2.0/ports/{port['id']}"
    status, answer = await site.ask("network", "PUT", path, {"port": {"description": "new"}})
    await site.delete("network", path)
    return status, answer["port"]["description"]


async def a_trunk_holds_its_port(site: Site) -> Any:
    _, port = await site.port()
    body = {"trunk": {"port_id": port["id"], "name": "t", "description": "d"}}
    made, answer = await site.ask("network", "POST", "/v2.0/trunks", body)
    again, refusal = await site.ask("network", "POST", "/v2.0/trunks", body)
    held = await site.delete("network", f"/v2.0/ports/{port['id']}")
    trunk = answer["trunk"]["id"]
    _, shown = await site.ask("network", "GET", "/v2.0/ports", query=(("id", port["id"]),))
    details = shown["ports"][0]["trunk_details"]["trunk_id"] == trunk
    freed = await site.delete("network", f"/v2.0/trunks/{trunk}")
    return (
        made,
        again,
        refusal["NeutronError"]["type"],
        held,
        details,
        freed,
        await site.delete("network", f"/v2.0/ports/{port['id']}"),
    )


async def a_quota_of_ports(site: Site) -> Any:
    site.set_quota("port", 1)
    _, port = await site.port()
    status, refusal = await site.port()
    site.set_quota("port", -1)
    await site.delete("network", f"/v2.0/ports/{port['id']}")
    return status, refusal["NeutronError"]["type"], refusal["NeutronError"]["message"]


async def a_server_from_its_request_to_its_end(site: Site) -> Any:
    _, port = await site.port()
    status, made = await site.boot(port["id"])
    has_status = "status" in made
    server = await site.until(lambda: site.server(made["id"]), lambda found: found["status"] == "ACTIVE")
    (addresses,) = server["addresses"].values()
    same = addresses[0]["addr"] == port["fixed_ips"][0]["ip_address"]
    _, bound = await site.ask("network", "GET", "/v2.0/ports", query=(("id", port["id"]),))
    plugged = bound["ports"][0]["device_id"] == made["id"]
    deleted = await site.delete("compute", f"/servers/{made['id']}")
    await site.until(lambda: site.server(made["id"]), lambda found: found == 404)
    again = await site.delete("compute", f"/servers/{made['id']}")
    _, left = await site.ask("network", "GET", "/v2.0/ports", query=(("id", port["id"]),))
    await site.delete("network", f"/v2.0/ports/{port['id']}")
    state = server["metadata"], server["OS-EXT-STS:task_state"], addresses[0]["OS-EXT-IPS:type"]
    return status, has_status, state, same, plugged, deleted, again, left["ports"][0]["device_id"]


async def a_server_gets_metadata(site: Site) -> Any:
    _, port = await site.port()
    _, made = await site.boot(port["id"])
    await site.until(lambda: site.server(made["id"]), lambda found: found["status"] == "ACTIVE")
    path = f"/servers/{made['id']}/metadata"
    status, answer = await site.ask("compute", "POST", path, {"metadata": {MARK: "n"}})
    await site.gone(made["id"])
    await site.delete("network", f"/v2.0/ports/{port['id']}")
    return status, answer["metadata"]


async def servers_are_listed_in_pages(site: Site) -> Any:
    ports = [(await site.port())[1]["id"] for _ in range(2)]
    servers = [(await site.boot(port))[1]["id"] for port in ports]
    _, first = await site.ask("compute", "GET", "/servers/detail", query=(("limit", "1"),), microversion="2.53")
    relations = [link["rel"] for link in first["servers_links"]]
    marker = (("limit", "1"), ("marker", first["servers"][0]["id"]))
    _, second = await site.ask("compute", "GET", "/servers/detail", query=marker, microversion="2.53")
    both = {first["servers"][0]["id"], second["servers"][0]["id"]} == {*servers}
    for server in servers:
        await site.gone(server)
    for port in ports:
        await site.delete("network", f"/v2.0/ports/{port}")
    return relations, both


async def a_server_needs_what_exists(site: Site) -> Any:
    _, port = await site.port()
    odd: list[dict[str, Any]] = [
        {"key_name": "nobody"},
        {"availability_zone": "mars"},
        {"flavorRef": "00000000-0000-4000-8000-000000000000"},
    ]
    answers = [(await site.boot(port["id"], **each)) for each in odd]
    await site.delete("network", f"/v2.0/ports/{port['id']}")
    return [(status, *answer) for status, answer in answers], answers[0][1]["badRequest"]["message"]


async def a_quota_of_servers(site: Site) -> Any:
    site.set_quota("instances", 0)
    _, port = await site.port()
    status, refusal = await site.boot(port["id"])
    site.set_quota("instances", 10)
    await site.delete("network", f"/v2.0/ports/{port['id']}")
    return status, refusal["forbidden"]["message"]


async def a_volume_from_its_request_to_its_end(site: Site) -> Any:
    body = {"volume": {"name": "v", "size": 1, "metadata": {MARK: "m"}}}
    status, answer = await site.ask("block-storage", "POST", "/volumes", body)
    which = answer["volume"]["id"]

    async def volumes() -> Any:
        return (await site.ask("block-storage", "GET", "/volumes/detail"))[1]["volumes"]

    (found,) = await site.until(volumes, lambda all_of: all_of[0]["status"] == "available")
    marked, answer = await site.ask("block-storage", "POST", f"/volumes/{which}/metadata", {"metadata": {MARK: "n"}})
    deleted = await site.delete("block-storage", f"/volumes/{which}")
    await site.until(volumes, lambda all_of: not all_of)
    again = await site.delete("block-storage", f"/volumes/{which}")
    return status, found["metadata"], found["multiattach"], marked, answer["metadata"], deleted, again


async def a_volume_goes_with_its_server(site: Site) -> Any:
    body = {"volume": {"name": "v", "size": 1, "imageRef": site.image}}
    _, answer = await site.ask("block-storage", "POST", "/volumes", body)
    which = answer["volume"]["id"]

    async def volumes() -> Any:
        return (await site.ask("block-storage", "GET", "/volumes/detail"))[1]["volumes"]

    await site.until(volumes, lambda all_of: all_of[0]["status"] == "available")
    _, port = await site.port()
    disk = {
        "source_type": "volume",
        "destination_type": "volume",
        "uuid": which,
        "boot_index": 0,
        "delete_on_termination": True,
    }
    _, made = await site.boot(port["id"], imageRef="", block_device_mapping_v2=[disk])
    await site.until(lambda: site.server(made["id"]), lambda found: found["status"] == "ACTIVE")
    (used,) = await volumes()
    held = await site.delete("block-storage", f"/volumes/{which}")
    await site.gone(made["id"])
    await site.until(volumes, lambda all_of: not all_of)
    await site.delete("network", f"/v2.0/ports/{port['id']}")
    return used["status"], held


async def nova_reserves_a_volume_and_refuses_the_server(site: Site) -> Any:
    body = {"volume": {"name": "v", "size": 1, "imageRef": site.image}}
    _, answer = await site.ask("block-storage", "POST", "/volumes", body)
    which = answer["volume"]["id"]

    async def volumes() -> Any:
        return (await site.ask("block-storage", "GET", "/volumes/detail"))[1]["volumes"]

    await site.until(volumes, lambda all_of: all_of[0]["status"] == "available")
    _, port = await site.port()
    disks: list[dict[str, Any]] = [
        {"source_type": "volume", "destination_type": "volume", "uuid": which, "boot_index": 0},
        {"source_type": "blank", "destination_type": "local", "volume_size": 5, "boot_index": -1},
    ]
    status, _ = await site.boot(port["id"], imageRef="", block_device_mapping_v2=disks)
    (left,) = await volumes()
    held = await site.delete("block-storage", f"/volumes/{which}")
    query = (("volume_id", which),)
    _, found = await site.ask("block-storage", "GET", "/attachments", query=query, microversion="3.27")
    (attachment,) = found["attachments"]
    path = f"/attachments/{attachment['id']}"
    released, _ = await site.ask("block-storage", "DELETE", path, microversion="3.27")
    (free,) = await volumes()
    await site.delete("block-storage", f"/volumes/{which}")
    await site.until(volumes, lambda all_of: not all_of)
    await site.delete("network", f"/v2.0/ports/{port['id']}")
    return status, left["status"], held, attachment["volume_id"] == which, released, free["status"]


async def images_by_name_and_tag(site: Site) -> Any:
    async def count(**query: str) -> int:
        _, answer = await site.ask("image", "GET", "/v2/images", query=tuple(query.items()))
        return len(answer["images"])

    return await count(name="cirros"), await count(name="cirr"), await count(name="cirros", tag="absent")


async def networks_by_filter(site: Site) -> Any:
    async def count(*query: tuple[str, str]) -> int:
        _, answer = await site.ask("network", "GET", "/v2.0/networks", query=(("id", site.network), *query))
        return len(answer["networks"])

    return await count(), await count(("tags", "absent")), await count(("not-tags", "absent"))


CASES: Final[Mapping[Callable[[Site], Awaitable[Any]], Any]] = {
    a_port_is_found_by_its_description: (201, "DOWN", "", 1, 0, 204),
    an_address_is_given_once: (409, "IpAddressAlreadyAllocated"),
    a_port_needs_a_network: (404, "NetworkNotFound"),
    tags_replace_each_other: (200, 200, ["c"]),
    a_description_is_changed: (200, "new"),
    a_trunk_holds_its_port: (201, 409, "ParentPortInUse", 409, True, 204, 204),
    a_quota_of_ports: (409, "OverQuota", "Quota exceeded for resources: ['port']."),
    a_server_from_its_request_to_its_end: (202, False, ({MARK: "m"}, None, "fixed"), True, True, 204, 404, ""),
    a_server_gets_metadata: (200, {MARK: "n"}),
    servers_are_listed_in_pages: (["next"], True),
    a_server_needs_what_exists: ([(400, "badRequest")] * 3, "Invalid key_name provided."),
    a_quota_of_servers: (403, "Quota exceeded for instances: Requested 1, but already used 0 of 0 instances"),
    a_volume_from_its_request_to_its_end: (202, {MARK: "m"}, False, 200, {MARK: "n"}, 202, 404),
    a_volume_goes_with_its_server: ("in-use", 400),
    nova_reserves_a_volume_and_refuses_the_server: (400, "reserved", 400, True, 200, "available"),
    images_by_name_and_tag: (1, 0, 0),
    networks_by_filter: (1, 0, 1),
}
