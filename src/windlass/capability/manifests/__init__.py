"""What a capability is on a cluster, as Kubernetes documents made from its declarations: `windlass manifests`.

| module | holds |
|---|---|
| `crd`, `structural` | CustomResourceDefinitions of the kinds that a capability owns, from their types |
"""
