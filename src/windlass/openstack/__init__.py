"""Machines on OpenStack: servers with their ports, trunks and volumes, kept as Cluster API objects say.

| package | what it holds |
|---|---|
| `cloud` | one cloud: credentials, requests, failures, gates, what exists and what changed |
| `instance` | the core, pure: what a server needs, what to ask for next, what its state means, how it goes |
| `server` | the controller of OpenStackServers, the only one that creates anything |
| `machine` | OpenStackMachines: each has an OpenStackServer, and says what Cluster API wants to know |
| `cluster` | OpenStackClusters on networks that exist |
| `identity` | Secrets with credentials, held while they are needed |
| `status` | the conditions of all of them |
| `create` | `create_instance`, the same core for programs without Kubernetes |
"""
