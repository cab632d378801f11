"""Converts labels, annotations and lifecycle hooks, in both directions.

| Machine API | Cluster API |
|---|---|
| label `machine.openshift.io/cluster-api-machine-role: x`, and `-type: x` | label `node-role.kubernetes.io/x: ""` |
| labels `machine.openshift.io/{instance-type,region,zone}` | none: they follow from the infra machine |
| annotation `machine.openshift.io/delete-machine` | annotation `cluster.x-k8s.io/delete-machine` |
| annotation `machine.openshift.io/exclude-node-draining` | the same of `machine.cluster.x-k8s.io/` |
| annotation `machine.openshift.io/instance-state` | none: it follows from the infra machine |
| `spec.lifecycleHooks` | one annotation for each hook |
| labels and annotations of `spec.metadata`, for the Node | labels and annotations of the Machine |

Keys that contain `cluster.x-k8s.io/` belong to Cluster API and are not mirrored in the Machine API. Bookkeeping of the
sync, and of tools that apply objects, is mirrored in neither direction and is not copied to the Node. Such a tool
treats an object with its mark as its own, and deletes it if it did not apply it.

| tool | annotations | labels |
|---|---|---|
| kubectl | `kubectl.kubernetes.io/last-applied-configuration` | |
| Argo CD | `argocd.argoproj.io/*` | `argocd.argoproj.io/*`, `app.kubernetes.io/instance` |
| Flux | `kustomize.toolkit.fluxcd.io/*`, `helm.toolkit.fluxcd.io/*` | the same |
| Helm | `meta.helm.sh/*` | `app.kubernetes.io/managed-by` |

These labels are left out of the objects that people apply: MachineSets, and Machines that no MachineSet owns. Machines
of a set, templates and selectors keep them, because a selector may name them.

Everything else is copied.
"""

from collections.abc import Iterable
from typing import Final

from windlass.api import mapi
from windlass.api.meta import OwnerReference
from windlass.machine_sync.constants import BOOKKEEPING

CONTROL_PLANE_LABEL: Final = "cluster.x-k8s.io/control-plane"
CLUSTER_NAME_LABEL: Final = "cluster.x-k8s.io/cluster-name"
ROLE_LABEL: Final = "machine.openshift.io/cluster-api-machine-role"
INSTANCE_STATE: Final = "machine.openshift.io/instance-state"
INSTANCE_TYPE_LABEL: Final = "machine.openshift.io/instance-type"
REGION_LABEL: Final = "machine.openshift.io/region"
ZONE_LABEL: Final = "machine.openshift.io/zone"

_CLUSTER_API: Final = "cluster.x-k8s.io/"
_NODE_ROLE: Final = "node-role.kubernetes.io"
_TYPE_LABEL: Final = "machine.openshift.io/cluster-api-machine-type"
_PRE_DRAIN: Final = "pre-drain.delete.hook.machine.cluster.x-k8s.io/"
_PRE_TERMINATE: Final = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/"
_DELETE_MACHINE: Final = "cluster.x-k8s.io/delete-machine"
_MACHINE_API_DELETE_MACHINE: Final = "machine.openshift.io/delete-machine"
_EXCLUDE_DRAINING: Final = "machine.cluster.x-k8s.io/exclude-node-draining"
_MACHINE_API_EXCLUDE_DRAINING: Final = "machine.openshift.io/exclude-node-draining"
_TO_MACHINE_API: Final = {
    _DELETE_MACHINE: _MACHINE_API_DELETE_MACHINE,
    _EXCLUDE_DRAINING: _MACHINE_API_EXCLUDE_DRAINING,
}
"""Annotations that mean the same to the controllers of both APIs."""
_TO_CLUSTER_API: Final = {ours: theirs for theirs, ours in _TO_MACHINE_API.items()}

_APPLIERS: Final = ("argocd.argoproj.io/", "kustomize.toolkit.fluxcd.io/", "helm.toolkit.fluxcd.io/")
_NOTED: Final = frozenset({*BOOKKEEPING, "kubectl.kubernetes.io/last-applied-configuration"})
_NOTED_PREFIXES: Final = (*_APPLIERS, "meta.helm.sh/")
_TRACKING: Final = frozenset({"app.kubernetes.io/instance", "app.kubernetes.io/managed-by"})

# Immutable and equal for most machines, so one serves them all.
_NO_HOOKS: Final = mapi.LifecycleHooks()


def is_control_plane(machine: mapi.Machine) -> bool:
    """Whether the Machine belongs to the control plane, by its role or its owner."""
    metadata = machine.metadata
    return metadata.labels.get(ROLE_LABEL) == "master" or any(
        owner.kind == "ControlPlaneMachineSet" for owner in metadata.owner_references
    )


