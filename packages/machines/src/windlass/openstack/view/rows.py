"""Makes a row of the view from an object on OpenStack. Pure. A row has no more than the page shows of it."""

from collections.abc import Iterable
from typing import Any, Final

from msgspec import Struct

from windlass.api import mapi
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_pool import OpenStackFloatingIPPool
from windlass.api.capo_server import OpenStackServer
from windlass.kube.conditions import find
from windlass.kube.control.seen import Present
from windlass.kube.shorten import shortened
from windlass.openstack.constants import CLUSTER_LABEL
from windlass.openstack.machine_api.constants import STATE_ANNOTATION
from windlass.openstack.objects import machine_of
from windlass.openstack.status import INSTANCE_READY, READY
from windlass.openstack.view.standing import Standing, standing

MOST_ADDRESSES: Final = 4
"""Of a machine."""
MOST_ZONES: Final = 20
"""Of a cluster."""
LONGEST_WORD: Final = 200
"""Characters of anything but a message."""


class Row(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """An object. `kind` is for people and for the question for its details."""

    kind: str
    namespace: str
    name: str
    standing: Standing

    @property
    def key(self) -> str:
        """Of the part, below its kind."""
        return f"{self.namespace}/{self.name}"


class ClusterRow(Row, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """An OpenStackCluster. `cluster`: the name of its Cluster, by which its machines name it; `endpoint`: of the API
    servers."""

    cluster: str = ""
    network: str = ""
    endpoint: str = ""
    bastion: str = ""
    zones: tuple[str, ...] = ()


class MachineRow(Row, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """An OpenStackMachine, or a Machine of the Machine API that Windlass serves. `instance`: the state that Nova told
    last; `credentials`: whose quotas it takes from."""

    cluster: str = ""
    flavor: str = ""
    instance: str = ""
    addresses: tuple[str, ...] = ()
    credentials: str = ""


class ServerRow(MachineRow, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """An OpenStackServer. `machine`: the OpenStackMachine that it stands for; empty: it stands alone."""

    machine: str = ""


class PoolRow(Row, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """An OpenStackFloatingIPPool: how many addresses are claimed, free, and cannot be given. `most` None: no limit."""

    claimed: int = 0
    free: int = 0
    failed: int = 0
    most: int | None = None


def cluster_row(found: Present[OpenStackCluster]) -> ClusterRow:
    meta, spec, status = found.metadata, found.object.spec, found.object.status
    owner = next((each.name for each in meta.owner_references if each.kind == "Cluster"), "")
    endpoint = spec.control_plane_endpoint
    zones = status.failure_domains if isinstance(status.failure_domains, list | dict) else ()
    return ClusterRow(
        **_common(found),
        cluster=owner or meta.labels.get(CLUSTER_LABEL, "") or meta.name,
        network=_cut(status.network.name or status.network.id) if status.network else "",
        endpoint=_cut(f"{endpoint.host}:{endpoint.port}") if endpoint and endpoint.host else "",
        bastion=_cut(status.bastion.floating_ip or status.bastion.ip) if status.bastion else "",
        zones=tuple(sorted(_cut(_name(each)) for each in [*zones][:MOST_ZONES])),
    )


def machine_row(found: Present[OpenStackMachine]) -> MachineRow:
    spec, status = found.object.spec, found.object.status
    return MachineRow(
        **_common(found),
        cluster=found.metadata.labels.get(CLUSTER_LABEL, ""),
        flavor=_cut(spec.flavor or spec.flavor_id or ""),
        instance=_cut(status.instance_state or ""),
        addresses=_addresses(status.addresses),
        credentials=_cut(spec.identity_ref.name) if spec.identity_ref else "",
    )


def server_row(found: Present[OpenStackServer]) -> ServerRow:
    spec, status = found.object.spec, found.object.status
    return ServerRow(
        **_common(found),
        cluster=found.metadata.labels.get(CLUSTER_LABEL, ""),
        flavor=_cut(spec.flavor or spec.flavor_id or ""),
        instance=_cut(status.instance_state or ""),
        addresses=_addresses(status.addresses),
        credentials=_cut(spec.identity_ref.name),
        machine=machine_of(found),
    )


def pool_row(found: Present[OpenStackFloatingIPPool]) -> PoolRow:
    spec, status = found.object.spec, found.object.status
    return PoolRow(
        **_common(found),
        claimed=len(status.claimed_ips),
        free=len(status.available_ips),
        failed=len(status.failed_ips),
        most=spec.max_ips,
    )


def machine_api_row(found: Present[mapi.Machine]) -> MachineRow | None:
    """None: Windlass does not serve it, since it has none of our conditions, or its authority is Cluster API."""
    status = found.object.status
    if status.authoritative_api == "ClusterAPI":
        return None
    if find(status.conditions, READY) is None or find(status.conditions, INSTANCE_READY) is None:
        return None
    return MachineRow(
        **_common(found),
        instance=_cut(found.metadata.annotations.get(STATE_ANNOTATION, "")),
        addresses=_addresses(status.addresses),
    )


def _common(found: Present[Any]) -> dict[str, Any]:
    return {
        "kind": found.object.RESOURCE.kind,
        "namespace": found.metadata.namespace,
        "name": found.metadata.name,
        "standing": standing(found.object.status.conditions, deleting=found.metadata.deletion_timestamp or ""),
    }


def _addresses(given: Iterable[Any]) -> tuple[str, ...]:
    """IP addresses, each once: names say nothing new."""
    found = dict.fromkeys(each.address for each in given if each.type.endswith("IP") and each.address)
    return tuple(map(_cut, [*found][:MOST_ADDRESSES]))


def _cut(text: str) -> str:
    """Nothing but messages is long, unless somebody means harm."""
    return shortened(text, LONGEST_WORD)


def _name(zone: Any) -> str:
    return str(zone.get("name", "")) if isinstance(zone, dict) else str(zone)
