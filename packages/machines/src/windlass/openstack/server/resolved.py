"""The choices in `status.resolved`, which are stored before anything is created: written, and read back.

Read back, they give the same `Resolved`. Choices that the OpenStack provider stored are read as well; it stores no
volumes, so those follow from the spec.
"""

from typing import Any

from windlass.api import capo, capo_server
from windlass.api.meta import tree
from windlass.openstack.instance.resolve import volumes_of
from windlass.openstack.instance.spec import InstanceSpec, Resolved, ResolvedAddress, ResolvedPort, ResolvedVolume
from windlass.openstack.server.spec import ATTRIBUTES, plain


def to_status(resolved: Resolved) -> dict[str, Any]:
    """The tree of `status.resolved`."""
    stored = capo_server.ResolvedServer(
        server_group_id=resolved.server_group_id or None,
        image_id=resolved.image_id,
        flavor_id=resolved.flavor_id,
        ports=list(map(_stored_port, resolved.ports)),
        volumes=[
            capo_server.ResolvedVolume(
                name=each.name, size_gib=each.size, type=each.type, availability_zone=each.zone, device=each.tag
            )
            for each in resolved.volumes
        ],
    )
    plain: dict[str, Any] = tree(stored)
    return plain


def from_status(stored: capo_server.ResolvedServer | None, spec: InstanceSpec) -> Resolved | None:
    """The choices; None if some are missing, so nothing has been created."""
    if stored is None or not stored.image_id or not stored.flavor_id or len(stored.ports) != len(spec.ports):
        return None
    if spec.server_group is not None and not stored.server_group_id:
        return None
    return Resolved(
        image_id=stored.image_id,
        flavor_id=stored.flavor_id,
        server_group_id=stored.server_group_id or "",
        ports=tuple(map(_port, stored.ports)),
        volumes=tuple(map(_volume, stored.volumes)) or tuple(volumes_of(spec)),
    )


def _stored_port(port: ResolvedPort) -> capo_server.ResolvedPort:
    extra = {key: value for key, value in port.options.items() if key not in ATTRIBUTES.values()}
    profile = capo.BindingProfile(ovs_hw_offload=port.switchdev or None, trusted_vf=port.trusted or None)
    pairs = [
        capo.AddressPair(ip_address=each["ip_address"], mac_address=each.get("mac_address"))
        for each in port.address_pairs
    ]
    return capo_server.ResolvedPort(
        name=port.name,
        description=port.description,
        network_id=port.network_id,
        tags=list(port.tags),
        trunk=port.trunk or None,
        fixed_ips=[
            capo_server.ResolvedFixedIP(subnet=each.subnet_id or None, ip_address=each.address or None)
            for each in port.addresses
        ],
        security_groups=list(port.groups),
        allowed_address_pairs=pairs or None,
        profile=profile if port.switchdev or port.trusted else None,
        disable_port_security=None if port.port_security is None else not port.port_security,
        value_specs=[capo.ValueSpec(name=key, key=key, value=value) for key, value in extra.items()] or None,
        **{field: port.options[name] for field, name in ATTRIBUTES.items() if name in port.options},
    )


def _port(stored: capo_server.ResolvedPort) -> ResolvedPort:
    return ResolvedPort(
        name=stored.name,
        network_id=stored.network_id,
        addresses=tuple(ResolvedAddress(each.subnet or "", each.ip_address or "") for each in stored.fixed_ips),
        groups=tuple(stored.security_groups),
        trunk=bool(stored.trunk),
        **plain(stored),
    )


def _volume(stored: capo_server.ResolvedVolume) -> ResolvedVolume:
    return ResolvedVolume(
        name=stored.name, size=stored.size_gib, type=stored.type, zone=stored.availability_zone, tag=stored.device
    )
