"""The controller of Machines of the Machine API: what wakes one, and what it may read, write and ask of a cloud."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final
from uuid import uuid4

from msgspec import Struct, field

from windlass.api.capo import OpenStackMachine
from windlass.api.capo_server import OpenStackServer
from windlass.api.config import Infrastructure
from windlass.api.core import ConfigMap, Node, Pod, Secret
from windlass.api.mapi import Machine, MachineSet
from windlass.kube.control.controller import Controller, Watch
from windlass.kube.control.permissions import calls, emits_events, evicts_pods, permission, writes
from windlass.kube.control.plan import Outcome
from windlass.kube.control.seen import ListingReader
from windlass.kube.object import NamespacedName, Object
from windlass.openstack.cloud.clouds import Clouds
from windlass.openstack.cloud.network_requests import AssociateFloatingIp
from windlass.openstack.cloud.requests import OF_SERVERS, CreateServerGroup
from windlass.openstack.identity.find import BY_NAME
from windlass.openstack.identity.watches import own_name
from windlass.openstack.machine_api.constants import MACHINE_API_NAMESPACE
from windlass.openstack.machine_api.decide import decide
from windlass.openstack.machine_api.looking import BY_DELETION, being_deleted
from windlass.openstack.machine_api.snapshot import MachineApiMachineSnapshot
from windlass.openstack.objects import BY_MARK, marked
from windlass.openstack.questions import (
    AUTHORITY,
    Extensions,
    Find,
    FindOnce,
    Look,
    Namesakes,
    Quotas,
    answerers,
    asks_clouds,
)
from windlass.openstack.recorders import BY_SERVER, named
from windlass.openstack.server.snapshot import TIMING, Timing

NAME: Final = "openstack-machine-api"
BY_SECRET: Final = "secret"
"""Index of Machines: by `namespace/name` of the Secrets that their provider spec names."""


def machine_api_controller(
    reader: ListingReader,
    clouds: Clouds,
    *,
    namespace: str = MACHINE_API_NAMESPACE,
    timing: Timing = TIMING,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
    new_mark: Callable[[], str] = lambda: str(uuid4()),
    cluster_api: Sequence[str] = (),
) -> Controller[NamespacedName, MachineApiMachineSnapshot]:
    """The controller, of Machines in `namespace` and no other: their Secrets are read there alone. Keys are namespace
    and name. `cluster_api`: the namespaces of the OpenStackServers that may hand servers over; empty: all."""

    def of_secret(secret: Object[Any]) -> Iterable[NamespacedName]:
        return (each.key for each in reader.known(Machine, BY_SECRET, f"{secret.namespace}/{secret.name}"))

    async def observe(key: NamespacedName, last: Outcome) -> MachineApiMachineSnapshot:
        """What the caches say."""
        machine = await reader.see(Machine, key[1], namespace=key[0])
        infrastructure = await reader.see(Infrastructure, "cluster")
        return MachineApiMachineSnapshot(machine=machine, infrastructure=infrastructure, last=last)

    indexes = {BY_SECRET: _secrets, BY_DELETION: being_deleted, BY_MARK: marked, BY_SERVER: named}
    config, name, _ = AUTHORITY
    servers = partial(Watch, OpenStackServer, lambda _: [], cache_only=True, indexes={BY_SERVER: named})
    watch, may_write = partial(Watch, namespace=namespace), partial(writes, namespace=namespace)
    return Controller(
        name=NAME,
        watches=(
            watch(Machine, lambda machine: [machine.key], indexes=indexes),
            watch(Secret, of_secret, indexes={BY_NAME: own_name}, metadata_only=True),
            # A server that one of them has recorded is not adopted.
            *(servers(namespace=each) for each in cluster_api or (None,)),
            # Only new Machines are given its virtual addresses.
            Watch(Infrastructure, lambda _: [], cache_only=True),
        ),
        sources=(clouds.polls.of(Machine),),
        permissions=(
            may_write(Machine, "patch"),
            may_write(Machine, "patch", subresource="status"),
            permission(MachineSet, "get", namespace=namespace),
            permission(Node, "get", "list", "patch", "delete"),
            permission(Pod, "list"),
            evicts_pods(),
            *(permission(OpenStackServer, "get", namespace=each) for each in cluster_api or (None,)),
            *(permission(OpenStackMachine, "get", namespace=each) for each in cluster_api or (None,)),
            permission(ConfigMap, "get", namespace=config, names=(name,)),
            emits_events(namespace=namespace),
            calls(*OF_SERVERS, CreateServerGroup, AssociateFloatingIp),
            asks_clouds(Look, Find, FindOnce, Extensions, Namesakes, Quotas),
        ),
        answerers=answerers(reader, clouds, now=now, new_mark=new_mark, kind=Machine),
        observe=observe,
        decide=partial(decide, timing=timing),
        workers=10,
        resync=600.0,
    )


class _Reference(Struct, gc=False):
    name: str = ""
    namespace: str = ""


class _Value(Struct, rename="camel", gc=False):
    clouds_secret: _Reference | None = None
    user_data_secret: _Reference | None = None


class _Provider(Struct, gc=False):
    value: _Value | None = None


class _Spec(Struct, rename="camel", gc=False):
    provider_spec: _Provider = field(default_factory=_Provider)


class _References(Struct, gc=False):
    """The fields that the index needs, even if others are malformed."""

    spec: _Spec = field(default_factory=_Spec)


def _secrets(machine: Object[Any]) -> Iterator[str]:
    shown = machine.glimpse(_References)
    value = shown.spec.provider_spec.value if shown is not None else None
    for ref in (value.clouds_secret, value.user_data_secret) if value is not None else ():
        if ref is not None and ref.name:
            yield f"{ref.namespace or machine.namespace}/{ref.name}"
