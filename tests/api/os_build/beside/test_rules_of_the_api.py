"""What the CRDs of MachineOSConfig and MachineOSBuild take: what we write, and no target that we refuse at once."""

from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import msgspec
import pytest

from windlass.api.machineconfiguration import GROUP, MachineConfigPool
from windlass.api.machineosconfig import MachineOSBuild, MachineOSBuildStatus, MachineOSConfig
from windlass.api.meta import KubernetesObject
from windlass.os_build.backends.job import job_named
from windlass.os_build.builder import BuildState, Phase
from windlass.os_build.machine_os.conditions import State, moved, reused, state_of, vector
from windlass.os_build.machine_os.request import requested
from windlass.os_build.pullspec import Target
from windlass.os_build.request import BackendName, Request
from windlass.testing import BlockingAccess, crds
from windlass.testing.binaries import MACHINE_CONFIG_API
from windlass.testing.plane.errors import Refused
from windlass.testing.plane.pool import PlanePool
from windlass.testing.plane.rest import MERGE_PATCH

pytestmark = pytest.mark.plane

T = TypeVar("T", bound=KubernetesObject)

KINDS = {MachineOSConfig.RESOURCE.name, MachineOSBuild.RESOURCE.name}
TARGET = Target("registry.example.com:5000", "org/os")
DIGEST = f"sha256:{'ab' * 32}"
NOW = datetime(2026, 11, 22, 12, 0, 30, tzinfo=UTC)
POOL = msgspec.convert(
    {"metadata": {"name": "worker"}, "spec": {"configuration": {"name": "rendered-worker-1"}}}, MachineConfigPool
)


class Api:
    """MachineOSConfigs and MachineOSBuilds named `worker` and `worker-1`."""

    def __init__(self, plane: BlockingAccess) -> None:
        self._plane = plane

    def configure(self, target: str) -> MachineOSConfig:
        spec = {
            "machineConfigPool": {"name": "worker"},
            "imageBuilder": {"imageBuilderType": "Job"},
            "renderedImagePushSecret": {"name": "push"},
            "renderedImagePushSpec": target,
        }
        return self._make(MachineOSConfig, "worker", spec)

    def build(self) -> MachineOSBuild:
        spec = {
            "machineConfig": {"name": "rendered-worker-1"},
            "machineOSConfig": {"name": "worker"},
            "renderedImagePushSpec": TARGET.tagged("worker-1"),
        }
        return self._make(MachineOSBuild, "worker-1", spec)

    def report(self, kind: type[KubernetesObject], name: str, status: Any) -> None:
        """Merge this into the status. Raises Refused."""
        body = {"status": msgspec.to_builtins(status)}
        self._plane.rest.request(
            "PATCH", kind.RESOURCE.path(name, subresource="status"), body, content_type=MERGE_PATCH
        )

    def takes(self, kind: type[KubernetesObject], name: str, status: Any) -> bool:
        try:
            self.report(kind, name, status)
        except Refused as refused:
            assert refused.status == 422, refused  # noqa: PT017
            return False
        return True

    def _make(self, kind: type[T], name: str, spec: dict[str, Any]) -> T:
        body = {"apiVersion": f"{GROUP}/v1", "kind": kind.RESOURCE.kind, "metadata": {"name": name}, "spec": spec}
        return msgspec.convert(self._plane.rest.request("POST", kind.RESOURCE.path(), body), kind)


@pytest.fixture
def api(windlass_planes: PlanePool) -> Api:
    theirs = [crd for crd in crds.of(MACHINE_CONFIG_API) if crd["metadata"]["name"] in KINDS]
    return Api(windlass_planes.plane("module", crds=theirs).blocking)


@pytest.mark.parametrize(
    "target",
    [
        "registry.example.com/org/os:latest",
        "registry.example.com/os:latest",
        "127.0.0.1:5000/org/os:latest",
        "image-registry.openshift-image-registry.svc:5000/ns/os:latest",
        "registry.example.com/a/b/os:latest",
        "registry.example.com/a/b/c/os:latest",
        "registry.example.com/a_b/os:latest",
        f"registry.example.com/{'a' * 61}/os:latest",
    ],
)
def test_a_target_is_refused_at_once_if_and_only_if_the_api_refuses_its_digests(api: Api, target: str) -> None:
    """The API takes each of them into the spec, so its refusal would come after the build and the push."""
    request = requested(api.configure(target), POOL, architecture="amd64")
    api.build()
    digested = f"{Target.parse(target)}@{DIGEST}"
    expected = isinstance(request, Request)
    assert api.takes(MachineOSConfig, "worker", {"currentImagePullSpec": digested}) is expected
    assert api.takes(MachineOSBuild, "worker-1", {"digestedImagePushSpec": digested}) is expected


def look(phase: Phase, **more: Any) -> BuildState:
    usual: dict[str, Any] = {"pool": "worker", "inputs": "i", "builder": job_named("build-worker-1")}
    return BuildState(name="build-worker-1", backend=BackendName.JOB, phase=phase, **usual, **more)


ENDS = [
    pytest.param(look(Phase.SUCCEEDED, digest=DIGEST), State.SUCCEEDED, id="succeeded"),
    pytest.param(look(Phase.FAILED), State.FAILED, id="failed"),
    pytest.param(look(Phase.INTERRUPTED), State.INTERRUPTED, id="interrupted"),
]


@pytest.mark.parametrize(("end", "state"), ENDS)
def test_the_api_takes_each_status_of_a_build_and_nothing_after_its_end(
    api: Api, end: BuildState, state: State
) -> None:
    """Both writes are in the same second."""
    api.build()
    status = MachineOSBuildStatus()
    for seen in (look(Phase.PENDING), look(Phase.RUNNING), end):
        status = moved(status, seen, target=TARGET, now=NOW, why="exit code 1")
        api.report(MachineOSBuild, "worker-1", status)
    assert state_of(status.conditions) is state
    for other in State:
        conditions = vector(other, status.conditions, now=NOW + timedelta(seconds=9), why="exit code 1")
        assert api.takes(MachineOSBuild, "worker-1", {"conditions": msgspec.to_builtins(conditions)}) is (
            other is state
        )


@pytest.mark.parametrize(("end", "state"), ENDS)
def test_the_api_takes_a_build_that_is_first_seen_when_it_is_over(api: Api, end: BuildState, state: State) -> None:
    api.build()
    status = moved(MachineOSBuildStatus(), end, target=TARGET, now=NOW)
    api.report(MachineOSBuild, "worker-1", status)
    assert state_of(status.conditions) is state


def test_the_api_takes_a_build_with_the_image_of_another(api: Api) -> None:
    api.build()
    api.report(MachineOSBuild, "worker-1", reused(MachineOSBuildStatus(), f"{TARGET}@{DIGEST}", now=NOW))


def test_the_api_refuses_an_end_at_the_instant_of_the_start(api: Api) -> None:
    api.build()
    times = {"buildStart": "2026-11-22T12:00:30Z", "buildEnd": "2026-11-22T12:00:30Z"}
    assert not api.takes(MachineOSBuild, "worker-1", times)
    assert api.takes(MachineOSBuild, "worker-1", times | {"buildEnd": "2026-11-22T12:00:31Z"})
    assert not api.takes(MachineOSBuild, "worker-1", {"buildEnd": "2026-11-22T12:00:32Z"})
