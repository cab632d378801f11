"""A crash between any two writes is harmless while the Machine API is authoritative."""

from typing import Any, ClassVar

import pytest
from msgspec import Struct

from windlass.api import capi, capo, mapi
from windlass.api.meta import ObjectMeta, Resource, always
from windlass.kube.verbs import PatchType
from windlass.model import MemoryApi
from windlass.model.garbage import collect_garbage
from windlass.testing.crash import Actor, crash_everywhere

from ..scenarios import deleting, patching
from .actors import cluster_api_core, machine_api_controllers, provider
from .aws_cases import AWS_VALUE, on_aws
from .cases import CAPI_MACHINE, GONE, INFRA, INFRA_FINALIZER, MAPI_MACHINE, PAUSED, Tree, changed
from .scenarios import CAPI_AT_END, MAPI_AT_END, scenario
from .world import NAME, OURS, THEIRS, at_rest, synchronized, tree_of, typed, world

INFRA_AT_END = "OpenStackMachine.infrastructure.cluster.x-k8s.io/v1beta1 openshift-cluster-api/w-0"
AWS_AT_END = "AWSMachine.infrastructure.cluster.x-k8s.io/v1beta2 openshift-cluster-api/w-0"
ALL = (machine_api_controllers, cluster_api_core, provider, collect_garbage)
ALONE: Tree = {"machine_api": MAPI_MACHINE, "cluster_api": None, "infra_machine": None}
OF_CLUSTER_API = changed(MAPI_MACHINE, spec__authoritativeAPI="ClusterAPI", status__authoritativeAPI="ClusterAPI")


class Server(Struct, kw_only=True, frozen=True):
    """What OpenStack's provider keeps an instance in."""

    RESOURCE: ClassVar = Resource("infrastructure.cluster.x-k8s.io", "v1alpha1", "OpenStackServer", "openstackservers")

    metadata: ObjectMeta = always(ObjectMeta)


async def test_creating_a_mirror() -> None:
    report = await crash_everywhere(scenario(world(**ALONE)))
    assert report.points == 2 * 4  # the Machine, its infra machine, their status, that of the source
    assert synchronized(report.end[MAPI_AT_END])["status"] == "True"
    assert PAUSED in report.end[CAPI_AT_END]["metadata"]["annotations"]


async def test_creating_a_mirror_among_everybody_else() -> None:
    bare = changed(MAPI_MACHINE, metadata__finalizers=["machine.machine.openshift.io"], status__authoritativeAPI=None)
    report = await crash_everywhere(scenario(world(**{**ALONE, "machine_api": bare}), *ALL))
    assert synchronized(report.end[MAPI_AT_END])["status"] == "True"
    assert INFRA_FINALIZER not in report.end[INFRA_AT_END]["metadata"]["finalizers"]


async def test_creating_a_mirror_on_aws() -> None:
    report = await crash_everywhere(scenario(world(**on_aws()), *ALL))
    assert synchronized(report.end[MAPI_AT_END])["status"] == "True"
    assert AWS_AT_END in report.end


async def test_creating_the_first_machine_of_cluster_api() -> None:
    report = await crash_everywhere(scenario(world(**{**ALONE, "machine_api": OF_CLUSTER_API}), *ALL))
    for end in (CAPI_AT_END, INFRA_AT_END):
        assert PAUSED not in report.end[end]["metadata"].get("annotations", {})
    assert report.end[INFRA_AT_END]["metadata"]["ownerReferences"][0]["name"] == NAME
    assert synchronized(report.end[MAPI_AT_END])["message"] == "Successfully synchronized CAPI Machine to MAPI"


async def test_making_the_infra_machine_anew() -> None:
    resize = patching(mapi.Machine, NAME, {"spec": {"providerSpec": {"value": {"flavor": "m1.huge"}}}})
    report = await crash_everywhere(scenario(await at_rest(**ALONE), resize, *ALL))
    assert report.points >= 2 * 4  # unknown, delete, create, true
    assert report.end[INFRA_AT_END]["spec"]["flavor"] == "m1.huge"
    assert synchronized(report.end[MAPI_AT_END])["status"] == "True"