def machine_api_labels(labels: dict[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """The labels of the Machine in the Machine API, and those of its Node (`spec.metadata`).

    A `node-role.kubernetes.io/<role>` label becomes the role and type labels. The Machine API has room for one role. Of
    several, the one with the smallest key is taken, so that the result does not depend on the order of a map.

    >>> machine_api_labels({"node-role.kubernetes.io/worker": "", "cluster.x-k8s.io/set-name": "ms"})[1]
    {'node-role.kubernetes.io/worker': ''}
    """
    mirrored: dict[str, str] = {}
    nested: dict[str, str] = {}
    role_key: str | None = None
    for key, value in labels.items():
        if key.startswith(_NODE_ROLE) and "/" in key:
            role_key = key if role_key is None else min(role_key, key)
            if _CLUSTER_API not in key:
                nested[key] = value
        elif _CLUSTER_API not in key:
            mirrored[key] = nested[key] = value
    if role_key is not None:
        mirrored[ROLE_LABEL] = mirrored[_TYPE_LABEL] = role_key.partition("/")[2]
    return mirrored, nested


def machine_api_annotations(annotations: dict[str, str]) -> tuple[dict[str, str], dict[str, str], mapi.LifecycleHooks]:
    """The annotations of the Machine, those of its Node (`spec.metadata`), and the hooks that were annotations."""
    mirrored: dict[str, str] = {}
    nested: dict[str, str] = {}
    pre_drain: list[mapi.LifecycleHook] = []
    pre_terminate: list[mapi.LifecycleHook] = []
    for key, value in annotations.items():
        if _is_note(key):
            continue
        if _CLUSTER_API not in key:
            mirrored[key] = nested[key] = value
        elif key.startswith(_PRE_DRAIN):
            pre_drain.append(mapi.LifecycleHook(name=key.removeprefix(_PRE_DRAIN), owner=value))
        elif key.startswith(_PRE_TERMINATE):
            pre_terminate.append(mapi.LifecycleHook(name=key.removeprefix(_PRE_TERMINATE), owner=value))
    for theirs, ours in _TO_MACHINE_API.items():
        if theirs in annotations:
            mirrored[ours] = annotations[theirs]
    if not pre_drain and not pre_terminate:
        return mirrored, nested, _NO_HOOKS
    pre_drain.sort(key=_hook_name)
    pre_terminate.sort(key=_hook_name)
    return mirrored, nested, mapi.LifecycleHooks(pre_drain=pre_drain, pre_terminate=pre_terminate)


def _hook_name(hook: mapi.LifecycleHook) -> str:
    return hook.name


def cluster_api_labels(labels: dict[str, str]) -> dict[str, str]:
    """The labels that an object of Cluster API has for `labels` of the Machine API; always a new dict.

    >>> cluster_api_labels({"machine.openshift.io/cluster-api-machine-role": "infra", "machine.openshift.io/zone": "a"})
    {'node-role.kubernetes.io/infra': ''}
    """
    mirrored: dict[str, str] = {}
    roles: list[str] = []
    for key, value in labels.items():
        if key in (ROLE_LABEL, _TYPE_LABEL):
            roles.append(f"{_NODE_ROLE}/{value}")
        elif key not in (INSTANCE_TYPE_LABEL, REGION_LABEL, ZONE_LABEL):
            mirrored[key] = value
    for role in roles:
        mirrored[role] = ""
    return mirrored


def cluster_api_annotations(annotations: dict[str, str]) -> dict[str, str]:
    """The annotations that an object of Cluster API has for `annotations` of the Machine API; always a new dict."""
    mirrored = {
        key: value
        for key, value in annotations.items()
        if key != INSTANCE_STATE and key not in _TO_CLUSTER_API and not _is_note(key)
    }
    for ours, theirs in _TO_CLUSTER_API.items():
        if ours in annotations:
            mirrored[theirs] = annotations[ours]
    return mirrored


def without_notes(annotations: dict[str, str]) -> dict[str, str]:
    """`annotations` without the bookkeeping of the sync and of tools that apply objects."""
    return {key: value for key, value in annotations.items() if not _is_note(key)}


def without_tracking(labels: dict[str, str]) -> dict[str, str]:
    """`labels` without those by which a tool finds the objects that it has applied.

    >>> without_tracking({"app.kubernetes.io/instance": "fleet", "team": "a"})
    {'team': 'a'}
    """
    return {key: value for key, value in labels.items() if key not in _TRACKING and not key.startswith(_APPLIERS)}


def of_a_set(owners: Iterable[OwnerReference]) -> bool:
    """Whether a MachineSet is among the owners of a Machine."""
    return any(owner.kind == mapi.MachineSet.RESOURCE.kind for owner in owners)


def _is_note(annotation: str) -> bool:
    return annotation in _NOTED or annotation.startswith(_NOTED_PREFIXES)


def hook_annotations(hooks: mapi.LifecycleHooks) -> dict[str, str]:
    """The annotations that stand for `hooks`; of several with one name the last counts.

    >>> hook_annotations(mapi.LifecycleHooks(pre_drain=[mapi.LifecycleHook(name="backup", owner="me")]))
    {'pre-drain.delete.hook.machine.cluster.x-k8s.io/backup': 'me'}
    """
    annotations = {f"{_PRE_DRAIN}{hook.name}": hook.owner for hook in hooks.pre_drain}
    for hook in hooks.pre_terminate:
        annotations[f"{_PRE_TERMINATE}{hook.name}"] = hook.owner
    return annotations
