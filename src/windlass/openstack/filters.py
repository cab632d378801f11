"""Turns the parameters of the API that name something in a cloud, by ID or by filter, into queries.

    network_query(Network(filter=NetworkFilter(name="machines", tags=["a", "b"])))
    Query("network", filters=(("name", "machines"), ("tags", "a,b")))

A parameter with neither gives None. The names of filters are those of the services; Neutron takes lists of tags joined
by commas. Sources: the API references of Networking, Image and Compute.
"""

from collections.abc import Iterable
from typing import Final

from windlass.api.capo import (
    Image,
    Network,
    NetworkFilter,
    SecurityGroup,
    SecurityGroupFilter,
    ServerGroup,
    Subnet,
    SubnetFilter,
)
from windlass.api.capo_cluster import Router, RouterFilter
from windlass.openstack.cloud.query import Kind, Query

_SUBNET_FIELDS: Final = ("gateway_ip", "cidr", "ipv6_address_mode", "ipv6_ra_mode")


def image_query(param: Image) -> Query | None:
    """One image by ID, or by name and tags. None for an `imageRef` too: that is no query."""
    if param.id:
        return Query("image", id=param.id)
    if param.filter is None or not (param.filter.name or param.filter.tags):
        return None
    name = [("name", param.filter.name)] if param.filter.name else []
    return Query("image", filters=(*name, *(("tag", tag) for tag in param.filter.tags or ())))


def flavor_query(*, id: str | None, name: str | None) -> Query | None:  # noqa: A002 - the word of the field
    if id:
        return Query("flavor", id=id)
    return Query("flavor", filters=(("name", name),)) if name else None


def network_query(param: Network | None) -> Query | None:
    return _query("network", param.id, param.filter) if param is not None else None


def router_query(param: Router | None) -> Query | None:
    return _query("router", param.id, param.filter) if param is not None else None


def subnet_query(param: Subnet | None) -> Query | None:
    return _query("subnet", param.id, param.filter) if param is not None else None


def security_group_query(param: SecurityGroup) -> Query | None:
    """All security groups that match; those of the own project, unless the filter names another."""
    return _query("security group", param.id, param.filter, own=not (param.filter and param.filter.project_id))


def server_group_query(param: ServerGroup | None) -> Query | None:
    if param is None:
        return None
    if param.id:
        return Query("server group", id=param.id)
    name = param.filter.name if param.filter else None
    return Query("server group", filters=(("name", name),)) if name else None


def _query(
    kind: Kind,
    id: str | None,  # noqa: A002
    filter: NetworkFilter | SubnetFilter | SecurityGroupFilter | RouterFilter | None,  # noqa: A002
    *,
    own: bool = False,
) -> Query | None:
    if id:
        return Query(kind, id=id)
    if filter is None:
        return None
    values: list[tuple[str, str]] = [
        ("name", filter.name),
        ("description", filter.description),
        ("project_id", filter.project_id),
    ]
    if isinstance(filter, SubnetFilter):
        values += [("ip_version", str(filter.ip_version or ""))]
        values += [(name, getattr(filter, name)) for name in _SUBNET_FIELDS]
    values += [
        ("tags", _joined(filter.tags)),
        ("tags-any", _joined(filter.tags_any)),
        ("not-tags", _joined(filter.not_tags)),
        ("not-tags-any", _joined(filter.not_tags_any)),
    ]
    filters = tuple((name, value) for name, value in values if value)
    return Query(kind, filters=filters, own=own) if filters else None


def _joined(tags: Iterable[str]) -> str:
    return ",".join(tags)
