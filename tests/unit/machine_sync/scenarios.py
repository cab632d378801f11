"""What scenarios of the crash harness are made of: a world to begin with, a process of ours, and who acts once."""

from collections.abc import Awaitable, Callable
from weakref import WeakSet

from windlass.api import mapi
from windlass.api.meta import KubernetesObject
from windlass.kube.errors import AlreadyExists, Conflict
from windlass.kube.verbs import Api, PatchType
from windlass.model import MemoryApi
from windlass.model.reader import MemoryReader
from windlass.testing.crash import Actor, Settle

from .process import Reconciled
from .trees import OURS, THEIRS, Tree


def copied(api: MemoryApi, *, into: MemoryApi) -> MemoryApi:
    """`into`, once it serves the kinds that only `api` does and holds the objects of `api`."""
    served = {kind.RESOURCE for kind in into.kinds}
    for kind in api.kinds:
        if kind.RESOURCE not in served:
            into.install(kind)
    into.load(*api.dump())
    return into


def settling(reconciled: Reconciled) -> Settle:
    """One process, which comes back after conflicts."""

    async def settle(api: Api, reader: MemoryReader) -> None:
        for _ in range(5):
            rest = await reconciled(api, reader)
            if not isinstance(rest.error, Conflict | AlreadyExists):
                return

    return settle


def at_once(_: MemoryApi) -> bool:
    return True


def once(do: Callable[[MemoryApi], Awaitable[object]], *, when: Callable[[MemoryApi], bool] = at_once) -> Actor:
    """An actor that acts once in each world, as soon as `when` holds."""
    done: WeakSet[MemoryApi] = WeakSet()

    async def act(api: MemoryApi) -> None:
        if api not in done and when(api):
            done.add(api)
            await do(api)

    return act


def deleting(kind: type[KubernetesObject], name: str, *, when: Callable[[MemoryApi], bool] = at_once) -> Actor:
    return once(lambda api: api.delete(kind, name, namespace=home(kind)), when=when)


def patching(
    kind: type[KubernetesObject],
    name: str,
    body: Tree,
    *,
    subresource: str = "",
    when: Callable[[MemoryApi], bool] = at_once,
) -> Actor:
    async def patch(api: MemoryApi) -> None:
        await api.patch(kind, name, body, type=PatchType.MERGE, namespace=home(kind), subresource=subresource)

    return once(patch, when=when)


def home(kind: type[KubernetesObject]) -> str:
    """The namespace of the objects of either API."""
    return OURS if kind.RESOURCE.group == mapi.Machine.RESOURCE.group else THEIRS
