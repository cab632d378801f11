"""Builds the OS image of a MachineConfigPool from its rendered MachineConfig.

    pool + ConfigMaps ── request ──> Request ──┬── identity ──> names and the record on the pool
                                               ├── inputs ────> Context: Containerfile and files
                                               └── registry ──> may the Secret push there?
                             pool (observe, decide) ── Backend ──> a builder object: look, start, cancel, clean

| module | what it holds |
|---|---|
| `request` | what a pool asks for, or why that cannot be told: pure |
| `pullspec` | where images are pushed |
| `identity` | the names of builds: hashes of what an image stands for |
| `inputs` | the build context: the applied configuration, the Containerfile and its lint; pure |
| `credentials` | Secrets of registries in all their forms |
| `registry` | asks a registry: who may push, what is there |
| `builder` | what a builder backend does: orders, states, causes of failures |
| `backends` | builders: OpenShift's Builds, Jobs, buildah on this machine |
| `pool` | the controller of MachineConfigPools |

There is no record beside the builder objects and the pool: a build is its builder object, named by its inputs.
"""
