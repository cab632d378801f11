"""Asks a project what exists: the request for each query, the answer as resources, and for how long it is kept.

| kind | request | kept |
|---|---|---|
| image | the images of that name and with those tags | 5 minutes |
| flavor | all flavors, once for all queries | 5 minutes |
| network, subnet, router, security group, floating IP | those that match | no time |
| server group, keypair | all of the project | no time |
| zone | all, also those that are not available | 5 minutes |
| extension, provider and flavor of load balancers | all | an hour |
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar
from urllib.parse import parse_qsl, urlsplit

import msgspec
from msgspec import Struct

from windlass.kube.foreign import read_json
from windlass.openstack.cloud import resources
from windlass.openstack.cloud.balancer_requests import ROOT
from windlass.openstack.cloud.failures import Unavailable
from windlass.openstack.cloud.query import Kind, Query
from windlass.openstack.cloud.wire import UNREADABLE, Http, Service

T = TypeVar("T")

MINUTES: Final = 60.0
_PAGES: Final = 1000
"""More pages than any list has: a service that repeats its last page would be asked for ever."""


class Source(Struct, frozen=True):
    """Where a kind is listed. `filtered`: the service takes the filters; else all are listed and picked here."""

    service: Service
    path: str
    key: str
    type: type[Any]
    filtered: bool = True
    kept: float = 0.0
    fields: tuple[tuple[str, str], ...] = ()


SOURCES: Final[Mapping[Kind, Source]] = {
    "image": Source("image", "/v2/images", "images", resources.Image, kept=5 * MINUTES),
    "flavor": Source("compute", "/flavors/detail", "flavors", resources.Flavor, filtered=False, kept=5 * MINUTES),
    "network": Source("network", "/v2.0/networks", "networks", resources.Network),
    "subnet": Source("network", "/v2.0/subnets", "subnets", resources.Subnet),
    "router": Source("network", "/v2.0/routers", "routers", resources.Router),
    "security group": Source("network", "/v2.0/security-groups", "security_groups", resources.SecurityGroup),
    "floating ip": Source("network", "/v2.0/floatingips", "floatingips", resources.FloatingIp),
    "server group": Source("compute", "/os-server-groups", "server_groups", resources.ServerGroup, filtered=False),
    "keypair": Source("compute", "/os-keypairs", "keypairs", resources.Keypair, filtered=False),
    "zone": Source(
        "compute", "/os-availability-zone", "availabilityZoneInfo", resources.Zone, filtered=False, kept=5 * MINUTES
    ),
    "extension": Source(
        "network",
        "/v2.0/extensions",
        "extensions",
        resources.Extension,
        filtered=False,
        kept=60 * MINUTES,
        fields=(("fields", "alias"),),
    ),
    "load balancer provider": Source(
        "load-balancer", f"{ROOT}/providers", "providers", resources.BalancerProvider, filtered=False, kept=60 * MINUTES
    ),
    "load balancer flavor": Source(
        "load-balancer", f"{ROOT}/flavors", "flavors", resources.BalancerFlavor, filtered=False, kept=60 * MINUTES
    ),
}


def listed(query: Query) -> Query:
    """The query to send: `query`, or all objects of the kind if the service cannot filter."""
    return query if SOURCES[query.kind].filtered else Query(query.kind)


def request(query: Query, *, project: str) -> Http:
    """The first page of the answer. `project` is the ID of the own project."""
    source = SOURCES[query.kind]
    if not source.filtered:
        return Http(source.service, "GET", source.path, source.fields)
    by_id = (("id", f"in:{query.id}" if query.kind == "image" else query.id),) if query.id else ()
    own = (("project_id", project),) if query.own and not query.id else ()
    return Http(source.service, "GET", source.path, (*by_id, *query.filters, *own))


def matching(query: Query, found: tuple[Any, ...]) -> tuple[resources.Resource, ...]:
    """Those of `found` that the query asks for."""
    if query.id:
        return tuple(each for each in found if each.id == query.id)
    if not SOURCES[query.kind].filtered:
        wanted = query.filters
        return tuple(each for each in found if all(getattr(each, name, None) == value for name, value in wanted))
    return found


def decode(body: bytes, key: str, kind: type[T], *, service: str) -> tuple[list[T], tuple[tuple[str, str], ...] | None]:
    """The resources below `key`, and the query of the next page if there is one."""
    try:
        page = read_json(body, dict[str, msgspec.Raw])
        found: list[T] = read_json(page.get(key, b"[]"), list[kind])  # type: ignore[valid-type]
        following = _next(page, key)
    except UNREADABLE as error:
        raise Unavailable(service, f"the answer is not a list of {key}: {error}") from None
    return found, following


def _next(page: Mapping[str, msgspec.Raw], key: str) -> tuple[tuple[str, str], ...] | None:
    href = ""
    if f"{key}_links" in page:
        links = read_json(page[f"{key}_links"])
        href = next((str(link["href"]) for link in links if link.get("rel") == "next"), "")
    elif "next" in page:
        href = read_json(page["next"]) or ""
    return tuple(parse_qsl(urlsplit(href).query, keep_blank_values=True)) if href else None


async def pages(first: Http, key: str, kind: type[T], send: Callable[[Http], Any]) -> tuple[T, ...]:
    """All pages of a list, one after the other."""
    found: list[T] = []
    request = first
    for _ in range(_PAGES):
        answer = await send(request)
        some, following = decode(answer.body, key, kind, service=first.service)
        found += some
        if following is None or not some:
            return tuple(found)
        request = msgspec.structs.replace(first, query=following)
    raise Unavailable(first.service, f"the list of {key} has no end")
