"""What every capability of Windlass stands on, between the controller runtime and the capabilities themselves.

| room | holds |
|---|---|
| `service` | the process of a capability, from credentials to a clean end |
| `planning` | what its controllers would do, on a cluster or from files |
| `documents` | Kubernetes objects in files: YAML, JSON, directories, must-gathers |
| `manifests` | what a capability is on a cluster: generated CRDs |
| `together` | several requests at once |
"""
