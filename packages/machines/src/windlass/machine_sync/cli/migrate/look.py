"""Reads everything that a pre-flight check needs: both sides, the objects they refer to, and a dry run of the change.

An object that we may not read is `Hidden`, and the report says so; other errors are raised.
"""

import asyncio
from collections.abc import Collection
from typing import Any

from msgspec import structs

from windlass.api import capi, mapi
from windlass.api.config import Infrastructure
from windlass.api.meta import K
from windlass.capability.conventions import complaints
from windlass.kube.client import Client, paths
from windlass.kube.control.seen import Absent, NotServedKind, Present, Reader, Seen, seen
from windlass.kube.errors import BadRequest, Forbidden, Invalid, NotFound, NotServed, WebhookFailed
from windlass.kube.object import Object
from windlass.kube.together import together
from windlass.kube.verbs import Api, PatchType
from windlass.machine_sync.cli.migrate.selection import ObjectKey
from windlass.machine_sync.constants import Namespaces
from windlass.machine_sync.conversion import platform_of_infrastructure
from windlass.machine_sync.platforms import Platform, platform_of_kind
from windlass.machine_sync.preflight import Candidate, Hidden, Look, Trial, Tried
from windlass.machine_sync.preflight.checks import cluster_name, infra_reference, owning_set
from windlass.machine_sync.preflight.report import Kind, there

FIELD_MANAGER = "windlass-migrate"

_TWIN: dict[Kind, type[Any]] = {mapi.Machine: capi.Machine, mapi.MachineSet: capi.MachineSet}


class Lists:
    """A reader for many objects: each kind is listed once, when it is first asked for."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._listed: dict[tuple[type[Any], str | None], asyncio.Task[dict[str, Object[Any]]]] = {}

    async def see(
        self, kind: type[K], name: str, *, namespace: str | None = None, confirm: bool = False, live: bool = False
    ) -> Seen[K]:
        """The object of this name at the time of the list."""
        place = (kind, namespace)
        if place not in self._listed:
            self._listed[place] = asyncio.create_task(self._list(kind, namespace))
        try:
            return seen((await self._listed[place]).get(name), confirmed=True)
        except NotServed as error:
            return NotServedKind(f"{kind.RESOURCE} is not served: {error}")

    async def _list(self, kind: type[Any], namespace: str | None) -> dict[str, Object[Any]]:
        listed = await self._api.list(kind, namespace=namespace)
        return {item.name: item for item in listed.items}


class Looker:
    """Reads candidates for `target`. `together`: the objects that move there with them."""

    def __init__(
        self, reader: Reader, *, places: Namespaces, target: str, together: Collection[ObjectKey] = frozenset()
    ) -> None:
        self._reader = reader
        self._places = places
        self._target = target
        self._together = frozenset(together)

    async def machine_api(self, key: ObjectKey) -> Look[Any]:
        return await self._see(key.kind, key.name, self._places.machine_api)

    async def __call__(self, key: ObjectKey) -> Candidate:
        """Everything except the dry run."""
        machine_api, cluster_api, infrastructure = await together(
            [
                self.machine_api(key),
                self._see(_TWIN[key.kind], key.name, self._places.cluster_api),
                self._see(Infrastructure, "cluster", None),
            ]
        )
        platform = platform_of_infrastructure(there(infrastructure))
        infra, infra_cluster, cluster, owner = await together(
            [
                self._infra(cluster_api, platform),
                self._infra_cluster(cluster_api, infrastructure, platform),
                self._cluster(cluster_api, infrastructure),
                self._owner(key, machine_api),
            ]
        )
        return Candidate(
            kind=key.kind,
            name=key.name,
            target=self._target,
            machine_api=machine_api,
            cluster_api=cluster_api,
            infra=infra,
            infra_cluster=infra_cluster,
            cluster=cluster,
            infrastructure=infrastructure,
            owner=owner,
            owner_moves=isinstance(owner, Present)
            and ObjectKey(mapi.MachineSet, owner.metadata.name) in self._together,
        )

    async def _infra(self, cluster_api: Look[Any], platform: Platform | None) -> Look[Any]:
        found = there(cluster_api)
        if found is None or not (reference := infra_reference(found)).name:
            return Absent()
        platform = platform_of_kind(reference.kind) or platform
        if platform is None:
            return Absent()
        kind = platform.infra_template if isinstance(found, capi.MachineSet) else platform.infra_machine
        return await self._see(kind, reference.name, self._places.cluster_api)

    async def _infra_cluster(
        self, cluster_api: Look[Any], infrastructure: Look[Any], platform: Platform | None
    ) -> Look[Any]:
        name = cluster_name(cluster_api, infrastructure)
        if (found := there(cluster_api)) is not None:
            platform = platform_of_kind(infra_reference(found).kind) or platform
        if platform is None or not name:
            return Absent()
        return await self._see(platform.infra_cluster, name, self._places.cluster_api)

    async def _cluster(self, cluster_api: Look[Any], infrastructure: Look[Any]) -> Look[Any]:
        name = cluster_name(cluster_api, infrastructure)
        return await self._see(capi.Cluster, name, self._places.cluster_api) if name else Absent()

    async def _owner(self, key: ObjectKey, machine_api: Look[Any]) -> Look[Any]:
        if key.kind is not mapi.Machine or not isinstance(machine_api, Present):
            return Absent()
        name = owning_set(machine_api.metadata)
        return await self._see(mapi.MachineSet, name, self._places.machine_api) if name else Absent()

    async def _see(self, kind: type[Any], name: str, namespace: str | None) -> Look[Any]:
        try:
            return await self._reader.see(kind, name, namespace=namespace)
        except Forbidden as error:
            return Hidden(complaints.explain(error))
        except BadRequest as error:
            # Invalid names are refused before they are sent.
            return Hidden(str(error))


def change(found: Present[Any], target: str) -> dict[str, Any]:
    """The merge patch that requests the migration; it is refused if the object has changed since it was read."""
    meta = found.metadata
    return {
        "metadata": {"uid": meta.uid, "resourceVersion": meta.resource_version},
        "spec": {"authoritativeAPI": target},
    }


async def try_out(client: Client, candidate: Candidate) -> Candidate:
    """With the answer of the API server, its validation and its admission policies to a dry run of the change."""
    found = candidate.machine_api
    if not isinstance(found, Present) or found.object.spec.authoritative_api == candidate.target:
        return candidate
    body = change(found, candidate.target)
    # Others may write meanwhile; that does not matter here.
    del body["metadata"]
    try:
        await client.request(
            "PATCH",
            paths.item(candidate.kind, candidate.name, found.metadata.namespace),
            query={"dryRun": "All", "fieldManager": FIELD_MANAGER, "fieldValidation": "Strict"},
            body=body,
            content_type=PatchType.MERGE.value,
        )
    except NotFound:
        return structs.replace(candidate, machine_api=Absent(confirmed=True))
    except (Forbidden, Invalid, BadRequest, WebhookFailed) as error:
        return structs.replace(candidate, trial=refusal(str(error), error.code))
    return structs.replace(candidate, trial=Trial(Tried.ACCEPTED))


def refusal(text: str, code: int) -> Trial:
    """Whether RBAC or a policy refused: both may answer 403, and only RBAC names the user."""
    if code == 403 and "cannot patch resource" in text:
        return Trial(Tried.NOT_ALLOWED, text)
    return Trial(Tried.REFUSED, text)
