"""The scenarios that the first builder of the Machine Config Operator was tested with, on a real API server.

Builds and Jobs are played step by step, Jobs by the real job controller; on this machine buildah really builds.
"""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.os_build.pool.cluster import Cluster
from tests.api.os_build.pool.stage import HANDS, STEP, Hands, Stage, at_work
from tests.waiting import eventually
from windlass.api.build import Build
from windlass.api.core import ConfigMap, Event, Secret
from windlass.os_build.constants import BUILD_LABEL, CONTAINERFILES, OS_IMAGES, RESULT
from windlass.os_build.pool.conditions import VECTOR
from windlass.os_build.request import BackendName
from windlass.testing.builds.openshift import contents
from windlass.testing.builds.pods import PlayedPods

OPENSHIFT, JOB, LOCAL = BackendName.OPENSHIFT, BackendName.JOB, BackendName.LOCAL
in_the_cluster = pytest.mark.parametrize("backend", [OPENSHIFT, JOB])
everywhere = pytest.mark.parametrize("backend", [OPENSHIFT, JOB, LOCAL])


@pytest.fixture
async def stage(cluster: Cluster, backend: BackendName, tmp_path: Path) -> AsyncIterator[Stage]:
    await cluster.configure(backend)
    async with at_work(cluster, folder=tmp_path if backend == LOCAL else None) as stage:
        yield stage
        cluster.registry.clear_faults()


@pytest.fixture
def hands(cluster: Cluster, backend: BackendName) -> Hands:
    return HANDS[backend](cluster)


async def build(stage: Stage, hands: Hands, pool: str = "worker", config: str = "", *, after: str = "") -> str:
    """Bring the build of the pool to its end; returns its name."""
    name = await stage.begun(pool, other_than=after)
    await hands.run(name)
    await stage.cluster.until(pool, "BuildRunning", text=name)
    await hands.succeed(name)
    assert await stage.cluster.until_built(pool, config) == f"{stage.cluster.target}@{hands.digest(name)}"
    return name


@everywhere
async def test_what_does_not_concern_the_image_builds_and_writes_nothing(stage: Stage, hands: Hands) -> None:
    cluster = stage.cluster
    await cluster.add_pool("master", opted_in=False)
    await cluster.add_pool("worker")
    await build(stage, hands)
    await cluster.until_left()
    said, before = await cluster.conditions("worker"), len(stage.ours.sent)
    for pool in ("master", "worker"):
        await cluster.patch(pool, {"metadata": {"labels": {"colour": "blue"}, "annotations": {"colour": "blue"}}})
    await cluster.add_pool("later")
    await stage.begun("later")
    assert [
        each for each in stage.ours.sent[before:] if each.endswith((" master", " worker", " worker (status)"))
    ] == []
    assert await cluster.conditions("worker") == said
    assert not {*RESULT} & {*await cluster.annotations("master")}
    assert await cluster.conditions("master") == {}


@in_the_cluster
async def test_the_pool_follows_its_build_and_the_digest_replaces_the_tag(stage: Stage, hands: Hands) -> None:
    cluster = stage.cluster
    await cluster.add_pool("worker")
    name = await stage.begun("worker")
    if cluster.backend == OPENSHIFT:
        await cluster.until("worker", "BuildPending", text=name)
        kind = "Build"
    else:
        [pod] = await eventually(lambda: PlayedPods(cluster.client, namespace=cluster.namespace).of(name))
        about = {"kind": "Pod", "name": pod.name, "namespace": cluster.namespace}
        warning = {"involvedObject": about, "type": "Warning", "reason": "FailedMount", "message": "no Secret"}
        await cluster.put(Event, f"{pod.name}.1", warning)
        await cluster.until("worker", "BuilderNotStarted", text="FailedMount: no Secret")
        await PlayedPods(cluster.client, namespace=cluster.namespace).wait(pod, reason="ImagePullBackOff")
        await cluster.until("worker", "BuilderImageUnavailable", text="ImagePullBackOff")
        kind = "Job"
    assert {f"{kind} {name}", f"ConfigMap {name}"} <= {*await cluster.left()}
    sources = (await cluster.pool("worker"))["spec"]["configuration"]["source"]
    await build(stage, hands)
    assert cluster.target in await cluster.until_built("worker")
    assert (await cluster.pool("worker"))["spec"]["configuration"]["source"] == sources
    await cluster.until_left()


