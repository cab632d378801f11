"""Turns the parameters of the API that name something in a cloud, by ID or by filter, into queries.

    network_query(Network(filter=NetworkFilter(name="machines", tags=["a", "b"])))
    Query("network", filters=(("name", "machines"), ("tags", "a,b")))

A parameter with neither gives None. The names of filters are those of the services; Neutron takes lists of tags joined
by commas. Sources: the API references of Networking, Image and Compute.
"""

from typing import Final

from windlass.api import capo
from windlass.api.capo_cluster import Router, RouterFilter
from windlass.openstack.cloud.query import Kind, Query

EXTERNAL: Final = ("router:external", "true")
"""The filter of external networks."""
_FIELDS: Final = ("name", "description", "project_id")
_SUBNET_FIELDS: Final = ("ip_version", "gateway_ip", "cidr", "ipv6_address_mode", "ipv6_ra_mode")
_TAG_FIELDS: Final = ("tags", "tags_any", "not_tags", "not_tags_any")


def image_query(param: capo.Image) -> Query | None:
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


def network_query(param: capo.Network | None) -> Query | None:
    return _query("network", param.id, param.filter) if param is not None else None


def router_query(param: Router | None) -> Query | None:
    return _query("router", param.id, param.filter) if param is not None else None


def subnet_query(param: capo.Subnet | None) -> Query | None:
    return _query("subnet", param.id, param.filter) if param is not None else None


def security_group_query(param: capo.SecurityGroup) -> Query | None:
    """All security groups that match; those of the own project, unless the filter names another."""
    return _query("security group", param.id, param.filter, own=not (param.filter and param.filter.project_id))


def server_group_query(param: capo.ServerGroup | None) -> Query | None:
    if param is None:
        return None
    if param.id:
        return Query("server group", id=param.id)
    name = param.filter.name if param.filter else None
    return Query("server group", filters=(("name", name),)) if name else None


def _query(
    kind: Kind,
    id: str | None,  # noqa: A002
    filter: capo.NetworkFilter | capo.SubnetFilter | capo.SecurityGroupFilter | RouterFilter | None,  # noqa: A002
    *,
    own: bool = False,
) -> Query | None:
    if id:
        return Query(kind, id=id)
    if filter is None:
        return None
    fields = [*_FIELDS, *_SUBNET_FIELDS] if isinstance(filter, capo.SubnetFilter) else _FIELDS
    values = [(name, str(getattr(filter, name) or "")) for name in fields]
    values += [(name.replace("_", "-"), ",".join(getattr(filter, name))) for name in _TAG_FIELDS]
    filters = tuple((name, value) for name, value in values if value)
    return Query(kind, filters=filters, own=own) if filters else None
