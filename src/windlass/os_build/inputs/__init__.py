"""The inputs of a build: what a rendered MachineConfig and the user's Containerfile become. Pure.

    context = rendered(request, machine_config, apply_by=ApplyBy.TREE)     # Context | Problem

| module | what it holds |
|---|---|
| `machine_config` | reads a rendered MachineConfig: its spec, and the Ignition configuration in it |
| `tree` | the root file system that an Ignition configuration asks for, as a tar archive |
| `containerfile` | the rendered Containerfile |
| `extensions` | packages of OS extensions and kernels |
| `lint` | what is wrong with a Containerfile, with line numbers |
| `context` | all files of the build |
"""
