"""Builds by a Job, whose Pod runs buildah: for clusters without OpenShift's Builds.

The Job itself repeats what may pass: its Pod failure policy fails it at once on an exit code that would come again, and
does not count Pods that the infrastructure took away. The Pod says the digest, or the end of the log, in its
termination message, so it needs no permission in the cluster, and gets no token.

The user's Secrets are volumes, so an attempt reads them as they are then. The script takes both types:
`kubernetes.io/dockerconfigjson` as it is, `kubernetes.io/dockercfg` after wrapping it, since buildah's `--authfile`
does not read the older form.
"""

from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Final

from msgspec import Struct

from windlass.api.batch import Job
from windlass.api.core import Pod
from windlass.api.machineosconfig import MachineOSBuilder, ResourceReference
from windlass.kube.control.controller import Watch
from windlass.kube.control.plan import Action
from windlass.kube.control.seen import IndexedReader, Present, read
from windlass.kube.object import Object
from windlass.os_build.backends.job_state import PERMANENT, says
from windlass.os_build.backends.owned import ClusterBackend, Placement, labels
from windlass.os_build.backends.pods import CONTAINER
from windlass.os_build.builder import ATTEMPTS, BuildState, Cause, Order
from windlass.os_build.constants import CANCELLED_ANNOTATION, NAMESPACE, POOL_LABEL
from windlass.os_build.failure import KILLED
from windlass.os_build.pullspec import BUILDER_IMAGE
from windlass.os_build.request import BackendName

SERVICE_ACCOUNT: Final = "machine-os-builder"
BY_JOB: Final = "os-build-job"
"""Index of Pods: by the uid of their Job."""

_CONTROLLER_UID: Final = "batch.kubernetes.io/controller-uid"
_SCRIPT: Final = "job_build.sh"
_BUILD_USER: Final = 1000
"""The user `build` of the image, which has subordinate user IDs."""
_HOME: Final = "/home/build"
_MESSAGE: Final = "/dev/termination-log"
_PATHS: Final = {"CONTEXT": "context", "PULL_SECRET": "pull", "PUSH_SECRET": "push", "TRUST": "trust", "WORK": "work"}
"""The volumes whose paths the script asks for, by the variable."""
_GRACE_SECONDS: Final = 2
"""A build that is not wanted any more has nothing to save."""


class JobSettings(Struct, frozen=True, kw_only=True):
    """How Pods of builds are made.

    image            has a shell and buildah
    service_account  of the Pods: it needs no permissions, and on OpenShift a SecurityContextConstraint that allows
                     uid 1000
    trusted_ca       a ConfigMap with the key `ca-bundle.crt`, such as OpenShift fills by a label; empty: none
    proxy            HTTP_PROXY, HTTPS_PROXY and NO_PROXY
    """

    image: str = BUILDER_IMAGE
    service_account: str = SERVICE_ACCOUNT
    trusted_ca: str = ""
    proxy: Mapping[str, str] = {}
    placement: Placement = Placement()


class JobBackend(ClusterBackend[Job]):
    """Jobs in `namespace`."""

    def __init__(
        self, reader: IndexedReader, *, namespace: str = NAMESPACE, settings: JobSettings | None = None
    ) -> None:
        super().__init__(reader, Job, name=BackendName.JOB, namespace=namespace, says=self._with_pods)
        self._settings = settings or JobSettings()

    @property
    def watches(self) -> tuple[Watch[str], ...]:
        return (*super().watches, self._watch(Pod, indexes={BY_JOB: job_of}))

    def named(self, name: str) -> MachineOSBuilder:
        return job_named(name)

    def start(self, order: Order) -> tuple[Action, ...]:
        context = {**order.context.files, _SCRIPT: script()}
        return self._create(order, spec=job_spec(order, self._settings), files=context)

    def cancel(self, state: BuildState, cause: Cause) -> tuple[Action, ...]:
        """Suspend the Job: its Pod is deleted and the Job stays, as the record of the build."""
        told = {"annotations": {CANCELLED_ANNOTATION: str(cause)}}
        return self._end(state, {"metadata": told, "spec": {"suspend": True}}, why=f"it has failed: {cause}")

    def _with_pods(self, job: Job, known: BuildState) -> BuildState:
        found = (read(each) for each in self._reader.indexed(Pod, BY_JOB, job.metadata.uid))
        return says(job, known, pods=[each.object for each in found if isinstance(each, Present)])


