"""A real control plane on loopback: started in seconds, disturbed at will, gone when its owner is.

| module | what it holds |
|---|---|
| `facade` | `ControlPlane`, `PlaneAccess`: what tests use, for asyncio |
| `pool` | planes by name, reused by one test module after the other |
| `control_plane` | the life of a plane: start, stop, kill, compact |
| `access` | what can be done with a plane that somebody else owns: kubeconfigs, objects, CRDs |
| `connection` | the address and tokens of a plane, as a value |
| `commands` | the command lines |
| `processes`, `_supervisor` | child processes that do not outlive us |
| `audit` | who used which permission |
| `foreign` | the CRDs of Cluster API, its providers and OpenShift |
| `rest`, `manifests`, `ports`, `scratch`, `waiting` | small tools, one idea each |
| `errors` | what can go wrong |
"""
