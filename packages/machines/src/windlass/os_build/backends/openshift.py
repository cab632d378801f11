"""Builds by OpenShift: a Build without BuildConfig and ImageStream, and a ConfigMap with the files of its context.

The rendered Containerfile is the Build's inline Dockerfile, and not a file of the ConfigMap. OpenShift's documentation
says that the inline one overwrites any other file named Dockerfile; its Machine Config Operator relied on a mounted
ConfigMap that overwrites the inline one. With one Containerfile in one place both are right, `oc describe` shows it,
and the labels that OpenShift adds to the inline Dockerfile (`imageLabels`) reach the image.

The user's Secrets are referred to, not copied, so OpenShift reads them when the build runs.

OpenShift itself gives a Build the cluster's mirrors, policy, proxy and CAs. So of a build's environment, a Build is
given the trust bundle that its image gets, and what is lent. A Build has no field for tolerations, a priority or the
builder's image.
"""

from typing import Any, Final

from msgspec.structs import replace

from windlass.api.build import GROUP, Build, BuildStatus
from windlass.api.core import Pod
from windlass.kube.control.permissions import Declaration, Permission
from windlass.kube.control.plan import Action, Target
from windlass.kube.control.seen import IndexedReader
from windlass.os_build import log
from windlass.os_build.backends.owned import ClusterBackend, moment, node_selector
from windlass.os_build.builder import BuildState, Cause, Failed, Obstacle, Order, Phase, Waits
from windlass.os_build.constants import NAMESPACE
from windlass.os_build.environment import VOLUMES, Lent
from windlass.os_build.failure import explain
from windlass.os_build.inputs.context import CONTAINERFILE, Context, fits_build
from windlass.os_build.placement import Placement
from windlass.os_build.request import BackendName, Problem, Request

POOL_IMAGE_LABEL: Final = "io.openshift.machineconfig.pool"


class OpenShiftBackend(ClusterBackend[Build]):
    """Builds of OpenShift in `namespace`."""

    def __init__(
        self, reader: IndexedReader, *, namespace: str = NAMESPACE, placement: Placement | None = None
    ) -> None:
        super().__init__(reader, Build, name=BackendName.OPENSHIFT, namespace=namespace, says=says)
        self._placement = placement or Placement()

    @property
    def permissions(self) -> tuple[Declaration, ...]:
        return (*super().permissions, skips_layers(namespace=self._namespace))

    def unfit(self, context: Context, request: Request) -> Problem | None:
        return super().unfit(context, request) or fits_build(context, request)

    def start(self, order: Order) -> tuple[Action, ...]:
        files = {name: content for name, content in order.context.files.items() if name != CONTAINERFILE}
        return self._create(order, spec=build_spec(order, self._placement), files=files)

    def cancel(self, state: BuildState, cause: Cause) -> tuple[Action, ...]:
        """Ask OpenShift to cancel it: the Build stays, with the phase Cancelled."""
        return self._end(state, {"status": {"cancelled": True}}, why=f"it has failed: {cause}")


def skips_layers(*, namespace: str) -> Permission:
    """Builds may have imageOptimizationPolicy SkipLayers: OpenShift's admission asks for this virtual resource."""
    return Permission(GROUP, "builds", ("create",), "optimizeddocker", namespace)


def build_spec(order: Order, placement: Placement) -> dict[str, Any]:
    """The `spec` of the Build."""
    request, deadlines = order.request, order.deadlines
    placement = request.placement.over(placement)
    lent = [_volume(each) for each in order.environment.lent]
    config_maps = [{"configMap": {"name": order.name}, "destinationDir": "."}]
    return {
        "source": {"type": "Dockerfile", "dockerfile": order.context.containerfile, "configMaps": config_maps},
        "strategy": {
            "type": "Docker",
            "dockerStrategy": {
                "pullSecret": {"name": request.pull_secret},
                "noCache": True,
                "forcePull": True,
                "imageOptimizationPolicy": "SkipLayers",
                **({"volumes": lent} if lent else {}),
            },
        },
        "output": {
            "to": {"kind": "DockerImage", "name": order.image},
            "pushSecret": {"name": request.push_secret},
            "imageLabels": [{"name": POOL_IMAGE_LABEL, "value": order.pool.name}],
        },
        # Builds cannot tell building and pushing apart.
        "completionDeadlineSeconds": int(deadlines.build + deadlines.push),
        "mountTrustedCA": True,
        **node_selector(order, placement),
        **({"resources": placement.resources} if placement.resources else {}),
    }


def _volume(lent: Lent) -> dict[str, Any]:
    """What is lent, as a volume for RUN steps: OpenShift keeps it out of the image."""
    source = (
        {"type": "Secret", "secret": {"secretName": lent.name, "optional": True}}
        if lent.kind == "Secret"
        else {"type": "ConfigMap", "configMap": {"name": lent.name, "optional": True}}
    )
    return {"name": VOLUMES[lent.at], "source": source, "mounts": [{"destinationPath": lent.at}]}


