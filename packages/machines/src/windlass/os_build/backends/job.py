"""Builds by a Job, whose Pod runs buildah: for clusters without OpenShift's Builds.

The Job itself repeats what may pass: its Pod failure policy fails it at once on an exit code that would come again, and
does not count Pods that the infrastructure took away. The Pod says the digest, or the end of the log, in its
termination message, so it needs no permission in the cluster, and gets no token.

The user's Secrets are volumes, so an attempt reads them as they are then, and the one for pushing when the image is
built. The script takes both types:
`kubernetes.io/dockerconfigjson` as it is, `kubernetes.io/dockercfg` after wrapping it, since buildah's `--authfile`
does not read the older form.

| of the environment | in the Pod |
|---|---|
| registries.conf, policy.json | files of the build's ConfigMap: the script names them to buildah |
| registries.conf.d, registries.d, certificates of one registry | the same, where buildah looks for those of its user |
| the trust bundle, CAs of registries | the same, and the CA that OpenShift publishes: `SSL_CERT_DIR` of the script |
| proxy | environment variables, and build arguments for RUN |
| what is lent | volumes, which the script copies and mounts for RUN |

With a claim for a cache, a container before that of the build unpacks the base images into it, and the build reads
them there. It has neither the Secret for pushing nor what is lent. Only images that are named by a digest are shared:
a tag may become another image.
"""

from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Any, Final, NamedTuple

from windlass.api.batch import Job
from windlass.api.core import Pod
from windlass.api.machineosconfig import MachineOSBuilder, ResourceReference
from windlass.kube.control.controller import Watch
from windlass.kube.control.plan import Action
from windlass.kube.control.seen import IndexedReader, Present, read
from windlass.kube.object import Object
from windlass.os_build.backends.job_state import PERMANENT, says
from windlass.os_build.backends.owned import ClusterBackend, labels, node_selector
from windlass.os_build.backends.pods import BASES_CONTAINER, CONTAINER
from windlass.os_build.builder import ATTEMPTS, BuildState, Cause, Order
from windlass.os_build.constants import CANCELLED_ANNOTATION, NAMESPACE, POOL_LABEL
from windlass.os_build.environment import VOLUMES, Environment, variables
from windlass.os_build.failure import KILLED
from windlass.os_build.inputs.containers import LOOKASIDE, POLICY, REGISTRIES, REGISTRIES_FOLDER
from windlass.os_build.placement import Placement
from windlass.os_build.pullspec import BUILDER_IMAGE, DIGEST
from windlass.os_build.request import BackendName

SERVICE_ACCOUNT: Final = "machine-os-builder"
BY_JOB: Final = "os-build-job"
"""Index of Pods: by the uid of their Job."""

_CONTROLLER_UID: Final = "batch.kubernetes.io/controller-uid"
_SCRIPT: Final = "job_build.sh"
_BASES_SCRIPT: Final = "job_bases.sh"
CACHE: Final = "cache"
"""The volume with unpacked base images."""
_BUILD_USER: Final = 1000
"""The user `build` of the image, which has subordinate user IDs."""
_HOME: Final = "/home/build"
_MESSAGE: Final = "/dev/termination-log"
_CONFIGURATION: Final = {
    "containers": "/containers",
    # Where buildah looks for those of its user; the folder itself may have files of the builder's image.
    "certificates": f"{_HOME}/.config/containers/certs.d",
    "drop-ins": f"{_HOME}/.config/containers/{REGISTRIES_FOLDER}",
    "lookaside": f"{_HOME}/.config/containers/{LOOKASIDE}",
}
"""The volumes with files of the environment, and where they are mounted."""
_PATHS: Final = {
    "CONTEXT": "context",
    "PULL_SECRET": "pull",
    "PUSH_SECRET": "push",
    "TRUST": "trust",
    "WORK": "work",
    "CONTAINERS": "containers",
    "ENTITLEMENT": "entitlement",
    "REPOSITORIES": "repositories",
    "PACKAGE_KEYS": "package-keys",
    "CACHE": CACHE,
}
"""The volumes whose paths the script asks for, by the variable."""
_OF_BASES: Final = ("context", "pull", "trust", "work", CACHE, *_CONFIGURATION)
"""The volumes that unpacking base images needs."""
_GRACE_SECONDS: Final = 2
"""A build that is not wanted any more has nothing to save."""


