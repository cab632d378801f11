"""Adds to the OpenStack provider's CRDs of v0.13.0 the fields of later releases that others write; its webhooks.

| field | since | who writes it |
|---|---|---|
| `identityRef.type` | the release that brought OpenStackClusterIdentity | OpenShift's conversion, and ours |
| `status.initialization` | v0.14.0, on machines and clusters | the simulators |
| `status.capacity` of templates | the release that scales from zero | conversion, from the Machine API's annotations |

A strict write with a field that the CRD lacks is refused. `webhooks` is the provider's own configuration, unchanged.
"""

from collections.abc import Iterator
from typing import Any, Final

from windlass.testing.binaries import CLUSTER_API_OPENSTACK, obtain
from windlass.testing.plane.manifests import read_manifests

NAMESPACE: Final = "capo-system"
LABELS: Final = {"cluster.x-k8s.io/provider": "infrastructure-openstack"}
"""What the provider's kustomization adds to everything."""

_KINDS_WITH_INITIALIZATION = ("OpenStackMachine", "OpenStackCluster")


def with_later_fields(crd: dict[str, Any]) -> dict[str, Any]:
    """`crd`, changed in place."""
    for version in crd["spec"]["versions"]:
        schema = version["schema"]["openAPIV3Schema"]
        for identity in _identities(schema):
            identity["properties"]["type"] = {
                "type": "string",
                "enum": ["Secret", "ClusterIdentity"],
                "default": "Secret",
            }
        if crd["spec"]["names"]["kind"] in _KINDS_WITH_INITIALIZATION:
            provisioned = {"type": "object", "properties": {"provisioned": {"type": "boolean"}}}
            schema["properties"]["status"]["properties"]["initialization"] = provisioned
        if crd["spec"]["names"]["kind"] == "OpenStackMachineTemplate":
            capacity = {"type": "object", "additionalProperties": {"x-kubernetes-int-or-string": True}}
            schema["properties"]["status"] = {"type": "object", "properties": {"capacity": capacity}}
            version["subresources"] = {"status": {}}
    return crd


def webhooks() -> dict[str, Any]:
    """The provider's ValidatingWebhookConfiguration, with the names and labels that its kustomization gives it."""
    files = [obtain([CLUSTER_API_OPENSTACK]).crds[CLUSTER_API_OPENSTACK.name]]
    found: dict[str, Any] = next(
        each for each in read_manifests(files) if each["kind"] == "ValidatingWebhookConfiguration"
    )
    found["metadata"] = {"name": f"capo-{found['metadata']['name']}", "labels": dict(LABELS)}
    for each in found["webhooks"]:
        service = each["clientConfig"]["service"]
        service.update(name=f"capo-{service['name']}", namespace=NAMESPACE)
    return found


def _identities(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for name, field in schema.get("properties", {}).items():
        if name == "identityRef":
            yield field
        yield from _identities(field)
    if "items" in schema:
        yield from _identities(schema["items"])
