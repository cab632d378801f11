"""Holds a finalizer on each Secret with credentials while an object needs it: clean-up must reach the cloud.

| the Secret | needed | action |
|---|---|---|
| without our finalizer | yes | it is added |
| being deleted, with our finalizer | yes | an Event names what needs it |
| with our finalizer | no | it is removed |

A Secret is needed by OpenStackClusters, OpenStackMachines, OpenStackServers and OpenStackFloatingIPPools whose
`identityRef` names it, or names an OpenStackClusterIdentity that does; also while these are being deleted. Keys are
`(namespace, name)` of the Secret.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import partial
from typing import Any, Final

from windlass.api.capo import OpenStackMachine
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_identity import OpenStackClusterIdentity
from windlass.api.capo_pool import OpenStackFloatingIPPool
from windlass.api.capo_server import OpenStackServer
from windlass.api.core import Secret
from windlass.api.meta import KubernetesObject
from windlass.kube.control.asking import ObjectAnswerer
from windlass.kube.control.controller import Controller, Watch
from windlass.kube.control.permissions import emits_events, writes
from windlass.kube.control.plan import AddFinalizer, Outcome, Plan, target
from windlass.kube.control.question import KUBERNETES, Asking, Live
from windlass.kube.control.seen import IndexedReader, Present, Seen, seen
from windlass.kube.control.source import spec_differs
from windlass.kube.object import NamespacedName, Object
from windlass.openstack.constants import SECRET_FINALIZER
from windlass.openstack.identity import watches
from windlass.openstack.identity.find import BY_NAME
from windlass.openstack.objects import event, is_held, release

NAME: Final = "openstack-identity"
USERS: Final[tuple[type[KubernetesObject], ...]] = (
    OpenStackCluster,
    OpenStackMachine,
    OpenStackServer,
    OpenStackFloatingIPPool,
)
_IDENTITY_BY_NAME: Final = "own-name"


class IdentitySnapshot(Asking, frozen=True, kw_only=True):
    """`secret` as the cache of metadata has it, which does not show our own writes. `users`: what needs the Secret, for
    people."""

    secret: Seen[Secret]
    users: tuple[str, ...] = ()


def decide(seen: IdentitySnapshot, *, now: datetime) -> Plan:
    """The table above."""
    secret = seen.secret
    if isinstance(secret, Present) and (secret.deleting or is_held(secret) != bool(seen.users)):
        secret = seen.need(Live(Secret, secret.metadata.name, secret.metadata.namespace))
    if not isinstance(secret, Present):
        return Plan.nothing("there is no such Secret")
    finalizers = tuple(secret.metadata.finalizers)
    held = is_held(secret)
    if not seen.users:
        why = "nothing needs these credentials any more"
        return Plan.of(release(secret, why)) if held else Plan.nothing("nothing needs it")
    first, more = seen.users[0], len(seen.users) - 1
    needed = f"{first} needs these credentials" if not more else f"{first} and {more} more need these credentials"
    if secret.deleting:
        note = f"{needed}: the Secret is deleted when they are gone"
        return Plan.of(event(secret, "CredentialsInUse", note, warning=True) if held else None)
    return Plan.of(AddFinalizer(target=target(secret), observed=finalizers, finalizer=SECRET_FINALIZER, why=needed))


def identity_controller(
    reader: IndexedReader, *, namespace: str | None = None
) -> Controller[NamespacedName, IdentitySnapshot]:
    """The controller, of Secrets in `namespace` (None: all). With a `namespace`, what needs an OpenStackClusterIdentity
    elsewhere is unknown, so the identity itself counts."""

    async def observe(key: NamespacedName, _: Outcome) -> IdentitySnapshot:
        """What the caches say."""
        cached = next(iter(reader.indexed(Secret, BY_NAME, f"{key[0]}/{key[1]}")), None)
        users = () if cached is None else tuple(sorted(users_of(*key)))
        return IdentitySnapshot(secret=seen(cached), users=users)

    def users_of(place: str | None, name: str) -> Iterator[str]:
        yield from named(watches.by_secret(place, name))
        for identity in reader.indexed(OpenStackClusterIdentity, watches.BY_SECRET, f"{place}/{name}"):
            if namespace is not None:
                yield f"OpenStackClusterIdentity {identity.name}"
            yield from named(watches.by_cluster_identity(identity.name))

    def named(value: str) -> Iterator[str]:
        for kind in USERS:
            for found in reader.indexed(kind, watches.BY_IDENTITY, value):
                yield f"{kind.RESOURCE.kind} {found.namespace}/{found.name}"

    def of_user(found: Object[Any]) -> Iterable[NamespacedName]:
        for value in watches.identities(found):
            kind, _, rest = value.partition("/")
            if kind == "Secret":
                yield _key(rest)
            for identity in reader.known(OpenStackClusterIdentity, _IDENTITY_BY_NAME, value):
                yield from of_identity(identity)

    def of_identity(identity: Object[Any]) -> Iterable[NamespacedName]:
        return map(_key, watches.secrets(identity))

    watch = partial(Watch, namespace=namespace)
    return Controller(
        name=NAME,
        watches=(
            watch(
                Secret,
                lambda secret: [secret.key],
                indexes={BY_NAME: watches.own_name},
                metadata_only=True,
                when=_held_or_going,
            ),
            Watch(
                OpenStackClusterIdentity,
                of_identity,
                indexes={watches.BY_SECRET: watches.secrets, _IDENTITY_BY_NAME: _value},
                cache_only=True,
            ),
            *(
                watch(
                    kind, of_user, indexes={watches.BY_IDENTITY: watches.identities}, when=spec_differs, cache_only=True
                )
                for kind in USERS
            ),
        ),
        permissions=(writes(Secret, "patch", namespace=namespace), emits_events(namespace=namespace)),
        answerers={KUBERNETES: ObjectAnswerer(reader)},
        observe=observe,
        decide=decide,
    )


def _held_or_going(old: Object[Any] | None, new: Object[Any] | None) -> bool:
    """Other changes of Secrets, of which there are many, do not matter here."""
    if old is None or new is None or old.deleting != new.deleting:
        return True
    return (SECRET_FINALIZER in old.metadata.finalizers) != (SECRET_FINALIZER in new.metadata.finalizers)


def _value(identity: Object[Any]) -> tuple[str, ...]:
    return (watches.by_cluster_identity(identity.name),)


def _key(text: str) -> NamespacedName:
    namespace, _, name = text.partition("/")
    return namespace, name
