"""The parts that all capabilities share, between the controller runtime and the capabilities themselves.

| module | what it holds |
|---|---|
| `capability` | the value of a capability, which the frame works with |
| `installation` | a capability with its options: its account, rights, process, planner, CRDs, policies |
| `conventions` | the behaviour that all commands share |
| `service` | the process of a capability, from credentials to a clean end |
| `installed` | which CRDs of its own kinds are missing |
| `planning` | the plans of its controllers, on a cluster or from files, without carrying them out |
| `documents` | Kubernetes objects in files: YAML, JSON, directories, must-gathers |
| `manifests` | the Kubernetes manifests of a capability: rights, admission policies |
| `together` | several requests at once |
| `goquote` | strings as Go programs quote them |
"""
