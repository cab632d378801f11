"""Builds by OpenShift, on the model."""

import base64
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tests.unit.os_build.backends.cluster import ClusterSide
from tests.unit.os_build.backends.conformance import BackendConformance, order
from windlass.api.batch import Job
from windlass.api.build import Build
from windlass.api.core import ConfigMap, Pod
from windlass.api.machineconfiguration import Proxy
from windlass.kube.control.permissions import Declared, rules
from windlass.kube.control.plan import Merge
from windlass.kube.errors import NotServed
from windlass.model.reader import MemoryReader
from windlass.model.schema import rules_of_crd
from windlass.os_build.backends.job import JobBackend
from windlass.os_build.backends.openshift import OpenShiftBackend, build_spec, says
from windlass.os_build.builder import BuildState, Cause, Deadlines, Phase
from windlass.os_build.constants import NAMESPACE
from windlass.os_build.environment import Egress, Environment, Lent
from windlass.os_build.placement import Placement
from windlass.os_build.request import BackendName
from windlass.testing import crds
from windlass.testing.builds.openshift import Built, PlayedBuilds

[CRD] = crds.documents(crds.BUILDS)


class OpenShiftSide(ClusterSide):
    """A played build controller."""

    def __init__(self, placement: Placement | None = None) -> None:
        super().__init__(rules_of_crd(Build, CRD), make=lambda reader: OpenShiftBackend(reader, placement=placement))
        self.builds = PlayedBuilds(self.api, namespace=NAMESPACE, clock=self.clock)

    async def run(self, name: str) -> None:
        await self.builds.context(await self.api.get(Build, name, namespace=NAMESPACE))
        await self.builds.run(name)

    async def succeed(self, name: str, *, digest: str) -> None:
        await self.builds.end(name, Built(digest=digest))

    async def fail(self, name: str, *, log: str, pushing: bool = False) -> None:
        reason = "PushImageToRegistryFailed" if pushing else "DockerBuildFailed"
        await self.builds.end(name, Built(reason=reason, message="played", log=log))

    async def lose(self, name: str) -> None:
        await self.builds.end(name, Built(phase="Error", reason="BuildPodDeleted", message="played"))

    async def end_cancelled(self) -> None:
        await self.builds.cancel_unwanted()

    def build(self) -> dict[str, Any]:
        [found] = self.api.listing(Build)
        return found.tree()


class TestOpenShiftBuilds(BackendConformance):
    limits = ("ContainerfileTooLarge", "ContextTooLarge")

    @pytest.fixture
    def other_side(self) -> OpenShiftSide:
        return OpenShiftSide()


async def test_the_build_has_all_that_openshift_needs() -> None:
    side = OpenShiftSide()
    wanted = order(deadlines=Deadlines(build=100.0, push=20.0))
    await side.apply(*side.backend.start(wanted))
    assert side.build()["spec"] == {
        "source": {
            "type": "Dockerfile",
            "dockerfile": wanted.context.containerfile,
            "configMaps": [{"configMap": {"name": wanted.name}, "destinationDir": "."}],
        },
        "strategy": {
            "type": "Docker",
            "dockerStrategy": {
                "pullSecret": {"name": "pull"},
                "noCache": True,
                "forcePull": True,
                "imageOptimizationPolicy": "SkipLayers",
            },
        },
        "output": {
            "to": {"kind": "DockerImage", "name": f"registry.example.com/org/os:{wanted.name}"},
            "pushSecret": {"name": "push"},
            "imageLabels": [{"name": "io.openshift.machineconfig.pool", "value": "worker"}],
        },
        "completionDeadlineSeconds": 120,
        "mountTrustedCA": True,
    }


async def test_a_build_for_an_architecture_runs_on_its_nodes() -> None:
    side = OpenShiftSide(Placement(node_selector=(("build", "here"),)))
    wanted = order()
    await side.apply(*side.backend.start(replace(wanted, request=wanted.request.on("arm64"))))
    assert side.build()["spec"]["nodeSelector"] == {"build": "here", "kubernetes.io/arch": "arm64"}


async def test_nodes_and_resources_are_set_only_if_they_are_given() -> None:
    side = OpenShiftSide(Placement(node_selector=(("build", "here"),), limits=(("memory", "4Gi"),)))
    await side.apply(*side.backend.start(order()))
    spec = side.build()["spec"]
    assert (spec["nodeSelector"], spec["resources"]) == ({"build": "here"}, {"limits": {"memory": "4Gi"}})


