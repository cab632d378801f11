"""The inputs of a build: what a rendered MachineConfig and the user's Containerfile become. Pure.

    context = rendered(request, machine_config, apply_by=ApplyBy.TREE)     # Context | Problem

| module | what it holds |
|---|---|
| `machine_config` | reads a rendered MachineConfig: its spec, and the Ignition configuration in it |
| `contents` | the content of a file: data URL, compression, hash |
| `node`, `units`, `tree` | the root file system that the configuration asks for, as a tar archive |
| `base_units` | the script that changes units of the base image |
| `extensions` | packages of OS extensions and kernels |
| `containerfile` | the rendered Containerfile and its scripts |
| `lint` | what is wrong with a Containerfile, with line numbers |
| `context` | all files of the build |

What is wrong with a MachineConfig is raised as `Invalid` inside; `rendered` makes a `Problem` of it.
"""
