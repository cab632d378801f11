"""A mechanism driver for Neutron without agents.

Each port binds and is ACTIVE at once; trunks and ports of routers are ACTIVE; floating IPs are ACTIVE while they are
associated: as if agents had done their work. A port whose description contains `windlass:fail-binding` fails to bind.
"""

from typing import Any

from neutron.objects import ports
from neutron.services.trunk.drivers import base as trunk_base
from neutron_lib import constants
from neutron_lib.api.definitions import portbindings
from neutron_lib.callbacks import events, registry, resources
from neutron_lib.plugins import constants as plugins
from neutron_lib.plugins import directory
from neutron_lib.plugins.ml2 import api
from neutron_lib.services.trunk import constants as trunks

FAIL = "windlass:fail-binding"


class MechanismDriver(api.MechanismDriver):
    """Binds ports, and subscribes to what agents would otherwise report."""

    connectivity = portbindings.CONNECTIVITY_L2

    def initialize(self) -> None:
        # It registers itself when the trunk plugin comes up.
        self._trunk_driver = TrunkDriver(
            "windlass",
            (portbindings.VIF_TYPE_OVS,),
            (trunks.SEGMENTATION_TYPE_VLAN,),
            can_trunk_bound_port=True,
        )
        for resource in (resources.TRUNK, resources.SUBPORTS):
            registry.subscribe(trunk_up, resource, events.AFTER_CREATE)
            registry.subscribe(trunk_down, resource, events.AFTER_DELETE)
        for event in (events.AFTER_CREATE, events.AFTER_UPDATE):
            registry.subscribe(floating_ip, resources.FLOATING_IP, event)
            registry.subscribe(router_port, resources.PORT, event)

    def bind_port(self, context: Any) -> None:
        if FAIL in (context.current.get("description") or "") or not context.segments_to_bind:
            return
        details = {portbindings.CAP_PORT_FILTER: True, portbindings.VIF_DETAILS_CONNECTIVITY: self.connectivity}
        context.set_binding(
            context.segments_to_bind[0][api.ID],
            portbindings.VIF_TYPE_OVS,
            details,
            status=constants.PORT_STATUS_ACTIVE,
        )


class TrunkDriver(trunk_base.DriverBase):
    """Accepts all trunks."""

    is_loaded = True


def floating_ip(_resource: str, _event: str, _trigger: Any, payload: Any) -> None:
    """Set the status that the agent of the router would report."""
    associated = payload.metadata.get("association_event")
    if associated is not None:
        directory.get_plugin(plugins.L3).update_floatingip_status(
            payload.context.elevated(),
            payload.resource_id,
            constants.FLOATINGIP_STATUS_ACTIVE if associated else constants.FLOATINGIP_STATUS_DOWN,
        )


def router_port(_resource: str, _event: str, _trigger: Any, payload: Any) -> None:
    """Set the port of a router ACTIVE, which stays unbound."""
    port = payload.latest_state
    owners = (constants.DEVICE_OWNER_ROUTER_INTF, constants.DEVICE_OWNER_ROUTER_GW)
    if port["device_owner"] in owners and port["status"] != constants.PORT_STATUS_ACTIVE:
        directory.get_plugin().update_port_status(
            payload.context.elevated(), port["id"], constants.PORT_STATUS_ACTIVE
        )  # fmt: skip


def trunk_up(_resource: str, _event: str, _trigger: Any, payload: Any) -> None:
    """Set a trunk ACTIVE with its new subports."""
    trunk = _set_subports(payload, trunks.TRUNK_SUBPORT_OWNER, constants.PORT_STATUS_ACTIVE)
    trunk.update(status=trunks.TRUNK_ACTIVE_STATUS)


def trunk_down(resource: str, _event: str, _trigger: Any, payload: Any) -> None:
    """Release subports; the trunk stays ACTIVE when only these were removed."""
    trunk = _set_subports(payload, "", constants.PORT_STATUS_DOWN)
    if resource == resources.SUBPORTS:
        trunk.update(status=trunks.TRUNK_ACTIVE_STATUS)


def _set_subports(payload: Any, owner: str, status: str) -> Any:
    trunk = payload.states[0]
    for subport in payload.metadata.get("subports") or trunk.sub_ports:
        port = ports.Port.get_object(payload.context.elevated(), id=subport.port_id)
        if port:
            port.device_owner = owner
            port.status = status
            port.update()
    return trunk
