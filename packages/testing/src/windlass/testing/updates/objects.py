"""Reads and writes the objects of a played cluster: plain trees, and conditions that keep their times."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from windlass.api.meta import KubernetesObject
from windlass.kube.clock import Clock, rfc3339
from windlass.kube.errors import AlreadyExists
from windlass.kube.verbs import Api, PatchType

Tree: TypeAlias = dict[str, Any]


class Objects:
    """Objects of one API server, all of which this process writes alone. All methods raise `KubeError` leaves."""

    def __init__(self, api: Api, clock: Clock) -> None:
        self.api = api
        self.clock = clock

    @property
    def now(self) -> str:
        """The time as the API has it."""
        return rfc3339(self.clock.now())

    async def create(self, kind: type[KubernetesObject], body: Tree, *, namespace: str | None = None) -> None:
        """Create the object, and write its status if `body` has one."""
        whole = {"apiVersion": kind.RESOURCE.api_version, "kind": kind.RESOURCE.kind, **body}
        whole.pop("status", None)
        await self.api.create(kind, whole, namespace=namespace)
        await self._write_status_of(kind, body, namespace=namespace)

    async def ensure(self, kind: type[KubernetesObject], body: Tree, *, namespace: str | None = None) -> None:
        """Create the object, or merge `body` into the one that an earlier update or cluster has left."""
        try:
            await self.create(kind, body, namespace=namespace)
        except AlreadyExists:
            await self.patch(kind, body["metadata"]["name"], body, namespace=namespace)
            await self._write_status_of(kind, body, namespace=namespace)

    async def get(self, kind: type[KubernetesObject], name: str) -> Tree:
        """A cluster-scoped object."""
        return (await self.api.get(kind, name)).tree()

    async def all(self, kind: type[KubernetesObject]) -> list[Tree]:
        """All objects of the kind."""
        return [found.tree() for found in (await self.api.list(kind)).items]

    async def patch(
        self, kind: type[KubernetesObject], name: str, change: Mapping[str, Any], *, namespace: str | None = None
    ) -> None:
        """Merge `change` into the object; its status stays as it is."""
        await self.api.patch(kind, name, change, type=PatchType.MERGE, namespace=namespace)

    async def report(
        self,
        kind: type[KubernetesObject],
        name: str,
        *conditions: Tree,
        change: Callable[[Tree], None] = lambda _: None,
    ) -> None:
        """Write the status of a cluster-scoped object: `change` edits what is there, then `conditions` are set."""
        status = (await self.get(kind, name)).get("status") or {}
        change(status)
        status["conditions"] = merged(status.get("conditions") or [], conditions, now=self.now)
        await self._write_status_of(kind, {"metadata": {"name": name}, "status": status})

    async def _write_status_of(self, kind: type[KubernetesObject], body: Tree, *, namespace: str | None = None) -> None:
        if "status" not in body:
            return
        # A merge patch would remove the null that the completionTime of an update in progress must have.
        operations = [{"op": "add", "path": "/status", "value": body["status"]}]
        name = body["metadata"]["name"]
        await self.api.patch(
            kind, name, operations, type=PatchType.JSON, namespace=namespace, subresource="status"
        )  # fmt: skip


def condition(type: str, status: bool | str, reason: str = "", message: str = "") -> Tree:  # noqa: A002
    """A condition without a time. An empty reason is left out, as operators do."""
    found = {"type": type, "status": str(status), "message": message}
    return {**found, "reason": reason} if reason else found


def merged(old: Iterable[Tree], new: Iterable[Tree], *, now: str) -> list[Tree]:
    """`old` with each of `new` in the place of the one of its type; the time moves when the status does."""
    found = {one["type"]: one for one in old}
    for one in new:
        before = found.get(one["type"], {})
        since = before["lastTransitionTime"] if before.get("status") == one["status"] else now
        found[one["type"]] = {**one, "lastTransitionTime": since}
    return list(found.values())


def is_true(tree: Tree, type: str) -> bool:  # noqa: A002
    """Whether the object has this condition, with status True."""
    conditions = (tree.get("status") or {}).get("conditions") or []
    return any(one["type"] == type and one["status"] == "True" for one in conditions)
