"""The client against a real API server: each verb, and what the server really says when it refuses."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any, ClassVar

import msgspec
import pytest
from msgspec import Struct, field

from windlass.api.authentication import TokenReview
from windlass.api.core import Namespace, Secret
from windlass.api.meta import ObjectMeta, Resource
from windlass.kube import config, errors
from windlass.kube.client import Client
from windlass.kube.client.watch import Event, EventType
from windlass.kube.config import Impersonation
from windlass.kube.verbs import Api, PatchType
from windlass.testing import ControlPlane
from windlass.testing.plane.facade import PlaneAccess

pytestmark = pytest.mark.plane

GROUP = "client.windlass.test"


class ConfigMap(Struct):
    RESOURCE: ClassVar[Resource] = Resource("", "v1", "ConfigMap", "configmaps")
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    data: dict[str, str] = field(default_factory=dict)


class Gadget(Struct):
    """A custom resource with a status and one required field."""

    RESOURCE: ClassVar[Resource] = Resource(GROUP, "v1", "Gadget", "gadgets")
    metadata: ObjectMeta = field(default_factory=ObjectMeta)


class Unheard(Struct):
    """A kind of a group that is not served."""

    RESOURCE: ClassVar[Resource] = Resource("unheard.of", "v1", "Unheard", "unheards")
    metadata: ObjectMeta = field(default_factory=ObjectMeta)


class Absent(Struct):
    """A kind that is not in a group that is served."""

    RESOURCE: ClassVar[Resource] = Resource("apps", "v1", "Absent", "absents")
    metadata: ObjectMeta = field(default_factory=ObjectMeta)


def crd() -> dict[str, Any]:
    spec = {"type": "object", "required": ["size"], "properties": {"size": {"type": "integer"}}}
    status = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": spec, "status": status}}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"gadgets.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget"},
            "versions": [version],
        },
    }


@pytest.fixture
async def client(windlass_plane: PlaneAccess) -> AsyncIterator[Client]:
    async with Client(config.load(kubeconfig=windlass_plane.kubeconfig())) as client:
        yield client


@pytest.fixture
def here(windlass_namespace: str) -> str:
    return windlass_namespace


@pytest.fixture
async def gadgets(windlass_plane: PlaneAccess) -> None:
    await windlass_plane.apply_crds(crd())


async def test_an_object_lives_through_all_verbs(client: Client, here: str) -> None:
    api: Api = client
    made = await api.create(ConfigMap, {"metadata": {"name": "a"}, "data": {"x": "1"}}, namespace=here)
    assert (made.key, made.decode().data) == ((here, "a"), {"x": "1"})
    conditional = {"metadata": {"resourceVersion": made.resource_version}, "data": {"x": None, "y": "2"}}
    merged = await api.patch(ConfigMap, "a", conditional, type=PatchType.MERGE, namespace=here)
    assert merged.decode().data == {"y": "2"}
    operations = [{"op": "add", "path": "/data/z", "value": "3"}]
    patched = await api.patch(ConfigMap, "a", operations, type=PatchType.JSON, namespace=here)
    assert patched.decode().data == {"y": "2", "z": "3"}
    applied = await client.apply(ConfigMap, "a", {"data": {"y": "4"}}, namespace=here, field_manager="windlass-y")
    assert applied.decode().data == {"y": "4", "z": "3"}
    assert (await api.get(ConfigMap, "a", namespace=here)).resource_version == applied.resource_version
    listed = await api.list(ConfigMap, namespace=here, field_selector="metadata.name=a")
    assert [item.raw for item in listed.items] == [applied.raw]
    assert await api.delete(ConfigMap, "a", namespace=here, uid=made.uid) is None
    with pytest.raises(errors.NotFound):
        await api.get(ConfigMap, "a", namespace=here)


async def test_a_delete_returns_what_finalizers_keep(client: Client, here: str) -> None:
    body = {"metadata": {"name": "kept", "finalizers": ["windlass.test/keep"]}}
    await client.create(ConfigMap, body, namespace=here)
    kept = await client.delete(ConfigMap, "kept", namespace=here)
    assert kept is not None
    assert kept.deleting
    await client.patch(ConfigMap, "kept", {"metadata": {"finalizers": None}}, type=PatchType.MERGE, namespace=here)
    with pytest.raises(errors.NotFound):
        await client.get(ConfigMap, "kept", namespace=here)


async def test_preconditions_of_writes_are_conflicts(client: Client, here: str) -> None:
    made = await client.create(ConfigMap, {"metadata": {"name": "a"}}, namespace=here)
    stale = {"metadata": {"resourceVersion": "1"}, "data": {"x": "1"}}
    with pytest.raises(errors.Conflict):
        await client.patch(ConfigMap, "a", stale, type=PatchType.MERGE, namespace=here)
    with pytest.raises(errors.Conflict):
        await client.delete(ConfigMap, "a", namespace=here, uid="another")
    with pytest.raises(errors.Conflict):
        await client.delete(ConfigMap, "a", namespace=here, resource_version="1")
    with pytest.raises(errors.AlreadyExists):
        await client.create(ConfigMap, {"metadata": {"name": "a"}}, namespace=here)
    assert (await client.get(ConfigMap, "a", namespace=here)).uid == made.uid


async def test_an_apply_with_a_uid_never_creates(client: Client, here: str) -> None:
    with pytest.raises(errors.Conflict, match="uid mismatch"):
        await client.apply(ConfigMap, "gone", {"metadata": {"uid": "was-here"}, "data": {}}, namespace=here)


async def test_a_field_of_another_manager_is_a_conflict_unless_forced(client: Client, here: str) -> None:
    await client.apply(ConfigMap, "a", {"data": {"x": "1"}}, namespace=here, field_manager="one")
    with pytest.raises(errors.Conflict) as caught:
        await client.apply(ConfigMap, "a", {"data": {"x": "2"}}, namespace=here, field_manager="two", force=False)
    assert [cause.field for cause in caught.value.status.details.causes] == [".data.x"]
    forced = await client.apply(ConfigMap, "a", {"data": {"x": "2"}}, namespace=here, field_manager="two")
    assert forced.decode().data == {"x": "2"}


async def test_a_missing_object_is_not_found_but_served(client: Client, here: str, gadgets: None) -> None:
    for kind in (ConfigMap, Gadget):
        for attempt in (
            client.get(kind, "no", namespace=here),
            client.get(kind, "no", namespace="no-such-namespace"),
            client.delete(kind, "no", namespace=here),
            client.patch(kind, "no", {"metadata": {"labels": {}}}, type=PatchType.MERGE, namespace=here),
        ):
            with pytest.raises(errors.NotFound) as caught:
                await attempt
            assert type(caught.value) is errors.NotFound
            assert caught.value.status.details.name == "no"


async def test_a_missing_kind_is_not_served(client: Client, here: str, gadgets: None) -> None:
    for kind in (Unheard, Absent):
        for attempt in (
            client.get(kind, "no", namespace=here),
            client.list(kind),
            client.list(kind, namespace=here),
            client.create(kind, {"metadata": {"name": "no"}}, namespace=here),
            client.delete(kind, "no", namespace=here),
            client.apply(kind, "no", {}, namespace=here),
        ):
            with pytest.raises(errors.NotServed):
                await attempt
        with pytest.raises(errors.NotServed):
            await first(client, kind)


async def test_a_create_in_a_missing_namespace_names_the_namespace(client: Client, gadgets: None) -> None:
    for kind in (ConfigMap, Gadget):
        with pytest.raises(errors.NotFound) as caught:
            await client.create(kind, {"metadata": {"name": "a"}, **spec(kind)}, namespace="no-such-namespace")
        assert type(caught.value) is errors.NotFound
        assert (caught.value.status.details.kind, caught.value.status.details.name) == (
            "namespaces",
            "no-such-namespace",
        )


def spec(kind: type[Any]) -> dict[str, Any]:
    return {"spec": {"size": 1}} if kind is Gadget else {}


async def test_an_unknown_field_is_refused_and_not_dropped(client: Client, here: str, gadgets: None) -> None:
    body = {"metadata": {"name": "a"}, "spec": {"size": 1, "colour": "red"}}
    with pytest.raises(errors.BadRequest, match=r'unknown field "spec.colour"'):
        await client.create(Gadget, body, namespace=here)
    await client.create(Gadget, {"metadata": {"name": "a"}, "spec": {"size": 1}}, namespace=here)
    with pytest.raises(errors.ApiError, match=r'unknown field "spec.colour"'):
        await client.patch(Gadget, "a", {"spec": {"colour": "red"}}, type=PatchType.MERGE, namespace=here)
    with pytest.raises(errors.ApiError, match=r"colour"):
        await client.apply(Gadget, "a", {"spec": {"colour": "red"}}, namespace=here)


async def test_an_object_that_breaks_its_schema_is_invalid(client: Client, here: str, gadgets: None) -> None:
    with pytest.raises(errors.Invalid) as caught:
        await client.create(Gadget, {"metadata": {"name": "a"}, "spec": {}}, namespace=here)
    assert [cause.field for cause in caught.value.status.details.causes] == ["spec.size"]


async def test_a_status_is_written_through_its_subresource(client: Client, here: str, gadgets: None) -> None:
    await client.create(Gadget, {"metadata": {"name": "a"}, "spec": {"size": 1}}, namespace=here)
    change = {"spec": {"size": 2}, "status": {"phase": "Ready"}}
    written = await client.patch(Gadget, "a", change, type=PatchType.MERGE, namespace=here, subresource="status")
    assert written.tree()["spec"] == {"size": 1}
    assert written.tree()["status"] == {"phase": "Ready"}


async def test_a_list_larger_than_a_page_is_complete_and_of_one_moment(client: Client, here: str) -> None:
    for number in range(7):
        await client.create(ConfigMap, {"metadata": {"name": f"c-{number}", "labels": {"of": "list"}}}, namespace=here)
    pages = []
    async for page in client.list_pages(ConfigMap, namespace=here, label_selector="of=list", page_size=3):
        pages.append(page)
        await client.create(
            ConfigMap, {"metadata": {"name": f"z-{len(pages)}", "labels": {"of": "list"}}}, namespace=here
        )
    assert [[item.name for item in page.items] for page in pages] == [
        ["c-0", "c-1", "c-2"],
        ["c-3", "c-4", "c-5"],
        ["c-6"],
    ]
    assert [page.first for page in pages] == [True, False, False]
    assert len({page.resource_version for page in pages}) == 1


async def test_items_of_a_list_look_like_objects_that_were_got(client: Client, here: str, gadgets: None) -> None:
    await client.create(Secret, {"metadata": {"name": "a"}, "data": {"x": "eA=="}}, namespace=here)
    await client.create(Gadget, {"metadata": {"name": "a"}, "spec": {"size": 1}}, namespace=here)
    kinds: tuple[type[Secret] | type[Gadget], ...] = (Secret, Gadget)
    for kind in kinds:
        listed = await client.list(kind, namespace=here, field_selector="metadata.name=a")
        assert listed.items[0].tree() == (await client.get(kind, "a", namespace=here)).tree()


async def test_secrets_can_be_read_without_their_content(client: Client, here: str) -> None:
    body = {"metadata": {"name": "a", "labels": {"of": "us"}}, "data": {"password": "aHVudGVyMg=="}}
    made = await client.create(Secret, body, namespace=here)
    got = await client.metadata.get(Secret, "a", namespace=here)
    listed = await client.metadata.list(Secret, namespace=here, label_selector="of=us")
    watched = await first(client.metadata, Secret, namespace=here, send_initial_events=True)
    for seen in (got, *listed.items, watched.object):
        assert (seen.uid, seen.resource_version, seen.metadata.labels) == (
            made.uid,
            made.resource_version,
            {"of": "us"},
        )
        assert b"aHVudGVyMg" not in seen.raw


async def first(reader: Any, kind: type[Any], **how: Any) -> Event[Any]:
    async with aclosing(reader.watch(kind, timeout_seconds=30, **how)) as happening:
        event: Event[Any] = await anext(happening)
        return event


async def test_a_watch_goes_on_from_a_list(client: Client, here: str) -> None:
    listed = await client.list(ConfigMap, namespace=here)
    await client.create(ConfigMap, {"metadata": {"name": "a"}}, namespace=here)
    await client.patch(ConfigMap, "a", {"data": {"x": "1"}}, type=PatchType.MERGE, namespace=here)
    await client.delete(ConfigMap, "a", namespace=here)
    happened = []
    async with aclosing(
        client.watch(ConfigMap, namespace=here, resource_version=listed.resource_version, timeout_seconds=60)
    ) as happening:
        async for event in happening:
            # The namespace's CA bundle is put in by a controller at some moment.
            if event.object.name == "a":
                happened.append(event.type)
            if event.type is EventType.DELETED:
                break
    assert happened == [EventType.ADDED, EventType.MODIFIED, EventType.DELETED]


async def test_a_streaming_list_says_when_it_is_complete(client: Client, here: str) -> None:
    for name in ("a", "b"):
        await client.create(ConfigMap, {"metadata": {"name": name, "labels": {"of": "us"}}}, namespace=here)
    names = set()
    async with aclosing(
        client.watch(ConfigMap, namespace=here, label_selector="of=us", send_initial_events=True, timeout_seconds=60)
    ) as happening:
        async for event in happening:
            if event.ends_initial_events:
                break
            names.add(event.object.name)
    assert names == {"a", "b"}


async def test_a_watch_ends_normally_when_the_server_has_had_enough(client: Client, here: str) -> None:
    listed = await client.list(Secret, namespace=here)
    follow = client.watch(Secret, namespace=here, resource_version=listed.resource_version, timeout_seconds=1)
    assert [event.type async for event in follow if event.type is not EventType.BOOKMARK] == []


async def test_a_token_is_reviewed(client: Client, windlass_plane: PlaneAccess) -> None:
    token = (await client.config.credentials.current()).authorization.removeprefix("Bearer ")
    review = (await client.create(TokenReview, {"spec": {"token": token}})).decode()
    assert review.status.authenticated
    assert not (await client.create(TokenReview, {"spec": {"token": "nonsense"}})).decode().status.authenticated


async def test_an_impersonated_user_has_that_users_rights(windlass_plane: PlaneAccess, here: str) -> None:
    jane = config.load(kubeconfig=windlass_plane.kubeconfig(), impersonate=Impersonation("jane", ("dev",)))
    async with Client(jane) as client:
        with pytest.raises(errors.Forbidden, match='User "jane" cannot list resource "secrets"'):
            await client.list(Secret, namespace=here)


async def test_a_token_that_nobody_knows_is_unauthorized(windlass_plane: PlaneAccess) -> None:
    admin = config.load(kubeconfig=windlass_plane.kubeconfig())
    stranger = msgspec.structs.replace(admin, credentials=config.FixedCredential(config.Credential("Bearer nonsense")))
    async with Client(stranger) as client:
        with pytest.raises(errors.Unauthorized):
            await client.get(Namespace, "default")


async def test_requests_that_have_no_verb_are_possible_too(client: Client) -> None:
    assert b'"gitVersion"' in await client.request("GET", "/version")
    assert await client.request("GET", "/readyz/ping", query={"exclude": "etcd"}, accept="*/*") == b"ok"


async def test_history_that_is_forgotten_is_gone_at_every_stage(windlass_module_plane: ControlPlane) -> None:
    async with Client(config.load(kubeconfig=windlass_module_plane.kubeconfig())) as client:
        for name in ("a", "b", "c"):
            await client.create(ConfigMap, {"metadata": {"name": name, "labels": {"of": "us"}}}, namespace="default")
        old = (await client.list(ConfigMap)).resource_version
        pages = []
        async for page in client.list_pages(ConfigMap, label_selector="of=us", page_size=2):
            pages.append(([item.name for item in page.items], page.first))
            if len(pages) == 1:
                # Without a later revision, that of the list would be the one that is kept.
                await client.create(ConfigMap, {"metadata": {"name": "later"}}, namespace="default")
                await windlass_module_plane.forget_history()
        assert pages == [(["a", "b"], True), (["a", "b"], True), (["c"], False)]
        with pytest.raises(errors.Gone):
            await first(client, ConfigMap, resource_version=old)


async def test_a_dead_server_is_no_answer_and_a_new_one_is_found_again(windlass_module_plane: ControlPlane) -> None:
    async with Client(config.load(kubeconfig=windlass_module_plane.kubeconfig())) as client:
        listed = await client.list(Secret)
        watching = asyncio.create_task(first(client, Secret, resource_version=listed.resource_version, bookmarks=False))
        await client.get(Namespace, "default")
        await windlass_module_plane.kill_apiserver()
        # A write could still find the old connection open, and what became of it would be unknown.
        with pytest.raises(errors.TransportError):
            await client.get(Namespace, "default")
        with pytest.raises(errors.TransportError) as caught:
            await client.create(ConfigMap, {"metadata": {"name": "a"}}, namespace="default")
        assert not caught.value.unknown_outcome
        with pytest.raises(errors.TransportError):
            await watching
        await windlass_module_plane.restart_apiserver()
        assert (await client.get(Namespace, "default")).name == "default"
