"""Adds to the OpenStack provider's CRDs of v0.13.0 the fields of later releases that others write.

| field | since | who writes it |
|---|---|---|
| `identityRef.type` | the release that brought OpenStackClusterIdentity | OpenShift's conversion, and ours |
| `status.initialization` | v0.14.0, on machines and clusters | the simulators |
| `status.capacity` of templates | the release that scales from zero | conversion, from the Machine API's annotations |

A strict write with a field that the CRD lacks is refused.
"""

from collections.abc import Iterator
from typing import Any

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


def _identities(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for name, field in schema.get("properties", {}).items():
        if name == "identityRef":
            yield field
        yield from _identities(field)
    if "items" in schema:
        yield from _identities(schema["items"])
