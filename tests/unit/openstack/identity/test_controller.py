"""Secrets with credentials stay while something needs them."""

from typing import Any

import pytest

from windlass.api.capo import OpenStackMachine
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_identity import OpenStackClusterIdentity
from windlass.api.capo_pool import OpenStackFloatingIPPool
from windlass.api.capo_server import OpenStackServer
from windlass.api.core import Event, Secret
from windlass.kube.object import Object
from windlass.model import MemoryApi
from windlass.model.reader import MemoryReader
from windlass.openstack.constants import SECRET_FINALIZER
from windlass.openstack.identity.controller import identity_controller

from ..process import to_rest

Tree = dict[str, Any]

KINDS = (OpenStackCluster, OpenStackMachine, OpenStackServer, OpenStackFloatingIPPool)
GONE: Tree = {"deletionTimestamp": "2026-11-22T11:00:00Z", "finalizers": ["example.com/keep"]}


def secret(*finalizers: str, deleting: bool = False) -> Tree:
    gone = {"deletionTimestamp": "2026-11-22T11:00:00Z"} if deleting else {}
    meta = {"name": "cloud", "namespace": "ns", "finalizers": ["example.com/other", *finalizers], **gone}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": meta}


def user(kind: type[Any] = OpenStackCluster, ref: Tree | None = None, **meta: Any) -> Tree:
    resource = kind.RESOURCE
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": "one", "namespace": "ns", **meta},
        "spec": {"identityRef": {"cloudName": "prod", **(ref or {"type": "Secret", "name": "cloud"})}},
    }


IDENTITY: Tree = {
    "apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha1",
    "kind": "OpenStackClusterIdentity",
    "metadata": {"name": "shared"},
    "spec": {"secretRef": {"name": "cloud", "namespace": "ns"}},
}
SHARED = {"type": "ClusterIdentity", "name": "shared"}


def world(*trees: Tree) -> MemoryApi:
    api = MemoryApi(Secret, OpenStackClusterIdentity, *KINDS, Event)
    api.load(*trees)
    return api


async def rested(api: MemoryApi, *, namespace: str | None = None) -> list[str]:
    """The finalizers of the Secret once the controller has done what there was to do."""
    reader = MemoryReader(api)
    ending = await to_rest(identity_controller(reader, namespace=namespace), ("ns", "cloud"), api=api, reader=reader)
    assert not ending.failed, ending
    found = api.peek(Secret, "cloud", namespace="ns")
    return list(found.metadata.finalizers) if found is not None else []


@pytest.mark.parametrize(
    "trees",
    [
        *(pytest.param([user(kind)], id=kind.__name__) for kind in KINDS),
        pytest.param([user(**GONE)], id="one that is being deleted"),
        pytest.param([user(ref=SHARED), IDENTITY], id="an identity that is in use"),
        pytest.param([user(ref=SHARED, namespace="elsewhere"), IDENTITY], id="the same from another namespace"),
        pytest.param([{**user(), "status": {"conditions": "malformed"}}], id="a malformed one"),
    ],
)
async def test_a_secret_that_is_needed_gets_our_finalizer(trees: list[Tree]) -> None:
    assert await rested(world(secret(), *trees)) == ["example.com/other", SECRET_FINALIZER]


@pytest.mark.parametrize(
    "trees",
    [
        pytest.param([], id="nothing is left"),
        pytest.param([user(namespace="elsewhere")], id="a Secret of that name in another namespace"),
        pytest.param([user(ref={"type": "Secret", "name": "other"})], id="another Secret"),
        pytest.param([IDENTITY], id="an identity that nothing uses"),
        pytest.param([user(ref=SHARED)], id="an identity that does not exist"),
    ],
)
async def test_a_secret_that_nothing_needs_loses_our_finalizer(trees: list[Tree]) -> None:
    assert await rested(world(secret(SECRET_FINALIZER), *trees)) == ["example.com/other"]
    assert await rested(world(secret(), *trees)) == ["example.com/other"]


async def test_a_secret_that_is_deleted_too_early_stays_and_an_event_says_for_what() -> None:
    api = world(secret(SECRET_FINALIZER, deleting=True), user(), user(OpenStackServer))
    assert await rested(api) == ["example.com/other", SECRET_FINALIZER]
    (event,) = (found.decode() for found in api.listing(Event))
    assert event.reason == "CredentialsInUse"
    assert event.message == (
        "OpenStackCluster ns/one and 1 more need these credentials: the Secret is deleted when they are gone"
    )


async def test_a_secret_that_is_being_deleted_gets_no_finalizer() -> None:
    assert await rested(world(secret(deleting=True), user())) == ["example.com/other"]


async def test_limited_to_a_namespace_an_identity_counts_as_used() -> None:
    assert await rested(world(secret(), IDENTITY), namespace="ns") == ["example.com/other", SECRET_FINALIZER]


async def test_what_needs_a_secret_wakes_it() -> None:
    reader = MemoryReader(world(IDENTITY))
    controller = identity_controller(reader)
    reader.only(controller)
    maps = {watch.kind: watch.map for watch in controller.watches}
    for kind in KINDS:
        assert list(maps[kind](Object.of(kind, user(kind)))) == [("ns", "cloud")]
        assert list(maps[kind](Object.of(kind, user(kind, SHARED, namespace="elsewhere")))) == [("ns", "cloud")]
    assert list(maps[OpenStackClusterIdentity](Object.of(OpenStackClusterIdentity, IDENTITY))) == [("ns", "cloud")]
    assert list(maps[Secret](Object.of(Secret, secret()))) == [("ns", "cloud")]
