"""The OpenStackServer controller: what wakes a server, and what it may read, write and ask of a cloud."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final
from uuid import uuid4

from msgspec import Struct, field

from windlass.api.capi import Cluster
from windlass.api.capo_server import OpenStackServer
from windlass.api.core import Secret
from windlass.api.mapi import Machine
from windlass.kube.control.controller import Controller, Watch
from windlass.kube.control.permissions import calls, emits_events, permission, writes
from windlass.kube.control.seen import IndexedReader
from windlass.kube.control.source import spec_differs
from windlass.kube.object import NamespacedName, Object
from windlass.openstack.cloud.clouds import Clouds
from windlass.openstack.cloud.requests import OF_SERVERS
from windlass.openstack.identity.watches import BY_IDENTITY, identities, identity_watches
from windlass.openstack.objects import BY_CLUSTER, labelled
from windlass.openstack.server.decide import decide
from windlass.openstack.server.observe import ServerObserver
from windlass.openstack.server.snapshot import TIMING, Snapshot, Timing

NAME: Final = "openstack-server"
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
) -> Controller[NamespacedName, Snapshot]:
    """The controller, of OpenStackServers in `namespace` (None: all). Keys are namespace and name. `machine_api`: the
    namespace of the Machines of the Machine API that have servers by us too, and may give them up; empty: none."""

    def by(index: str, found: Object[Any]) -> list[NamespacedName]:
        return [each.key for each in reader.known(OpenStackServer, index, f"{found.namespace}/{found.name}")]

    indexes = {BY_CLUSTER: labelled, BY_USER_DATA: _user_data, BY_IDENTITY: identities}
    return Controller(
        name=NAME,
        watches=(
            Watch(OpenStackServer, lambda server: [server.key], namespace=namespace, indexes=indexes),
            Watch(Cluster, partial(by, BY_CLUSTER), namespace=namespace, when=spec_differs),
            Watch(Secret, partial(by, BY_USER_DATA), namespace=namespace, metadata_only=True),
            *identity_watches(reader, OpenStackServer, namespace=namespace),
        ),
        sources=(clouds.polls,),
        permissions=(
            writes(OpenStackServer, "patch", namespace=namespace),
            writes(OpenStackServer, "patch", subresource="status", namespace=namespace),
            emits_events(namespace=namespace),
            calls(*OF_SERVERS),
            *([permission(Machine, "get", namespace=machine_api)] if machine_api else []),
        ),
        observe=ServerObserver(reader, clouds, timing=timing, now=now, new_mark=new_mark, machine_api=machine_api),
        decide=partial(decide, timing=timing),
        workers=10,
        resync=600.0,
    )


class _Reference(Struct, gc=False):
    name: str = ""


class _Spec(Struct, rename="camel", gc=False):
    user_data_ref: _Reference | None = None


class _References(Struct, gc=False):
    """The field that an index needs, even if others are malformed."""

    spec: _Spec = field(default_factory=_Spec)


def _user_data(server: Object[Any]) -> Iterable[str]:
    shown = server.glimpse(_References)
    ref = shown.spec.user_data_ref if shown is not None else None
    return (f"{server.namespace}/{ref.name}",) if ref is not None and ref.name else ()