# Reads the state of a build from an OpenShift Build. Pure.
#
# | `status.phase` | state |
# |---|---|
# | New, Pending, none yet | Pending; `note` is OpenShift's message if it waits for something |
# | Running | Running |
# | Complete | Succeeded |
# | Cancelled | Failed, BuildCancelled |
# | Failed, Error | by `status.reason`, see below |
#
# | `status.reason` | state |
# |---|---|
# | BuildPodDeleted, NoBuildContainerStatus | Interrupted: the Pod was lost, not the build |
# | BuildPodEvicted | Failed, BuilderEvicted: the Node lacked something, and most probably would again |
# | CancelledBuild | Failed, BuildCancelled |
# | ManageDockerfileFailed | Failed, ContainerfileInvalid |
# | OutOfMemoryKilled | Failed, OutOfMemory |
# | PushImageToRegistryFailed | Failed while pushing, cause from the log |
# | any other, such as DockerBuildFailed, PullBuilderImageFailed | Failed, cause from the log |
#
# OpenShift has no reason for a deadline that passed: GenericBuildFailed, no cause in the log and an age beyond
# `completionDeadlineSeconds` mean that.

_LOST: Final = frozenset({"BuildPodDeleted", "NoBuildContainerStatus"})
_CERTAIN: Final = {
    "BuildPodEvicted": Cause.EVICTED,
    "CancelledBuild": Cause.CANCELLED,
    "ManageDockerfileFailed": Cause.CONTAINERFILE,
    "OutOfMemoryKilled": Cause.MEMORY,
}
_PUSH: Final = "PushImageToRegistryFailed"
_GENERIC: Final = "GenericBuildFailed"


def says(build: Build, known: BuildState) -> BuildState:
    """The state of a build, of which the rest is known."""
    status = build.status
    phase, failed, note = _phase(build)
    waits = None
    if phase is Phase.PENDING:
        refused = Obstacle.REFUSED if status.reason.startswith("CannotCreateBuildPod") else Obstacle.START
        waits = Waits(
            # OpenShift calls the Pod so.
            about=Target(Pod, f"{build.metadata.name}-build", build.metadata.namespace),
            since=moment(build.metadata.creation_timestamp),
            obstacle=refused if status.reason else None,
            text=note.removeprefix("waits: "),
        )
    state = replace(
        known,
        phase=phase,
        digest=status.output.to.image_digest if status.output.to is not None else "",
        failed=failed,
        started=moment(status.start_timestamp),
        runs=moment(status.start_timestamp) if phase is Phase.RUNNING else None,
        waits=waits,
        ended=moment(status.completion_timestamp),
        note=note,
    )
    return replace(state, ending=status.cancelled and not state.is_over)


def _phase(build: Build) -> tuple[Phase, Failed | None, str]:
    status = build.status
    match status.phase:
        case "Running":
            return Phase.RUNNING, None, ""
        case "Complete":
            return Phase.SUCCEEDED, None, ""
        case "Cancelled":
            return Phase.FAILED, Failed(cause=Cause.CANCELLED, tail=_tail(status)), ""
        case "Failed" | "Error":
            if status.reason in _LOST:
                return Phase.INTERRUPTED, None, log.tail(f"{status.reason}: {status.message}")
            return Phase.FAILED, _failed(build), ""
        case _:
            return Phase.PENDING, None, log.tail(f"waits: {status.reason}: {status.message}") if status.reason else ""


def _failed(build: Build) -> Failed:
    status = build.status
    if status.reason in _CERTAIN:
        return Failed(cause=_CERTAIN[status.reason], tail=_tail(status))
    explained = explain(
        status.log_snippet or status.message, exit_code=None, doing="push" if status.reason == _PUSH else "build"
    )
    if explained.cause is Cause.UNKNOWN and status.reason == _GENERIC and _is_overdue(build):
        return replace(explained, cause=Cause.DEADLINE, tail=_tail(status))
    return replace(explained, tail=_tail(status))


def _is_overdue(build: Build) -> bool:
    created, ended = moment(build.metadata.creation_timestamp), moment(build.status.completion_timestamp)
    deadline = build.spec.completion_deadline_seconds
    # From the creation: it is not recorded when the Pod was scheduled, from which OpenShift counts.
    if created is None or ended is None or deadline is None:
        return False
    return (ended - created).total_seconds() >= deadline


def _tail(status: BuildStatus) -> str:
    """The end of the log; without one, what OpenShift says."""
    return log.tail(status.log_snippet) or log.tail(f"{status.reason}: {status.message}" if status.reason else "")