@everywhere
async def test_a_failed_build_says_why_and_stays_until_a_fix_is_built(stage: Stage, hands: Hands) -> None:
    cluster = stage.cluster
    await cluster.containerfile("worker", STEP)
    await cluster.add_pool("worker")
    name = await stage.begun("worker")
    await hands.run(name)
    await cluster.until("worker", "BuildRunning")
    await hands.fail(name)
    message = await cluster.until("worker", "StepFailed", text=STEP)
    assert "7" in message
    assert [each["type"] for each in (await cluster.conditions("worker")).values() if each["status"] == "True"] == [
        "BuildFailed"
    ], "Degraded is not ours"
    assert await stage.begun("worker") == name, "it stays, so that people can look at it"
    await cluster.containerfile("worker", "RUN true")
    await build(stage, hands, after=name)
    await cluster.until_left()


@everywhere
async def test_a_degraded_pool_is_built_only_if_its_image_may_be_the_cause(stage: Stage, hands: Hands) -> None:
    cluster = stage.cluster
    await cluster.add_pool("worker", opted_in=False)
    await cluster.condition("worker", "RenderDegraded", "True", "cannot render")
    await cluster.opt("worker", into=True)
    assert "cannot render" in await cluster.until("worker", "PoolDegraded")
    assert await cluster.builders() == []
    await cluster.condition("worker", "Degraded", "True")
    await cluster.condition("worker", "RenderDegraded", "False")
    await build(stage, hands)
    assert (await cluster.conditions("worker"))["Degraded"]["status"] == "True"


@everywhere
async def test_opting_out_leaves_nothing(stage: Stage, hands: Hands) -> None:
    cluster = stage.cluster
    for pool in ("worker", "infra"):
        await cluster.add_pool(pool)
    await build(stage, hands)
    if stage.builds is None:
        await stage.begun("infra")
    else:  # nobody steps those on this machine
        await cluster.until_built("infra")
    for pool in ("worker", "infra"):
        await cluster.opt(pool, into=False)
        await cluster.until(pool, "")
        assert not {*VECTOR} & {*await cluster.conditions(pool)}
        assert not {*RESULT} & {*await cluster.annotations(pool)}
    await cluster.until_left()
    assert stage.builds is None or not stage.builds.states("infra")


@everywhere
async def test_each_of_many_configurations_in_a_row_is_built(stage: Stage, hands: Hands) -> None:
    cluster = stage.cluster
    await cluster.add_pool("worker")
    names = [await build(stage, hands)]
    for number in range(2, {OPENSHIFT: 10, JOB: 5, LOCAL: 4}[cluster.backend]):
        await cluster.change("worker", f"rendered-worker-{number}")
        names.append(await build(stage, hands, config=f"rendered-worker-{number}", after=names[-1]))
    assert len({*names}) == len(names)
    await cluster.until_left()


@everywhere
async def test_pools_that_build_at_the_same_time_do_not_touch_each_other(stage: Stage, hands: Hands) -> None:
    cluster = stage.cluster
    await cluster.containerfile("infra", STEP)
    for pool in ("worker", "infra"):
        await cluster.add_pool(pool)
    names = {pool: await stage.begun(pool) for pool in ("worker", "infra")}
    await asyncio.gather(*(hands.run(name) for name in names.values()))
    await asyncio.gather(*(cluster.until(pool, "BuildRunning", text=name) for pool, name in names.items()))
    await asyncio.gather(hands.fail(names["infra"]), hands.succeed(names["worker"]))
    await cluster.until("infra", "StepFailed")
    assert await cluster.until_built("worker") == f"{cluster.target}@{hands.digest(names['worker'])}"
    await cluster.put(ConfigMap, CONTAINERFILES, {"data": {"infra": None}})
    await build(stage, hands, "infra", after=names["infra"])
    await cluster.until_left()


