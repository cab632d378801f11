"""The garbage collector of the in-memory API server: one pass that goes on until nothing more has to go.

Call it where a test wants it to happen, or give it to the crash harness as an actor. It makes ordinary requests, so
faults that were ordered for deletes and patches may hit it.
"""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from windlass.api.meta import KubernetesObject, OwnerReference
from windlass.kube.object import Object
from windlass.kube.verbs import PatchType
from windlass.model import MemoryApi
from windlass.model.writes import FOREGROUND, ORPHAN


class _Found(Struct, frozen=True):
    object: Object[Any]
    owners: tuple[OwnerReference, ...]
    finalizers: tuple[str, ...]


async def collect_garbage(api: MemoryApi) -> int:
    """Delete what has lost all its owners, and finish foreground and orphan deletions. Returns the writes it took.

    An owner is lost if no object has its uid, provided that its kind is registered: what the collector cannot look up
    it leaves alone. What an owner that goes in the foreground waits for goes in the foreground itself, if it owns
    something.
    """
    began = api.version
    while await _pass(api):
        pass
    return api.version - began


async def _pass(api: MemoryApi) -> bool:
    before = api.version
    everything = list(_all(api))
    alive = {found.object.uid for found in everything}
    owning = {owner.uid for found in everything for owner in found.owners}
    known = {(kind.RESOURCE.api_version, kind.RESOURCE.kind) for kind in api.kinds}
    for owner in everything:
        if owner.object.deleting and {FOREGROUND, ORPHAN} & {*owner.finalizers}:
            dependents = [found for found in everything if any(o.uid == owner.object.uid for o in found.owners)]
            await _finish(api, owner, dependents, owning=owning)
    for found in everything:
        lost = [o for o in found.owners if o.uid not in alive and (o.api_version, o.kind) in known]
        if not lost or api.peek(found.object.kind, found.object.name, namespace=found.object.namespace) is None:
            continue
        if len(lost) < len(found.owners):
            await _disown(api, found, {owner.uid for owner in lost})
        elif not found.object.deleting:
            await _delete(api, found.object)
    return api.version != before


async def _finish(api: MemoryApi, owner: _Found, dependents: list[_Found], *, owning: set[str]) -> None:
    uid = owner.object.uid
    if ORPHAN in owner.finalizers:
        for dependent in dependents:
            await _disown(api, dependent, {uid})
        await _release(api, owner, ORPHAN)
        return
    blocking = [d for d in dependents if any(o.uid == uid and o.block_owner_deletion for o in d.owners)]
    for dependent in blocking:
        if not dependent.object.deleting:
            await _delete(api, dependent.object, "Foreground" if dependent.object.uid in owning else "")
    if not blocking:
        await _release(api, owner, FOREGROUND)


async def _delete(api: MemoryApi, found: Object[Any], propagation: str = "") -> None:
    await api.delete(found.kind, found.name, namespace=found.namespace, uid=found.uid, propagation=propagation)


async def _disown(api: MemoryApi, found: _Found, uids: set[str]) -> None:
    owners = [o for o in found.object.tree()["metadata"]["ownerReferences"] if o["uid"] not in uids]
    await _patch(api, found.object, {"ownerReferences": owners or None})


async def _release(api: MemoryApi, found: _Found, finalizer: str) -> None:
    left = [name for name in found.finalizers if name != finalizer]
    await _patch(api, found.object, {"finalizers": left or None})


async def _patch(api: MemoryApi, found: Object[Any], metadata: dict[str, Any]) -> None:
    body = {"metadata": {"uid": found.uid, **metadata}}
    await api.patch(
        found.kind,
        found.name,
        body,
        type=PatchType.MERGE,
        namespace=found.namespace,
        field_manager="garbage-collector",
    )


def _all(api: MemoryApi) -> Iterator[_Found]:
    kinds: tuple[type[KubernetesObject], ...] = api.kinds
    for kind in kinds:
        for found in api.listing(kind):
            meta = found.metadata
            yield _Found(found, tuple(meta.owner_references), tuple(meta.finalizers))
