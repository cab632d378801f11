"""The OpenStackServer controller: what wakes a server, and what it may read, write and ask of a cloud."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final
from uuid import uuid4

from msgspec import Struct, field
from msgspec.structs import replace

from windlass.api import capi, orc
from windlass.api.capi import Cluster
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_server import OpenStackServer
from windlass.api.core import Secret
from windlass.api.ipam import IPAddressClaim
from windlass.api.mapi import Machine
from windlass.api.meta import Condition
from windlass.kube.conditions import is_true
from windlass.kube.control.controller import Controller, Watch
from windlass.kube.control.permissions import Permission, calls, changes_owners_of, emits_events, permission, writes
from windlass.kube.control.plan import Outcome
from windlass.kube.control.seen import IndexedReader, Present
from windlass.kube.control.source import spec_differs
from windlass.kube.object import NamespacedName, Object
from windlass.openstack.cloud.clouds import Clouds
from windlass.openstack.cloud.requests import OF_SERVERS
from windlass.openstack.identity.watches import BY_IDENTITY, identities, identity_watches
from windlass.openstack.machine_api.constants import CLUSTER_API_NAMESPACE
from windlass.openstack.objects import BY_CLUSTER, BY_MARK, labelled, marked
from windlass.openstack.questions import (
    Extensions,
    FindOnce,
    Look,
    Namesakes,
    Quotas,
    answerers,
    asks_clouds,
)
from windlass.openstack.recorders import BY_SERVER, named
from windlass.openstack.server.decide import decide
from windlass.openstack.server.snapshot import TIMING, ServerSnapshot, Timing, cluster_of, namer
from windlass.openstack.status import PAUSED

NAME: Final = "openstack-server"
BY_IMAGE: Final = "image"
"""Index of OpenStackServers: by `namespace/name` of the Image of the openstack-resource-controller that they name."""
BY_USER_DATA: Final = "user-data"
"""Index of OpenStackServers: by `namespace/name` of the Secret with their user data."""


def server_controller(
    reader: IndexedReader,
    clouds: Clouds,
    *,
    namespace: str | None = None,
    timing: Timing = TIMING,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
    new_mark: Callable[[], str] = lambda: str(uuid4()),
    machine_api: str = "",
    mirrors: str = CLUSTER_API_NAMESPACE,
) -> Controller[NamespacedName, ServerSnapshot]:
    """The controller, of OpenStackServers in `namespace` (None: all). Keys are namespace and name. `machine_api`: the
    namespace of the Machines of the Machine API that have servers by us too, and may give them up to OpenStackServers
    in `mirrors`; empty: none."""

    async def observe(key: NamespacedName, last: Outcome) -> ServerSnapshot:
        """What the caches say."""
        namespace, name = key
        found = await reader.see(OpenStackServer, name, namespace=namespace)
        seen = ServerSnapshot(server=found, machine_api=machine_api, mirrors=mirrors, last=last)
        if not isinstance(found, Present):
            return seen
        cluster = cluster_of(found)
        return replace(
            seen,
            cluster_name=cluster,
            cluster=await reader.see(Cluster, cluster, namespace=namespace) if cluster else None,
            unnamed=await unnamed(found),
        )

    async def unnamed(found: Present[OpenStackServer]) -> str:
        name = namer(found)
        machine = await reader.see(OpenStackMachine, name, namespace=found.metadata.namespace) if name else None
        if not isinstance(machine, Present):
            return ""
        return name if machine.object.spec.provider_id or machine.object.status.instance_id else ""

    def by(index: str, found: Object[Any]) -> list[NamespacedName]:
        return [each.key for each in reader.known(OpenStackServer, index, f"{found.namespace}/{found.name}")]

    def of_machine(machine: Object[Any]) -> list[NamespacedName]:
        return [each.key for which in named(machine) for each in reader.known(OpenStackServer, BY_SERVER, which)]

    indexes = {
        BY_CLUSTER: labelled,
        BY_IMAGE: _image,
        BY_USER_DATA: _user_data,
        BY_IDENTITY: identities,
        BY_SERVER: named,
    }
    indexes[BY_MARK] = marked
    hand_overs = Watch(Machine, of_machine, namespace=machine_api, when=_authority_differs, indexes={BY_SERVER: named})
    watch, may_write = partial(Watch, namespace=namespace), partial(writes, namespace=namespace)
    return Controller(
        name=NAME,
        watches=(
            watch(OpenStackServer, lambda server: [server.key], indexes=indexes),
            watch(Cluster, partial(by, BY_CLUSTER), when=spec_differs),
            watch(Secret, partial(by, BY_USER_DATA), metadata_only=True),
            watch(orc.Image, partial(by, BY_IMAGE), cache_only=True),
            # A restored server is named by its machine, whose write wakes the server itself.
            watch(OpenStackMachine, lambda _: [], indexes={BY_SERVER: named}),
            *identity_watches(reader, OpenStackServer, namespace=namespace),
            *([hand_overs] if machine_api else []),
        ),
        sources=(clouds.polls,),
        permissions=(
            may_write(OpenStackServer, "patch"),
            may_write(OpenStackServer, "patch", subresource="status"),
            permission(capi.Machine, "get", namespace=namespace),
            emits_events(namespace=namespace),
            calls(*OF_SERVERS),
            asks_clouds(Look, FindOnce, Extensions, Namesakes, Quotas),
            *(_of_hand_overs(namespace, machine_api) if machine_api else ()),
        ),
        answerers=answerers(reader, clouds, now=now, new_mark=new_mark),
        observe=observe,
        decide=partial(decide, timing=timing),
        workers=10,
        resync=600.0,
    )


def _of_hand_overs(namespace: str | None, machine_api: str) -> tuple[Permission, ...]:
    """To see who has given a server up, and to keep the floating IP of a server that is given up."""
    return (
        permission(Machine, "get", namespace=machine_api),
        writes(IPAddressClaim, "patch", namespace=namespace),
        permission(IPAddressClaim, "get", namespace=namespace),
        changes_owners_of(IPAddressClaim, namespace=namespace),
    )


class _Reference(Struct, gc=False):
    name: str = ""


class _OfData(Struct, rename="camel", gc=False):
    user_data_ref: _Reference | None = None


class _UserData(Struct, gc=False):
    """The field that an index needs, even if others are malformed."""

    spec: _OfData = field(default_factory=_OfData)


class _ImageSpec(Struct, rename="camel", gc=False):
    image_ref: _Reference | None = None


class _OfImage(Struct, gc=False):
    image: _ImageSpec | None = None


class _Images(Struct, gc=False):
    """The same of the image."""

    spec: _OfImage = field(default_factory=_OfImage)


def _image(server: Object[Any]) -> Iterable[str]:
    shown = server.glimpse(_Images)
    ref = shown.spec.image.image_ref if shown is not None and shown.spec.image is not None else None
    return (f"{server.namespace}/{ref.name}",) if ref is not None and ref.name else ()


def _user_data(server: Object[Any]) -> Iterable[str]:
    shown = server.glimpse(_UserData)
    ref = shown.spec.user_data_ref if shown is not None else None
    return (f"{server.namespace}/{ref.name}",) if ref is not None and ref.name else ()


class _Authority(Struct, rename="camel", gc=False):
    authoritative_api: str = field(default="", name="authoritativeAPI")
    conditions: list[Condition] = field(default_factory=list)


class _Facts(Struct, gc=False):
    """What matters here of Machines of the Machine API, even if other fields are malformed."""

    status: _Authority = field(default_factory=_Authority)


def _authority_differs(old: Object[Any] | None, new: Object[Any] | None) -> bool:
    """Which API has the authority, or whether the Machine API's controllers say that they are paused."""
    return _authority(old) != _authority(new)


def _authority(machine: Object[Any] | None) -> tuple[str, bool]:
    shown = machine.glimpse(_Facts) if machine is not None else None
    said = shown.status if shown is not None else _Authority()
    return said.authoritative_api, is_true(said.conditions, PAUSED)
