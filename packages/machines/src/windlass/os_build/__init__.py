"""Builds the OS image of a MachineConfigPool from its rendered MachineConfig.

    pool + ConfigMaps ── request ───┬──> Request ──┬── identity ──> names and the record on the pool
    MachineOSConfig ──── machine_os ┘              ├── inputs ────> Context: Containerfile and files
                                                   └── registry ──> may the Secret push there?
                             pool (observe, decide) ── Backend ──> a builder object: look, start, cancel, clean

In reading order: `request`, `environment`, `pool.situation`, `pool.decide`, `builder`, then whichever of the others you
need.

| module | what it holds |
|---|---|
| `request` | what a pool asks for, or why that cannot be told: pure |
| `pullspec` | where images are pushed |
| `architectures` | for which architectures an image is: those of the pool's Nodes; pure |
| `environment` | how a build reaches registries, whom it trusts, what is lent to it |
| `placement` | how builder Pods are made |
| `streams` | the images of the stream that a pool follows: pure |
| `identity` | the names of builds: hashes of what an image stands for |
| `inputs` | the build context: the applied configuration, the Containerfile and its lint; pure |
| `credentials` | Secrets of registries in all their forms |
| `registry` | asks a registry: who may push, what is there |
| `builder` | what a builder backend does: orders, states, causes of failures |
| `failure`, `log` | why a build failed, from its log, in words; the end of a log, safe to show: pure |
| `backends` | builders: OpenShift's Builds, Jobs, buildah on this machine |
| `machine_os` | MachineOSConfigs: their requests, the names of their builds, and what is written to them; pure |
| `pool` | the controller of MachineConfigPools: observe, situation, decide, and the reports of both |
| `sbom` | the list of what a build added, attached to its image |
| `signing` | signs images by a key; what nodes need to demand it |
| `retention` | removes images that nothing uses any more |
| `policies` | what the account of the process may make of Jobs: admission policies |
| `overview` | how pools are doing, a row each |
| `planning`, `service`, `settings` | plans, the process and its options |
| `metrics`, `transitions`, `counters` | figures: the present ones, what two looks at a pool count, and the counters |
| `constants` | names shared with the Machine Config Operator |
| `capability`, `options`, `installation`; `cli`, `demo` | all of it as a value; its commands and its demo |

There is no record beside the builder objects and the pool: a build is its builder object, named by its inputs.
"""