DEFAULTS: Final = Placement(image=BUILDER_IMAGE, service_account=SERVICE_ACCOUNT)
"""The image has a shell and buildah. The account needs no permissions, but on OpenShift a SecurityContextConstraint
that allows uid 1000."""


class JobBackend(ClusterBackend[Job]):
    """Jobs in `namespace`."""

    def __init__(
        self, reader: IndexedReader, *, namespace: str = NAMESPACE, placement: Placement | None = None
    ) -> None:
        super().__init__(reader, Job, name=BackendName.JOB, namespace=namespace, says=self._with_pods)
        self._placement = (placement or Placement()).over(DEFAULTS)

    @property
    def watches(self) -> tuple[Watch[str], ...]:
        return (*super().watches, self._watch(Pod, indexes={BY_JOB: job_of}))

    def named(self, name: str) -> MachineOSBuilder:
        return job_named(name)

    def start(self, order: Order) -> tuple[Action, ...]:
        shares = bool(_shared_bases(order, self._placement))
        files = {**order.context.files, **scripts(shares=shares), **dict(_beside(order.environment).values())}
        return self._create(order, spec=job_spec(order, self._placement), files=files)

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


def scripts(*, shares: bool = False) -> dict[str, bytes]:
    """What the containers run, by the name of the file. `shares`: the build shares base images with others."""
    names = (_SCRIPT, _BASES_SCRIPT) if shares else (_SCRIPT,)
    return {name: files(__package__).joinpath(name).read_bytes() for name in names}


class _File(NamedTuple):
    """A file of the environment: the `key` of the ConfigMap that has its content."""

    key: str
    content: bytes


def _beside(environment: Environment) -> dict[str, _File]:
    """The files of the environment by the volume and the path in it, `containers/policy.json` for example."""
    found = {f"certificates/{path.removeprefix('certs.d/')}": data for path, data in environment.certificates.items()}
    for path, data in environment.containers.items():
        first, _, rest = path.partition("/")
        if first in (REGISTRIES, POLICY):
            found[f"containers/{path}"] = data
        elif volume := {REGISTRIES_FOLDER: "drop-ins", LOOKASIDE: "lookaside"}.get(first):
            found[f"{volume}/{rest}"] = data
    if trusted := environment.egress.trusted:
        found["trust/trusted.crt"] = trusted.encode()
    return {path: _File(f"environment.{number}", data) for number, (path, data) in enumerate(sorted(found.items()))}


def job_spec(order: Order, settings: Placement) -> dict[str, Any]:
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


def _pod_spec(order: Order, settings: Placement) -> dict[str, Any]:
    placement = order.request.placement.over(settings)
    bases = _shared_bases(order, placement)
    volumes = _volumes(order, {*order.context.files, *scripts(shares=bool(bases))})
    security: dict[str, Any] = {"runAsUser": _BUILD_USER, "runAsGroup": _BUILD_USER, "fsGroup": _BUILD_USER}
    variables_of_build = {
        "IMAGE": order.image,
        "PUSH_SECONDS": str(int(order.deadlines.push)),
        "MESSAGE": _MESSAGE,
    }
    first = {}
    if bases:
        volumes[CACHE] = f"/{CACHE}", {"persistentVolumeClaim": {"claimName": placement.cache_claim}}
        variables_of_build["BASES"] = " ".join(bases)
        # Else the kubelet would give all files of the unpacked images to the group, and so change the images.
        security["fsGroupChangePolicy"] = "OnRootMismatch"
        needed = {name: each for name, each in volumes.items() if name in _OF_BASES}
        filling = {"FILL": "1", "BASES": variables_of_build["BASES"]}
        first = {"initContainers": [_container(BASES_CONTAINER, order, placement, needed, filling)]}
    return {
        "restartPolicy": "Never",
        "serviceAccountName": placement.service_account,
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": _GRACE_SECONDS,
        "securityContext": security,
        **first,
        "containers": [_container(CONTAINER, order, placement, volumes, variables_of_build)],
        "volumes": [{"name": name, **source} for name, (_, source) in volumes.items()],
        **node_selector(order, placement),
        **({"tolerations": [each.tree for each in placement.tolerations]} if placement.tolerations else {}),
        **({"priorityClassName": placement.priority_class} if placement.priority_class else {}),
    }


