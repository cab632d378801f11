"""What a capability is on a cluster, as Kubernetes documents made from its declarations: `windlass manifests`.

| module | holds |
|---|---|
| `rights` | ServiceAccount, roles and bindings, from declared permissions |
| `policy`, `cel` | admission policies as values, and pieces of their language |
| `crd`, `structural` | CustomResourceDefinitions of the kinds that a capability owns, from their types |
"""

from typing import Any, TypeAlias

Manifest: TypeAlias = dict[str, Any]
"""A Kubernetes object as JSON or YAML holds it."""