async def test_making_it_anew_where_a_provider_holds_it() -> None:
    """It was Cluster API's before; its provider, paused, would never take its finalizer off."""
    start = await at_rest(**{**ALONE, "machine_api": MAPI_MACHINE})
    held: Tree = {"metadata": {"finalizers": [INFRA_FINALIZER, "sync.machine.openshift.io/finalizer"]}}
    hold = patching(capo.OpenStackMachine, NAME, held)
    resize = patching(mapi.Machine, NAME, {"spec": {"providerSpec": {"value": {"flavor": "m1.huge"}}}})
    report = await crash_everywhere(scenario(start, hold, resize, *ALL))
    assert report.end[INFRA_AT_END]["spec"]["flavor"] == "m1.huge"
    assert synchronized(report.end[MAPI_AT_END])["status"] == "True"


async def losing_the_mirror(api: MemoryApi) -> None:
    """Somebody deletes it by force, and the garbage collector what it owned."""
    mirror, source = api.peek(capi.Machine, NAME, namespace=THEIRS), api.peek(mapi.Machine, NAME, namespace=OURS)
    if mirror is None or source is None or "lost" in source.metadata.annotations:
        return
    body: Tree = {"metadata": {"finalizers": None}}
    await api.patch(capi.Machine, NAME, body, type=PatchType.MERGE, namespace=THEIRS)
    await api.delete(capi.Machine, NAME, namespace=THEIRS)
    await api.patch(
        mapi.Machine, NAME, {"metadata": {"annotations": {"lost": ""}}}, type=PatchType.MERGE, namespace=OURS
    )


HUGE: Tree = {"spec": {"providerSpec": {"value": {"flavor": "m1.huge"}}}}


@pytest.mark.parametrize(
    "happening",
    [
        pytest.param(patching(mapi.Machine, NAME, HUGE), id="ms4-for-its-content"),
        pytest.param(deleting(capo.OpenStackMachine, NAME), id="ms5-somebody-deletes-it"),
        pytest.param(losing_the_mirror, id="its-mirror-is-lost"),
    ],
)
async def test_what_the_infra_machine_owns_stays_and_with_it_the_instance(happening: Actor) -> None:
    """OpenStack's provider keeps the instance in an OpenStackServer, which the OpenStackMachine owns."""
    start = await at_rest(**ALONE)
    held: Tree = {"metadata": {"finalizers": [INFRA_FINALIZER, "sync.machine.openshift.io/finalizer"]}}
    infra = await start.patch(capo.OpenStackMachine, NAME, held, type=PatchType.MERGE, namespace=THEIRS)
    start.install(Server)
    resource = capo.OpenStackMachine.RESOURCE
    owner = {"apiVersion": resource.api_version, "kind": resource.kind, "name": NAME, "uid": infra.uid}
    metadata = {"name": NAME, "namespace": THEIRS, "uid": "server-uid", "ownerReferences": [owner]}
    start.load(typed(Server, {"metadata": {**metadata, "finalizers": ["its/own"]}}))
    report = await crash_everywhere(scenario(start, happening, *ALL))
    assert report.end[INFRA_AT_END]["metadata"]["uid"] != infra.uid
    assert synchronized(report.end[MAPI_AT_END])["status"] == "True"
    server = report.end["OpenStackServer.infrastructure.cluster.x-k8s.io/v1alpha1 openshift-cluster-api/w-0"]
    assert "deletionTimestamp" not in server["metadata"]


async def test_changing_it_in_place_on_aws() -> None:
    start = world(**on_aws())
    retag = patching(mapi.Machine, NAME, {"spec": {"providerSpec": {"value": {"tags": [{"name": "a", "value": "b"}]}}}})
    report = await crash_everywhere(scenario(start, retag, *ALL))
    assert report.end[AWS_AT_END]["spec"]["additionalTags"] == {"a": "b"}
    assert AWS_VALUE["instanceType"] == report.end[AWS_AT_END]["spec"]["instanceType"]


@pytest.mark.parametrize(
    "deleted",
    [
        pytest.param(mapi.Machine, id="ms22-the-machine"),
        pytest.param(capi.Machine, id="ms23-its-mirror"),
    ],
)
@pytest.mark.parametrize("held", [False, True], ids=["", "held-by-its-provider"])
async def test_deleting_either_side_takes_everything_along(deleted: type[Any], held: bool) -> None:
    start = await at_rest(**ALONE)
    finalizers = [INFRA_FINALIZER, "sync.machine.openshift.io/finalizer"]
    hold = [patching(capo.OpenStackMachine, NAME, {"metadata": {"finalizers": finalizers}})] if held else []
    report = await crash_everywhere(scenario(start, *hold, deleting(deleted, NAME), *ALL, stays_mirrored=False))
    assert report.points >= 2 * 5
    assert not {MAPI_AT_END, CAPI_AT_END, INFRA_AT_END} & set(report.end)