async def test_what_is_lent_is_a_volume_of_its_run_steps_and_the_rest_is_openshifts_own() -> None:
    side = OpenShiftSide()
    environment = Environment(
        egress=Egress(proxy=Proxy(https_proxy="http://proxy:3128"), authorities="pem"),
        containers={"registries.conf": b"mirrors"},
        lent=(
            Lent("/etc/pki/entitlement", "Secret", "etc-pki-entitlement-worker"),
            Lent("/etc/yum.repos.d", "ConfigMap", "etc-yum-repos-d"),
        ),
    )
    plain = build_spec(order(), Placement())
    await side.apply(*side.backend.start(replace(order(), environment=environment)))
    spec = side.build()["spec"]
    assert spec["strategy"]["dockerStrategy"].pop("volumes") == [
        {
            "name": "entitlement",
            "source": {"type": "Secret", "secret": {"secretName": "etc-pki-entitlement-worker", "optional": True}},
            "mounts": [{"destinationPath": "/etc/pki/entitlement"}],
        },
        {
            "name": "repositories",
            "source": {"type": "ConfigMap", "configMap": {"name": "etc-yum-repos-d", "optional": True}},
            "mounts": [{"destinationPath": "/etc/yum.repos.d"}],
        },
    ]
    assert spec == plain


FIELDS = json.loads((Path(__file__).parents[3] / "data/os_build/build_api/fields.json").read_text())


def unknown(tree: Any, definition: str) -> list[str]:
    """The fields of a tree that the API's definition lacks."""
    if isinstance(tree, list):
        return [each for item in tree for each in unknown(item, definition)]
    if not definition or not isinstance(tree, dict):
        return []
    known = FIELDS[definition]
    wrong = [f"{definition}.{name}" for name in tree if name not in known]
    return wrong + [each for name, value in tree.items() for each in unknown(value, known.get(name, ""))]


async def test_every_field_that_it_sets_is_one_of_the_api() -> None:
    environment = Environment(
        lent=(
            Lent("/etc/pki/entitlement", "Secret", "etc-pki-entitlement"),
            Lent("/etc/yum.repos.d", "ConfigMap", "etc-yum-repos-d"),
        )
    )
    placement = Placement(node_selector=(("a", "b"),), requests=(("cpu", "1"),), limits=(("memory", "1Gi"),))
    assert unknown(build_spec(replace(order(), environment=environment), placement), "BuildSpec") == []
    assert unknown({"strategy": {"dockerStrategy": {"tolerations": []}}}, "BuildSpec") == [
        "DockerBuildStrategy.tolerations"
    ]


async def test_the_containerfile_is_the_inline_one_and_no_file_can_overwrite_it() -> None:
    side = OpenShiftSide()
    wanted = order()
    await side.apply(*side.backend.start(wanted))
    [build], [config_map] = side.api.listing(Build), side.api.listing(ConfigMap)
    assert await side.builds.context(build) == {
        "Dockerfile": wanted.context.files["Containerfile"],
        "rootfs.tar.gz": wanted.context.files["rootfs.tar.gz"],
    }
    assert {name: base64.b64decode(text) for name, text in config_map.decode().binary_data.items()} == {
        "rootfs.tar.gz": wanted.context.files["rootfs.tar.gz"]
    }


