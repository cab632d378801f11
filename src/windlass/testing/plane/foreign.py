"""The CRDs of kinds that Windlass works with and does not own, made fit for a plane without conversion webhooks.

| group | from |
|---|---|
| cluster.x-k8s.io and the other groups of Cluster API core | the module `sigs.k8s.io/cluster-api` |
| infrastructure.cluster.x-k8s.io, AWS kinds | the module `sigs.k8s.io/cluster-api-provider-aws/v2` |
| everything else (Machine API, OpenShift's configuration, other providers) | `windlass/testing/crds/*.yaml`, our own |

Those out of modules are the projects' real ones, so that our own idea of a schema is not the judge of our own code.
"""

from collections.abc import Iterator
from typing import Any

from windlass.testing.binaries import CLUSTER_API, CLUSTER_API_AWS, obtain
from windlass.testing.crds import foreign as our_own
from windlass.testing.plane.manifests import read_manifests

# EKS and ROSA kinds are half a megabyte of schema that nothing here uses.
_AWS_KINDS = ("awsclusters", "awsclustertemplates", "awsmachines", "awsmachinetemplates")

# What the kustomizations of the projects add to the bases. Cluster API core reads from such a label which version of a
# provider's kind follows which contract. AWSMachine v1beta2 follows contract v1beta1: its status has `ready`, and no
# `initialization`.
_CORE_LABELS = {"cluster.x-k8s.io/v1beta2": "v1beta2"}
_AWS_LABELS = {"cluster.x-k8s.io/v1beta1": "v1beta2"}


def documents(*groups: str) -> list[dict[str, Any]]:
    """The CRDs of `groups`, or of all groups if none is named; raises ValueError for a group that we have not."""
    found = [crd for crd in _all() if not groups or crd["spec"]["group"] in groups]
    if absent := set(groups) - {crd["spec"]["group"] for crd in found}:
        raise ValueError(f"no CRDs here for {', '.join(sorted(absent))}: apply your own with apply_crds()")
    return found


def _all() -> Iterator[dict[str, Any]]:
    yield from (_fit(crd, {}) for crd in our_own())
    crds = obtain([CLUSTER_API, CLUSTER_API_AWS]).crds
    yield from (_fit(crd, _CORE_LABELS) for crd in read_manifests([crds[CLUSTER_API.name]]))
    for crd in read_manifests([crds[CLUSTER_API_AWS.name]]):
        if crd["spec"]["names"]["plural"] in _AWS_KINDS:
            yield _fit(crd, _AWS_LABELS)


def _fit(crd: dict[str, Any], labels: dict[str, str]) -> dict[str, Any]:
    """Without its conversion webhook a CRD can serve one version truthfully: the one that it stores."""
    spec = crd["spec"]
    spec.pop("conversion", None)
    for version in spec["versions"]:
        version["served"] = version["storage"]
    crd["metadata"].setdefault("labels", {}).update(labels)
    crd.pop("status", None)
    return crd
