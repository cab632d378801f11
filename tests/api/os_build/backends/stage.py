"""Builder backends on a real API server, with the rights that they declare and no others.

The reader is that of a running controller, which decides nothing: tests carry out the actions of the backend.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Any, Final

from tests.authorizer import allowed
from tests.waiting import eventually
from windlass.api.core import ConfigMap
from windlass.api.machineconfiguration import MachineConfigPool
from windlass.api.meta import KubernetesObject
from windlass.capability.manifests import rights
from windlass.kube import config
from windlass.kube.client import Client
from windlass.kube.control.controller import Controller
from windlass.kube.control.executor import Executor
from windlass.kube.control.permissions import Declaration, Declared
from windlass.kube.control.plan import Action, Outcome, Plan, Target
from windlass.kube.control.reader import CacheReader
from windlass.kube.errors import AlreadyExists, Forbidden
from windlass.kube.process.manager import Manager
from windlass.kube.process.tasks import end
from windlass.kube.verbs import Api, ApiRequest
from windlass.os_build.builder import Backend, BuildState, Deadlines, Order
from windlass.os_build.credentials import Auths, Secrets
from windlass.os_build.identity import build_name, inputs_of
from windlass.os_build.inputs.context import Context
from windlass.os_build.pullspec import Target as Repository
from windlass.os_build.request import Request
from windlass.testing import PlaneAccess

ACCOUNT: Final = "windlass-os-build"
DIGEST: Final = "sha256:" + "ab" * 32


def order(
    pool: Target,
    *,
    attempt: int = 1,
    deadlines: Deadlines | None = None,
    to: str = "registry.example.com/org/os",
    files: Mapping[str, bytes] = MappingProxyType({}),
) -> Order:
    """A build of the pool; `files` are those of its context, beside or instead of a Containerfile."""
    request = Request(
        pool=pool.name,
        config=f"rendered-{pool.name}-{'1' * 32}",
        target=Repository.parse(to),
        pull_secret="pull",
        push_secret="push",
    )
    inputs = inputs_of(request, applied_by="tree")
    none = Auths({}, b'{"auths":{}}')
    return Order(
        name=build_name(pool.name, inputs, attempt),
        inputs=str(inputs),
        attempt=attempt,
        pool=pool,
        request=request,
        context=Context({"Containerfile": b"FROM base\n", **files}),
        secrets=Secrets(none, none, versions="7,9"),
        deadlines=deadlines or Deadlines(),
    )


class Unused(Api):
    """The server of a backend that is only asked what it declares."""

    async def send(self, request: ApiRequest[Any], /) -> Any:
        raise AssertionError(f"{request} was not expected")


class Stage:
    """`client` may do everything; `backend` looks, and `apply` writes, as the capability's ServiceAccount."""

    def __init__(
        self, client: Client, namespace: str, *, ours: Client | None, backend: Backend, executor: Executor
    ) -> None:
        self.client = client
        self._ours = ours
        self.namespace = namespace
        self.backend = backend
        self._executor = executor

    async def pool(self, name: str) -> Target:
        """A new MachineConfigPool. Pools are cluster-scoped: its name begins with that of the namespace."""
        body = {"metadata": {"name": f"{self.namespace}-{name}"}, "spec": {"configuration": {}}}
        made = await self.client.create(MachineConfigPool, body)
        if self._ours is not None:
            await until_owner(self._ours, MachineConfigPool, namespace=self.namespace)
        return Target(MachineConfigPool, made.name, uid=made.uid)

    async def tried(self, *actions: Action) -> Outcome:
        return await self._executor.apply(Plan(actions))

    async def apply(self, *actions: Action) -> None:
        outcome = await self.tried(*actions)
        assert outcome.error is None, str(outcome.error)

    async def start(self, wanted: Order) -> None:
        await self.apply(*self.backend.start(wanted))

    async def until(self, pool: Target, holds: Callable[[BuildState], Any], *, what: str = "") -> BuildState:
        """The one build of the pool once `holds` is true of it."""

        async def look() -> Sequence[BuildState]:
            return self.backend.look(pool.name)

        [state] = await eventually(look, lambda found: len(found) == 1 and holds(found[0]), what=what)
        return state

    async def clean(self, pool: Target) -> None:
        for state in self.backend.look(pool.name):
            await self.apply(*self.backend.clean(state, why="it is not wanted any more"))

    async def until_gone(self, pool: Target, *kinds: Any) -> None:
        """Wait until no object of these kinds, nor a ConfigMap, is left of the pool's builds."""
        prefix = order(pool).name

        async def left() -> list[str]:
            found = [each for kind in (ConfigMap, *kinds) for each in await self.all(kind)]
            return [each.name for each in found if each.name.startswith(prefix)]

        await eventually(left, lambda names: names == [], what=f"nothing is left of {prefix}")

    async def all(self, kind: Any) -> list[Any]:
        return (await self.client.list(kind, namespace=self.namespace)).items


