"""The parts that all capabilities share, between the controller runtime and the capabilities themselves.

| room | holds |
|---|---|
| `service` | the process of a capability, from credentials to a clean end |
| `installed` | which CRDs of its own kinds are missing |
| `planning` | the plans of its controllers, on a cluster or from files, without carrying them out |
| `documents` | Kubernetes objects in files: YAML, JSON, directories, must-gathers |
| `manifests` | the Kubernetes manifests of a capability: rights, admission policies, CRDs |
| `folders` | where files of a user are kept |
| `together` | several requests at once |
| `goquote` | strings as Go programs quote them |
"""