async def test_deleting_all_at_once() -> None:
    start = await at_rest(**ALONE)
    actors = [deleting(kind, NAME) for kind in (mapi.Machine, capi.Machine, capo.OpenStackMachine)]
    report = await crash_everywhere(scenario(start, *actors, *ALL, stays_mirrored=False))
    assert not {MAPI_AT_END, CAPI_AT_END, INFRA_AT_END} & set(report.end)


async def test_deleting_a_machine_that_never_had_a_mirror() -> None:
    odd = changed(MAPI_MACHINE, spec__metadata__name="n")
    start = world(**{**ALONE, "machine_api": odd})
    report = await crash_everywhere(scenario(start, deleting(mapi.Machine, NAME), *ALL, stays_mirrored=False))
    assert not {MAPI_AT_END, CAPI_AT_END, INFRA_AT_END} & set(report.end)


async def test_deleting_a_machine_beside_one_of_cluster_api_that_is_no_mirror() -> None:
    """Its instance is its own, so its own controllers end it."""
    odd = changed(MAPI_MACHINE, spec__metadata__name="n")
    start = world(machine_api=odd, cluster_api=CAPI_MACHINE, infra_machine=INFRA)
    report = await crash_everywhere(scenario(start, deleting(mapi.Machine, NAME), *ALL, stays_mirrored=False))
    assert set(report.end) & {MAPI_AT_END, CAPI_AT_END} == set()


async def test_deleting_a_machine_while_its_first_one_of_cluster_api_is_being_made() -> None:
    start = world(**{**ALONE, "machine_api": OF_CLUSTER_API})
    report = await crash_everywhere(scenario(start, deleting(mapi.Machine, NAME), *ALL, stays_mirrored=False))
    assert not {MAPI_AT_END, CAPI_AT_END, INFRA_AT_END} & set(report.end)


async def test_a_machine_that_is_deleted_when_only_the_infra_machine_was_made_goes_with_it() -> None:
    going = changed(OF_CLUSTER_API, metadata__deletionTimestamp=GONE["deletionTimestamp"])
    orphan = changed(INFRA, metadata__name=NAME, metadata__finalizers=["sync.machine.openshift.io/finalizer"])
    start = world(**{**ALONE, "machine_api": going, "infra_machine": orphan})
    report = await crash_everywhere(scenario(start, *ALL, stays_mirrored=False))
    assert not {MAPI_AT_END, CAPI_AT_END, INFRA_AT_END} & set(report.end)


@pytest.mark.parametrize("who", [mapi.Machine, capi.Machine])
async def test_a_machine_that_cannot_be_read_can_be_deleted_from_either_side(who: Any) -> None:
    start = await at_rest(**ALONE)
    broken = changed(tree_of(start, mapi.Machine, NAME, OURS) or {}, spec__lifecycleHooks="none")
    start = world(
        machine_api=broken,
        cluster_api=tree_of(start, capi.Machine, NAME, THEIRS),
        infra_machine=tree_of(start, capo.OpenStackMachine, NAME, THEIRS),
    )
    actors = (deleting(who, NAME), *ALL)
    report = await crash_everywhere(scenario(start, *actors, stays_mirrored=False))
    assert not {MAPI_AT_END, CAPI_AT_END, INFRA_AT_END} & set(report.end)


async def test_failing_and_healing() -> None:
    start = await at_rest(**ALONE)
    fail = patching(mapi.Machine, NAME, {"spec": {"metadata": {"name": "n"}}})
    heal = patching(mapi.Machine, NAME, {"spec": {"metadata": {"name": None}}})
    report = await crash_everywhere(scenario(start, fail, *ALL))
    assert synchronized(report.end[MAPI_AT_END])["reason"] == "FailedToConvertMAPIMachineToCAPI"
    report = await crash_everywhere(scenario(start, fail, heal, *ALL))
    assert synchronized(report.end[MAPI_AT_END])["status"] == "True"