def _container(
    name: str,
    order: Order,
    placement: Placement,
    volumes: Mapping[str, tuple[str, dict[str, Any]]],
    own: Mapping[str, str],
) -> dict[str, Any]:
    """A container with these of the Pod's volumes, and `own` variables beside those of both."""
    paths = {variable: volumes[volume][0] for variable, volume in _PATHS.items() if volume in volumes}
    # The script counts the seconds: a Job counts from its creation, also while no container has started.
    given = {"HOME": _HOME, "BUILD_SECONDS": str(int(order.deadlines.build)), **own, **paths}
    given |= variables(order.environment.egress.proxy)
    return {
        "name": name,
        "image": placement.image,
        "imagePullPolicy": "Always",
        "command": ["/bin/sh", f"/context/{_SCRIPT}"],
        "env": [{"name": variable, "value": value} for variable, value in given.items()],
        "terminationMessagePath": _MESSAGE,
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [
            {
                "name": volume,
                "mountPath": path,
                **({"readOnly": True} if volume == CACHE and name == CONTAINER else {}),
            }
            for volume, (path, _) in volumes.items()
        ],
        **({"resources": placement.resources} if placement.resources else {}),
    }


def _shared_bases(order: Order, placement: Placement) -> tuple[str, ...]:
    """The images that the build shares with others."""
    if not placement.cache_claim:
        return ()
    named = (order.context.base, order.context.extensions)
    return tuple(image for image in named if DIGEST.fullmatch(image.partition("@")[2]))


def _volumes(order: Order, context_files: Iterable[str]) -> dict[str, tuple[str, dict[str, Any]]]:
    """By name: where it is mounted, and what it is."""
    request, beside = order.request, _beside(order.environment)

    def of_the_build(volume: str) -> dict[str, Any]:
        """The files of the environment that this volume has."""
        paths = {path.partition("/")[2]: file for path, file in beside.items() if path.startswith(f"{volume}/")}
        return {"name": order.name, "items": [{"key": file.key, "path": path} for path, file in paths.items()]}

    # On OpenShift every namespace has the CA of its internal registry.
    service_ca = {
        "name": "openshift-service-ca.crt",
        "optional": True,
        "items": [{"key": "service-ca.crt", "path": "service-ca.crt"}],
    }
    trust = [{"configMap": each} for each in (service_ca, of_the_build("trust")) if each["items"]]
    context = [{"key": name, "path": name} for name in sorted(context_files)]
    found: dict[str, tuple[str, dict[str, Any]]] = {
        "context": ("/context", {"configMap": {"name": order.name, "items": context}}),
        "pull": ("/secrets/pull", {"secret": {"secretName": request.pull_secret}}),
        "push": ("/secrets/push", {"secret": {"secretName": request.push_secret}}),
        "trust": ("/trust", {"projected": {"sources": trust}}),
        "work": ("/work", {"emptyDir": {}}),
        "images": (f"{_HOME}/.local/share/containers", {"emptyDir": {}}),
    }
    for volume, path in _CONFIGURATION.items():
        if (files := of_the_build(volume))["items"]:
            found[volume] = path, {"configMap": files}
    for each in order.environment.lent:
        # It was there a moment ago; a Pod whose volume is missing would wait for ever.
        source = (
            {"secret": {"secretName": each.name, "optional": True}}
            if each.kind == "Secret"
            else {"configMap": {"name": each.name, "optional": True}}
        )
        found[VOLUMES[each.at]] = f"/lent/{VOLUMES[each.at]}", source
    return found