@asynccontextmanager
async def at_work(
    plane: PlaneAccess,
    namespace: str,
    make: Callable[[CacheReader], Backend],
    *,
    declared: Callable[[Sequence[Declaration]], Sequence[Declaration]] = lambda all_of_them: all_of_them,
) -> AsyncIterator[Stage]:
    """A process that has just started. `declared` changes what the ServiceAccount may do."""
    made: list[tuple[CacheReader, Backend]] = []

    def controller(reader: CacheReader) -> Controller[str, None]:
        backend = make(reader)
        made.append((reader, backend))

        async def observe(_: str, __: Outcome) -> None:
            return None

        return Controller(
            name="looks-only",
            watches=backend.watches,
            permissions=backend.permissions,
            observe=observe,
            decide=lambda _, *, now: Plan.nothing(),
        )

    account = rights.ServiceAccount(namespace, ACCOUNT)
    full = controller(CacheReader(Unused())).declared
    made.clear()
    granted = declared(full)
    # The names of cluster-scoped roles are those of the account: one per namespace, or tests would share their rights.
    documents = [renamed(each, namespace) for each in rights.documents(granted, service_account=account)]
    await plane.apply(*(each for each in documents if each["kind"] != "Namespace"))
    ours = await plane.service_account_kubeconfig(namespace, ACCOUNT)
    await allowed(plane.blocking.rest, account.user, "create", "configmaps", namespace=namespace)
    async with (
        Client(config.load(kubeconfig=plane.kubeconfig())) as client,
        Client(config.load(kubeconfig=ours)) as limited,
        Manager(limited) as manager,
    ):
        await manager.start(controller)
        [(reader, backend)] = made
        running = asyncio.create_task(manager.run())
        try:
            await manager.filled.wait()
            executor = Executor(limited, ledger=reader, permits=Declared(full))
            # One with fewer rights may never own.
            owner = limited if granted == full else None
            yield Stage(client, namespace, ours=owner, backend=backend, executor=executor)
        finally:
            manager.shut_down()
            await end(running)


def renamed(document: Any, namespace: str) -> Any:
    """The manifest of a role, with a name that no other namespace has."""
    if not document["kind"].startswith("ClusterRole"):
        return document
    renamed = {**document, "metadata": {**document["metadata"], "name": f"{namespace}-{document['metadata']['name']}"}}
    if "roleRef" in document:
        renamed["roleRef"] = {**document["roleRef"], "name": f"{namespace}-{document['roleRef']['name']}"}
    return renamed


async def until_owner(ours: Client, kind: type[KubernetesObject], *, namespace: str) -> None:
    """Admission of owner references learns of a new kind some seconds after the API server serves it."""
    owner = {"apiVersion": kind.RESOURCE.api_version, "kind": kind.RESOURCE.kind, "name": "nobody", "uid": "none"}
    body = {"metadata": {"name": "owned", "ownerReferences": [{**owner, "blockOwnerDeletion": True}]}}

    async def taken() -> bool:
        try:
            await ours.create(ConfigMap, body, namespace=namespace)
        except AlreadyExists:
            return True
        except Forbidden:
            return False
        return True

    await eventually(taken, what=f"admission to know {kind.RESOURCE.plural}")
