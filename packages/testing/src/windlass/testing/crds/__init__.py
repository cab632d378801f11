"""The CRDs of kinds that Windlass uses but does not own, adapted to a plane without conversion webhooks.

    from windlass.testing import crds

    await plane.apply_crds(*crds.documents(*crds.MACHINES))

| group | from |
|---|---|
| cluster.x-k8s.io and the other groups of Cluster API core | the module `sigs.k8s.io/cluster-api` |
| infrastructure.cluster.x-k8s.io, AWS kinds | the module `sigs.k8s.io/cluster-api-provider-aws/v2` |
| infrastructure.cluster.x-k8s.io, GCP kinds | the module `sigs.k8s.io/cluster-api-provider-gcp` |
| infrastructure.cluster.x-k8s.io, OpenStack kinds | the module `sigs.k8s.io/cluster-api-provider-openstack` |
| infrastructure.cluster.x-k8s.io, Power VS kinds; build.openshift.io | `windlass.testing.crds.ours` |
| the other groups below openshift.io | the module `github.com/openshift/api`, all feature gates on |

CRDs from modules are the projects' real ones, so that tests do not check our code against our own schemas. A module is
loaded when one of its groups is first requested.

`windlass.testing.crds.drift` compares Structs with any of them.
"""

import copy
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from windlass.testing.binaries import (
    CLUSTER_API,
    CLUSTER_API_AWS,
    CLUSTER_API_GCP,
    CLUSTER_API_OPENSTACK,
    OPENSHIFT_API,
    Part,
    obtain,
)
from windlass.testing.crds import openstack, ours
from windlass.testing.plane.manifests import read_manifests

CLUSTER_API_CORE = (
    "addons.cluster.x-k8s.io",
    "cluster.x-k8s.io",
    "ipam.cluster.x-k8s.io",
    "runtime.cluster.x-k8s.io",
)
"""The API groups whose kinds the core manager watches; it does not start without them."""

INFRASTRUCTURE = "infrastructure.cluster.x-k8s.io"
MACHINES = ("machine.openshift.io", "cluster.x-k8s.io", INFRASTRUCTURE, "config.openshift.io")
"""The API groups of machines in both APIs, and of the configuration that says what the cluster runs on."""
UPDATES = ("config.openshift.io", "machineconfiguration.openshift.io", "route.openshift.io")
"""The API groups of what an update of a cluster is seen in."""
BUILDS = "build.openshift.io"
"""The API group of OpenShift's Builds. Its CRD has no status subresource, as the kind has none."""
OS_BUILDS = ("machineconfiguration.openshift.io", BUILDS)
"""The API groups of pools whose OS images are built, and of Builds."""


@dataclass(frozen=True)
class _Module:
    """A part, the API groups whose CRDs it holds, and labels that the project's kustomization adds to them.

    From such a label Cluster API core reads the contract version that a version of a provider's kind follows.
    """

    part: Part
    groups: tuple[str, ...]
    labels: Mapping[str, str] = field(default_factory=dict)


_MODULES = (
    _Module(CLUSTER_API, CLUSTER_API_CORE, {"cluster.x-k8s.io/v1beta2": "v1beta2"}),
    # AWSMachine v1beta2 follows contract v1beta1: its status has `ready`, and no `initialization`.
    _Module(CLUSTER_API_AWS, (INFRASTRUCTURE,), {"cluster.x-k8s.io/v1beta1": "v1beta2"}),
    # Cluster API core takes `status.ready` of the kinds of GCP and OpenStack, as of those of AWS.
    _Module(CLUSTER_API_GCP, (INFRASTRUCTURE,), {"cluster.x-k8s.io/v1beta1": "v1beta1"}),
    _Module(CLUSTER_API_OPENSTACK, (INFRASTRUCTURE,), {"cluster.x-k8s.io/v1beta1": "v1beta1"}),
    _Module(OPENSHIFT_API, (*UPDATES, "machine.openshift.io")),
)
_OURS = {INFRASTRUCTURE: ours.Foreign.POWERVS, BUILDS: ours.Foreign.BUILDS}
_GROUPS = frozenset([*_OURS, *(group for module in _MODULES for group in module.groups)])


@functools.cache
def documents(*groups: str) -> tuple[Mapping[str, Any], ...]:
    """The CRDs of these API groups, or of all groups if none is named. Raises ValueError for an unknown group.

    The same objects each time: copy one to change it.
    """
    if absent := set(groups) - _GROUPS:
        raise ValueError(f"no CRDs here for {', '.join(sorted(absent))}: apply your own with apply_crds()")
    wanted = frozenset(groups) or _GROUPS
    return tuple(crd for crd in _from(wanted) if crd["spec"]["group"] in wanted)


@functools.cache
def of(part: Part) -> tuple[Mapping[str, Any], ...]:
    """The CRDs of a part that is not in the table above, for a program that needs them."""
    return tuple(_fit(crd, {}) for crd in read_manifests([obtain([part]).crds[part.name]]))


def lax(crd: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of `crd` in which every version takes, and keeps, any object at all.

    Applied first, it lets objects in that the strict one would refuse; they stay stored when the strict one follows.
    Names, scope, subresources and columns are unchanged.
    """
    relaxed: dict[str, Any] = copy.deepcopy(dict(crd))
    for version in relaxed["spec"]["versions"]:
        version["schema"] = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return relaxed


def _from(wanted: frozenset[str]) -> Iterator[dict[str, Any]]:
    if sets := [_OURS[group] for group in _OURS if group in wanted]:
        yield from (_fit(crd, {}) for crd in ours.foreign(*sets))
    modules = [module for module in _MODULES if not wanted.isdisjoint(module.groups)]
    crds = obtain([module.part for module in modules]).crds
    for module in modules:
        for crd in read_manifests([crds[module.part.name]]):
            if crd["kind"] != "CustomResourceDefinition":
                continue
            fitting = _fit(crd, module.labels)
            yield openstack.with_later_fields(fitting) if module.part is CLUSTER_API_OPENSTACK else fitting


def _fit(crd: dict[str, Any], labels: Mapping[str, str]) -> dict[str, Any]:
    """`crd` serving only its storage version: without its conversion webhook it cannot serve others correctly."""
    spec = crd["spec"]
    spec.pop("conversion", None)
    for version in spec["versions"]:
        version["served"] = version["storage"]
    crd["metadata"].setdefault("labels", {}).update(labels)
    crd.pop("status", None)
    return crd