@in_the_cluster
async def test_a_new_process_builds_what_is_due_and_nothing_else(cluster: Cluster, backend: BackendName) -> None:
    await cluster.configure(backend)
    hands = HANDS[backend](cluster)
    pools = ("built", "changed", "failed", "pending", "running", "degraded")
    for pool in pools:
        await cluster.add_pool(pool)
    await cluster.add_pool("off", opted_in=False)
    await cluster.condition("degraded", "NodeDegraded", "True")
    async with at_work(cluster) as stage:
        names = {pool: await stage.begun(pool) for pool in pools[:-1]}
        for pool in ("built", "changed", "failed", "running"):
            await hands.run(names[pool])
            await cluster.until(pool, "BuildRunning")
        for pool in ("built", "changed"):
            await hands.succeed(names[pool])
            await cluster.until_built(pool)
        await hands.fail(names["failed"])
        await cluster.until("failed", "StepFailed")
        await cluster.until("pending", "BuildPending")
        await cluster.until("degraded", "PoolDegraded")
    kept = {each.name: each.uid for each in await cluster.builders()}
    await cluster.change("changed", "rendered-changed-2")
    async with at_work(cluster) as stage:
        await stage.begun("changed", other_than=names["changed"])
        await cluster.add_pool("later")
        await stage.begun("later")
        assert {each.name: each.uid for each in await cluster.builders() if "later" not in each.name} == {
            **kept,
            await stage.begun("changed"): (await cluster.builders("changed"))[0].uid,
        }
        written = {each.split()[2] for each in stage.ours.sent if "MachineConfigPool" in each}
        assert written <= {"changed", "later"}


def legacy(document: Any) -> Any:
    return document["auths"]


@pytest.mark.parametrize("backend", [OPENSHIFT])
@pytest.mark.parametrize(
    ("type_", "form"),
    [
        pytest.param("dockerconfigjson", dict, id="new in dockerconfigjson"),
        pytest.param("dockercfg", dict, id="new in dockercfg"),
        pytest.param("dockerconfigjson", legacy, id="legacy in dockerconfigjson"),
        pytest.param("dockercfg", legacy, id="legacy in dockercfg"),
    ],
)
async def test_a_push_secret_of_either_form_is_accepted_by_the_registry(
    stage: Stage, backend: BackendName, type_: str, form: Any
) -> None:
    cluster = stage.cluster
    await cluster.secret("push", form(cluster.registry.auths("pusher")), type=type_)
    await cluster.add_pool("worker")
    await stage.begun("worker")
    probes = cluster.registry.requests(method="POST", path="/blobs/uploads/")
    assert [(each.user, each.status) for each in probes if each.user] == [("pusher", 202)]


@pytest.mark.parametrize("backend", [OPENSHIFT])
async def test_a_secret_that_is_none_of_a_registry_is_told_and_a_fix_suffices(
    stage: Stage, backend: BackendName
) -> None:
    cluster = stage.cluster
    await cluster.client.delete(Secret, "pull", namespace=cluster.namespace)
    await cluster.add_pool("worker")
    assert "pull does not exist" in await cluster.until("worker", "SecretMissing")
    await cluster.put(Secret, "pull", {"type": "Opaque", "data": {"password": "eA=="}})
    await cluster.until("worker", "SecretInvalid", text="Opaque")
    assert await cluster.builders() == []
    await cluster.secret("pull", cluster.registry.auths("puller"))
    await stage.begun("worker")


@in_the_cluster
async def test_builder_objects_say_what_they_build_and_from_what(stage: Stage, hands: Hands) -> None:
    cluster = stage.cluster
    await cluster.put(ConfigMap, OS_IMAGES, {"data": {"releaseVersion": "4.21.7"}})
    await cluster.containerfile("worker", "RUN true")
    await cluster.add_pool("worker")
    name = await stage.begun("worker")
    files = dict(contents((await cluster.client.get(ConfigMap, name, namespace=cluster.namespace)).decode()))
    [builder] = await cluster.builders()
    assert name.startswith("build-worker-")
    text = files.get("Containerfile", b"").decode()
    if cluster.backend == OPENSHIFT:
        found = (await cluster.client.get(Build, name, namespace=cluster.namespace)).decode()
        text = found.spec.source.dockerfile or ""
    for part in (f"FROM {cluster.base} AS configs", "rendered-worker-1", "4.21.7", '"worker"', "RUN true"):
        assert part in text
    assert "AS extensions" not in text
    assert builder.metadata.labels[BUILD_LABEL] == ""
    [owner] = builder.tree()["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"]) == ("MachineConfigPool", "worker")