async def test_build_and_config_map_belong_to_the_pool_and_name_what_they_are_of() -> None:
    side = OpenShiftSide()
    await side.apply(*side.backend.start(order()))
    config = order().request.config
    for tree in side.api.dump():
        meta = tree["metadata"]
        assert meta["labels"] == {
            "machineconfiguration.openshift.io/buildPod": "",
            "machineconfiguration.openshift.io/targetMachineConfigPool": "worker",
            "machineconfiguration.openshift.io/desiredConfig": config,
        }
        assert meta["ownerReferences"] == [
            {
                "apiVersion": "machineconfiguration.openshift.io/v1",
                "kind": "MachineConfigPool",
                "name": "worker",
                "uid": "uid-of-worker",
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]


async def test_cancelling_writes_the_build_itself_since_it_has_no_status_subresource() -> None:
    side = OpenShiftSide()
    await side.apply(*side.backend.start(order()))
    [state] = side.backend.look("worker")
    [action] = side.backend.cancel(state, Cause.CANCELLED)
    assert isinstance(action, Merge)
    assert (action.part, action.patch) == ("", {"status": {"cancelled": True}})
    await side.apply(action)
    [asked] = side.backend.look("worker")
    assert asked.ending
    assert side.backend.cancel(asked, Cause.CANCELLED) == ()


async def test_of_a_build_that_somebody_deleted_the_files_are_left_and_it_is_interrupted() -> None:
    side = OpenShiftSide()
    await side.apply(*side.backend.start(order()))
    await side.api.delete(Build, order().name, namespace=NAMESPACE)
    [state] = side.backend.look("worker")
    assert (state.phase, state.note) == ("Interrupted", f"Build {order().name} does not exist, only its ConfigMap")
    first = side.api.listing(ConfigMap)[0].uid
    await side.apply(*side.backend.clean(state, why="again"), *side.backend.start(order()))
    [config_map] = side.api.listing(ConfigMap)
    assert config_map.uid != first, "also in one plan, the new Build has its files"
    assert [each.phase for each in side.backend.look("worker")] == ["Pending"]


async def test_a_build_that_cannot_be_read_has_failed_and_says_why() -> None:
    side = OpenShiftSide()
    await side.apply(*side.backend.start(order()))
    tree = side.build()
    side.api.load({**tree, "status": {"phase": 7}})
    [state] = side.backend.look("worker")
    assert state.failed is not None
    assert "$.status.phase" in state.failed.tail


async def test_the_objects_of_another_backend_are_not_its_own() -> None:
    side = OpenShiftSide()
    side.api.install(Job)
    side.api.install(Pod)
    await side.apply(*side.backend.start(order()))
    reader = MemoryReader(side.api)
    jobs = JobBackend(reader)
    for watch in jobs.watches:
        for name, values in watch.indexes.items():
            reader.add_index(watch.kind, name, values)
    assert list(jobs.look("worker")) == [], "the ConfigMap is no lost Job"


def test_builds_that_are_not_served_are_told_from_none() -> None:
    side = OpenShiftSide()
    side.api.uninstall(Build)
    with pytest.raises(NotServed, match=r"build\.openshift\.io"):
        side.backend.look("worker")


def test_the_permissions_are_those_that_openshift_asks_for() -> None:
    declared = OpenShiftSide().backend.permissions
    assert rules(declared) == {
        None: [
            {
                "apiGroups": ["machineconfiguration.openshift.io"],
                "resources": ["machineconfigpools/finalizers"],
                "verbs": ["update"],
            }
        ],
        NAMESPACE: [
            {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "delete"]},
            {"apiGroups": ["build.openshift.io"], "resources": ["builds"], "verbs": ["create", "delete", "patch"]},
            {"apiGroups": ["build.openshift.io"], "resources": ["builds/optimizeddocker"], "verbs": ["create"]},
        ],
    }
    assert not Declared(declared)(Build, "patch", "status", namespace=NAMESPACE, name="a")


DIGEST = "sha256:" + "ab" * 32


KNOWN = BuildState(name="b", backend=BackendName.OPENSHIFT, pool="worker", inputs="i", phase=Phase.PENDING)


def build(**status: Any) -> Build:
    tree = {
        "metadata": {"name": "b", "creationTimestamp": "2026-11-23T12:00:00Z"},
        "spec": {"completionDeadlineSeconds": 2400},
        "status": status,
    }
    return msgspec.convert(tree, Build)


def state_of(found: Build) -> BuildState:
    return says(found, KNOWN)


@pytest.mark.parametrize(
    ("phase", "state"),
    [
        pytest.param("", Phase.PENDING, id="not seen by OpenShift"),
        pytest.param("New", Phase.PENDING, id="New"),
        pytest.param("Pending", Phase.PENDING, id="Pending"),
        pytest.param("Running", Phase.RUNNING, id="Running"),
        pytest.param("Complete", Phase.SUCCEEDED, id="Complete"),
        pytest.param("Failed", Phase.FAILED, id="Failed"),
        pytest.param("Error", Phase.FAILED, id="Error"),
        pytest.param("Cancelled", Phase.FAILED, id="Cancelled"),
    ],
)
def test_phases(phase: str, state: Phase) -> None:
    assert state_of(build(phase=phase)).phase == state


