"""The drift alarm: what our types declare, the real schemas of OpenShift, Cluster API, AWS and Kubernetes have.

And what `windlass plan -f` takes for the defaults of the Machine API, its real CRDs give.
"""

from collections.abc import Iterator, Mapping
from typing import Any, cast

import pytest

from windlass.api import (
    apps,
    authentication,
    authorization,
    capa,
    capg,
    capi,
    capo,
    capo_cluster,
    capo_server,
    config,
    coordination,
    core,
    machineconfiguration,
    machineosconfig,
    mapi,
    route,
)
from windlass.api.meta import KubernetesObject
from windlass.machine_sync.planning.deciders import DEFAULTS
from windlass.testing import crds
from windlass.testing.binaries import MACHINE_CONFIG_API
from windlass.testing.crds.drift import differences
from windlass.testing.plane.facade import PlaneAccess

pytestmark = pytest.mark.plane

CUSTOM: list[type[KubernetesObject]] = [
    capi.Cluster,
    capi.Machine,
    capi.MachineSet,
    capa.AWSCluster,
    capa.AWSMachine,
    capa.AWSMachineTemplate,
    capg.GCPCluster,
    capg.GCPMachine,
    capg.GCPMachineTemplate,
    config.ClusterOperator,
    config.ClusterVersion,
    config.FeatureGate,
    config.Infrastructure,
    machineconfiguration.ControllerConfig,
    machineconfiguration.MachineConfig,
    machineconfiguration.MachineConfigNode,
    machineconfiguration.MachineConfigPool,
    machineconfiguration.OSImageStream,
    machineconfiguration.RenderedMachineConfig,
    machineosconfig.MachineOSBuild,
    machineosconfig.MachineOSConfig,
    mapi.Machine,
    mapi.MachineSet,
    route.Route,
]
OWNED: dict[type[KubernetesObject], set[str]] = {
    capo.OpenStackMachine: {"status.conditions[].observedGeneration"},
    capo.OpenStackMachineTemplate: {"status.conditions", "status.nodeInfo"},
    capo_server.OpenStackServer: {
        "status.conditions[].observedGeneration",
        "status.resolved.volumes",
        "status.resources.trunks",
        "status.resources.volumes",
    },
    capo_cluster.OpenStackCluster: {
        "spec.primarySubnet",
        "status.bastion.resolved.volumes",
        "status.bastion.resources.trunks",
        "status.bastion.resources.volumes",
        "status.conditions",
        "status.externalNetwork.subnets",
    },
    capo_cluster.OpenStackClusterTemplate: {"spec.template.spec.primarySubnet"},
}
"""Kinds that Windlass owns and others have too, with the fields that only ours have."""
BUILT_IN: list[type[KubernetesObject]] = [
    apps.Deployment,
    core.Event,
    core.Namespace,
    core.Node,
    core.Secret,
    coordination.Lease,
    authentication.TokenReview,
    authorization.SubjectAccessReview,
    authorization.SelfSubjectAccessReview,
]


@pytest.fixture(scope="module")
def published() -> dict[str, Mapping[str, Any]]:
    """CRDs by name, as the projects publish them in their Go modules."""
    return {crd["metadata"]["name"]: crd for crd in (*crds.of(MACHINE_CONFIG_API), *crds.documents())}


@pytest.mark.parametrize("kind", CUSTOM, ids=lambda kind: kind.RESOURCE.name)
def test_the_published_crd_has_each_field_that_we_declare(
    published: dict[str, Mapping[str, Any]], kind: type[KubernetesObject]
) -> None:
    assert differences(kind, published[kind.RESOURCE.name]) == []


@pytest.mark.parametrize("kind", OWNED, ids=lambda kind: kind.RESOURCE.name)
def test_a_kind_that_we_own_adds_to_the_published_crd_what_it_says(
    published: dict[str, Mapping[str, Any]], kind: type[KubernetesObject]
) -> None:
    added = {f"{kind.RESOURCE.kind}.{field}: not in the CRD" for field in OWNED[kind]}
    assert set(differences(kind, published[kind.RESOURCE.name])) == added


@pytest.mark.parametrize("kind", DEFAULTS, ids=lambda kind: kind.RESOURCE.name)
def test_documents_get_the_defaults_of_the_published_crd_and_no_others(
    published: dict[str, Mapping[str, Any]], kind: type[KubernetesObject]
) -> None:
    (version,) = published[kind.RESOURCE.name]["spec"]["versions"]
    theirs = dict(_defaults(version["schema"]["openAPIV3Schema"]))
    assert {(*path, field): value for path, field, value in DEFAULTS[kind]} == theirs


def _defaults(schema: dict[str, Any], *path: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    if "default" in schema:
        yield path, schema["default"]
    for name, field in schema.get("properties", {}).items():
        yield from _defaults(field, *path, name)


@pytest.mark.parametrize("kind", BUILT_IN, ids=lambda kind: kind.RESOURCE.name)
def test_the_api_server_has_each_field_that_we_declare(
    windlass_plane: PlaneAccess, kind: type[KubernetesObject]
) -> None:
    assert differences(kind, _as_crd(windlass_plane, kind)) == []


def _as_crd(plane: PlaneAccess, kind: type[KubernetesObject]) -> dict[str, Any]:
    """What the API server's OpenAPI document says of a built-in kind, in the form of a CRD."""
    resource = kind.RESOURCE
    root = f"apis/{resource.api_version}" if resource.group else f"api/{resource.version}"
    schemas = plane.blocking.rest.request("GET", f"/openapi/v3/{root}")["components"]["schemas"]
    named = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    [schema] = [schema for schema in schemas.values() if named in schema.get("x-kubernetes-group-version-kind", ())]
    discovered = plane.blocking.rest.request("GET", f"/{root}")["resources"]
    [found] = [one for one in discovered if one["kind"] == resource.kind and "/" not in one["name"]]
    version = {"name": resource.version, "served": True, "schema": {"openAPIV3Schema": _inlined(schema, schemas)}}
    return {
        "spec": {
            "group": resource.group,
            "names": {"kind": found["kind"], "plural": found["name"]},
            "scope": "Namespaced" if found["namespaced"] else "Cluster",
            "versions": [version],
        }
    }


def _inlined(schema: Any, schemas: dict[str, Any]) -> Any:
    """`schema` without references: OpenAPI v3 writes them as `{"allOf": [{"$ref": ...}], ...}` or bare."""
    if isinstance(schema, list):
        return [_inlined(item, schemas) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _inlined(schemas[cast(str, schema["$ref"]).rpartition("/")[2]], schemas)
    merged = {key: _inlined(value, schemas) for key, value in schema.items() if key != "allOf"}
    for part in schema.get("allOf", ()):
        merged |= _inlined(part, schemas)
    return merged