def job_named(name: str) -> MachineOSBuilder:
    """The Job of this name, as a MachineOSBuild names it."""
    job = ResourceReference(group="batch", resource="jobs", namespace=NAMESPACE, name=name)
    return MachineOSBuilder(image_builder_type="Job", job=job)


def job_of(pod: Object[Any]) -> tuple[str, ...]:
    """The index `BY_JOB`."""
    uid = pod.metadata.labels.get(_CONTROLLER_UID)
    return (uid,) if uid else ()


def script() -> bytes:
    """What the container runs."""
    return files(__package__).joinpath(_SCRIPT).read_bytes()


def job_spec(order: Order, settings: JobSettings) -> dict[str, Any]:
    """The `spec` of the Job."""
    failing: list[dict[str, Any]] = [
        # First: the kubelet also kills a container that does not end in time when its Pod is evicted.
        {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
        {
            "action": "FailJob",
            "onExitCodes": {"containerName": CONTAINER, "operator": "In", "values": sorted((*PERMANENT, KILLED))},
        },
    ]
    return {
        "completions": 1,
        "parallelism": 1,
        "backoffLimit": max(ATTEMPTS - order.attempt, 0),
        "podFailurePolicy": {"rules": failing},
        "template": {
            "metadata": {"labels": labels(order), "annotations": {POOL_LABEL: order.pool.name}},
            "spec": _pod_spec(order, settings),
        },
    }


def _pod_spec(order: Order, settings: JobSettings) -> dict[str, Any]:
    placement = settings.placement
    volumes = _volumes(order, settings)
    container = {
        "name": CONTAINER,
        "image": settings.image,
        "imagePullPolicy": "Always",
        "command": ["/bin/sh", f"/context/{_SCRIPT}"],
        "env": [
            {"name": "HOME", "value": _HOME},
            {"name": "IMAGE", "value": order.image},
            # The script counts them: a Job counts from its creation, also while no container has started.
            {"name": "BUILD_SECONDS", "value": str(int(order.deadlines.build))},
            {"name": "PUSH_SECONDS", "value": str(int(order.deadlines.push))},
            {"name": "MESSAGE", "value": _MESSAGE},
            *({"name": name, "value": volumes[volume][0]} for name, volume in _PATHS.items()),
            *({"name": name, "value": value} for name, value in sorted(settings.proxy.items())),
        ],
        "terminationMessagePath": _MESSAGE,
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [{"name": name, "mountPath": path} for name, (path, _) in volumes.items()],
        **({"resources": dict(placement.resources)} if placement.resources else {}),
    }
    return {
        "restartPolicy": "Never",
        "serviceAccountName": settings.service_account,
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": _GRACE_SECONDS,
        "securityContext": {"runAsUser": _BUILD_USER, "runAsGroup": _BUILD_USER, "fsGroup": _BUILD_USER},
        "containers": [container],
        "volumes": [{"name": name, **source} for name, (_, source) in volumes.items()],
        **({"nodeSelector": dict(placement.node_selector)} if placement.node_selector else {}),
    }


def _volumes(order: Order, settings: JobSettings) -> dict[str, tuple[str, dict[str, Any]]]:
    """By name: where it is mounted, and what it is."""
    request = order.request
    # buildah takes each *.crt of the folder; on OpenShift every namespace has the CA of its internal registry.
    trusted = [("openshift-service-ca.crt", "service-ca.crt")]
    if settings.trusted_ca:
        trusted.append((settings.trusted_ca, "ca-bundle.crt"))
    trust = [
        {"configMap": {"name": name, "optional": True, "items": [{"key": key, "path": key}]}} for name, key in trusted
    ]
    return {
        "context": ("/context", {"configMap": {"name": order.name}}),
        "pull": ("/secrets/pull", {"secret": {"secretName": request.pull_secret}}),
        "push": ("/secrets/push", {"secret": {"secretName": request.push_secret}}),
        "trust": ("/trust", {"projected": {"sources": trust}}),
        "work": ("/work", {"emptyDir": {}}),
        "images": (f"{_HOME}/.local/share/containers", {"emptyDir": {}}),
    }
