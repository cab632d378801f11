"""Who has a server without a mark: the object that has recorded it. The other objects that name the server leave it
alone.

Objects that Cluster API's provider or OpenShift's machine controller left have no marks until their first visit, which
waits while they are paused. Status, or `providerID` and phase, say which server an object has. Of several that have
recorded one server, the oldest has it: a copy, or a backup restored in another namespace, has the status of the
original.
"""

from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct, field

from windlass.api.mapi import Machine
from windlass.kube.control.question import Asking
from windlass.kube.control.seen import Present
from windlass.kube.object import Object
from windlass.openstack.cloud.inventory import ServerInventory
from windlass.openstack.constants import ADOPT_ANNOTATION, PROVIDER_ID
from windlass.openstack.machine_api.constants import ID_ANNOTATION
from windlass.openstack.owners import oldest_recorders
from windlass.openstack.ownership import presumed_mark

BY_SERVER: Final = "server"
"""Index of objects: by the ID of the server that they have recorded, or name."""


class _Made(Struct, rename="camel", gc=False):
    instance_id: str | None = field(default=None, name="instanceID")
    phase: str | None = None


class _Named(Struct, rename="camel", gc=False):
    provider_id: str | None = field(default=None, name="providerID")


class _Shown(Struct, gc=False):
    """The fields that say which server an object has, even if others are malformed."""

    spec: _Named = field(default_factory=_Named)
    status: _Made = field(default_factory=_Made)


def named(found: Object[Any]) -> Iterator[str]:
    """The index `BY_SERVER`: of OpenStackServers also by the annotation that names a server to adopt."""
    shown = found.glimpse(_Shown) or _Shown()
    form = PROVIDER_ID.fullmatch(shown.spec.provider_id or "")
    which = shown.status.instance_id or (form[2] if form else "") or found.metadata.annotations.get(ADOPT_ANNOTATION)
    if which:
        yield which


class Recorders(Struct, frozen=True):
    """`kinds`: those that the controller has caches of, with the index `BY_SERVER`. `mirrors`: the namespace of the
    objects of Cluster API that are Machines of the Machine API too."""

    kinds: tuple[type[Any], ...]
    mirrors: str

    def counted(self, seen: Asking, found: Present[Any], inventory: ServerInventory, which: str) -> ServerInventory:
        """The inventory of the object, which names this server. If the server has no mark, and another object here has
        recorded it, it counts as that object's."""
        first = oldest_recorders(seen, self.kinds, BY_SERVER, [which], has=_has).get(which)
        if first is None or self._is_same_machine(found, first):
            return inventory
        return inventory.counted(which, presumed_mark(first))

    def _is_same_machine(self, found: Present[Any], other: Present[Any]) -> bool:
        """It is the object itself, its OpenStackMachine, or the same machine in the other API, which has its name: who
        acts decides which of the two APIs has the server."""
        if type(found.object) is type(other.object):
            return found.metadata.uid == other.metadata.uid
        if found.metadata.name != other.metadata.name:
            return False
        ours = [each for each in (found, other) if not isinstance(each.object, Machine)]
        if len(ours) == 2:
            return found.metadata.namespace == other.metadata.namespace
        return all(each.metadata.namespace == self.mirrors for each in ours)


def _has(other: Present[Any], which: str) -> bool:
    """The object has recorded the server; naming the server in its spec is not enough."""
    status = other.object.status
    if isinstance(other.object, Machine):
        shown = other.metadata.annotations.get(ID_ANNOTATION) == which
        return shown if status.phase == "Deleting" else status.phase not in (None, "", "Provisioning")
    return bool(status.instance_id == which)
