"""Runs a real control plane on loopback: it starts in seconds, has faults on demand, and ends with its owner.

| module | what it holds |
|---|---|
| `facade` | `ControlPlane`, `PlaneAccess`: what tests use, for asyncio |
| `pool` | planes by name, reused by one test module after the other |
| `control_plane` | the life of a plane: start, stop, kill, compact |
| `options` | what makes one plane different from another |
| `access` | the use of a plane that another process owns: kubeconfigs, objects, CRDs |
| `connection` | the address and tokens of a plane, as a value |
| `commands` | the command lines |
| `processes`, `_supervisor` | child processes that do not outlive us |
| `webhooks` | webhook configurations that call a process on loopback |
| `audit` | the permissions that each user used |
| `foreign` | the CRDs of Cluster API, its providers and OpenShift |
| `rest`, `manifests`, `ports`, `waiting` | small tools, one idea each |
| `errors` | what can go wrong |
"""
