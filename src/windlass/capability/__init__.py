"""What every capability of Windlass stands on, between the controller runtime and the capabilities themselves.

| room | holds |
|---|---|
| `documents` | Kubernetes objects in files: YAML, JSON, directories, must-gathers |
| `manifests` | what a capability is on a cluster: generated CRDs |
| `together` | several requests at once |
"""
