"""Makes the Kubernetes manifests of a capability from its declarations: `windlass manifests`.

| module | holds |
|---|---|
| `rights` | ServiceAccount, roles and bindings, from declared permissions |
| `policy`, `cel` | admission policies as values, and fragments of CEL |
"""

from typing import Any, TypeAlias

Manifest: TypeAlias = dict[str, Any]
"""A Kubernetes object as JSON or YAML holds it."""