REFUSED = "error: build error: Failed to push image: unauthorized: authentication required"
STEP = 'error: build error: building at STEP "RUN false": while running runtime: exit status 1'


@pytest.mark.parametrize(
    ("reason", "log", "cause"),
    [
        pytest.param("DockerBuildFailed", STEP, Cause.STEP, id="a step"),
        pytest.param("DockerBuildFailed", "error: build error: no space left on device", Cause.DISK, id="disk"),
        pytest.param("GenericBuildFailed", STEP, Cause.STEP, id="generic, and the log says more"),
        pytest.param("GenericBuildFailed", "", Cause.UNKNOWN, id="generic"),
        pytest.param("PullBuilderImageFailed", "error: manifest unknown", Cause.IMAGE_NOT_FOUND, id="no base image"),
        pytest.param("PullBuilderImageFailed", "error: unauthorized", Cause.PULL_DENIED, id="base image refused"),
        pytest.param("FetchImageContentFailed", "error: connection refused", Cause.UNREACHABLE, id="image content"),
        pytest.param("PushImageToRegistryFailed", REFUSED, Cause.PUSH_DENIED, id="push refused"),
        pytest.param("PushImageToRegistryFailed", "error: i/o timeout", Cause.UNREACHABLE, id="push without answer"),
        pytest.param("ManageDockerfileFailed", "error: x", Cause.CONTAINERFILE, id="the Containerfile"),
        pytest.param("CancelledBuild", "", Cause.CANCELLED, id="cancelled"),
        pytest.param("OutOfMemoryKilled", "", Cause.MEMORY, id="memory"),
        pytest.param("BuildPodEvicted", "", Cause.EVICTED, id="evicted"),
        pytest.param("CannotCreateBuildPod", "", Cause.UNKNOWN, id="no Pod"),
        pytest.param("SomethingNew", "", Cause.UNKNOWN, id="a reason that is not known here"),
    ],
)
def test_causes(reason: str, log: str, cause: Cause) -> None:
    said = state_of(build(phase="Failed", reason=reason, message="what OpenShift says", logSnippet=log))
    assert said.failed is not None
    assert said.failed.cause == cause
    assert said.failed.tail == (log or f"{reason}: what OpenShift says")


@pytest.mark.parametrize("reason", ["BuildPodDeleted", "NoBuildContainerStatus"])
def test_a_pod_that_was_lost_is_no_failure(reason: str) -> None:
    said = state_of(build(phase="Error", reason=reason, message="it is gone"))
    assert (said.phase, said.failed, said.note) == (Phase.INTERRUPTED, None, f"{reason}: it is gone")


@pytest.mark.parametrize(
    ("ended", "log", "cause"),
    [
        pytest.param("2026-11-23T12:40:00Z", "", Cause.DEADLINE, id="as old as it may be"),
        pytest.param("2026-11-23T12:39:59Z", "", Cause.UNKNOWN, id="younger"),
        pytest.param("2026-11-23T12:50:00Z", STEP, Cause.STEP, id="old, and the log says why"),
    ],
)
def test_a_generic_failure_of_an_old_build_is_its_deadline(ended: str, log: str, cause: Cause) -> None:
    said = state_of(build(phase="Failed", reason="GenericBuildFailed", completionTimestamp=ended, logSnippet=log))
    assert said.failed is not None
    assert said.failed.cause == cause


def test_the_digest_may_be_missing_of_an_image_that_was_pushed() -> None:
    assert state_of(build(phase="Complete", output={"to": {"imageDigest": DIGEST}})).digest == DIGEST
    assert state_of(build(phase="Complete", output={})).digest == ""


def test_a_pending_build_says_what_it_waits_for() -> None:
    said = state_of(build(phase="New", reason="MissingPushSecret", message="secret \x1b[31mpush\x1b[0m does not exist"))
    assert said.note == "waits: MissingPushSecret: secret push does not exist"


@pytest.mark.parametrize(("phase", "ending"), [("Running", True), ("New", True), ("Complete", False)])
def test_a_build_that_is_to_be_cancelled_is_ending_until_it_is_over(phase: str, ending: bool) -> None:
    assert state_of(build(phase=phase, cancelled=True)).ending == ending
