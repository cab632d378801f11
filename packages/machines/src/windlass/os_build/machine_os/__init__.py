"""MachineOSConfig as another source of requests, MachineOSBuild as another report: the pure part.

| module | what it holds |
|---|---|
| `request` | what a MachineOSConfig asks for |
| `name` | the name of its MachineOSBuild, which is the one that the Machine Config Operator gives it |
| `build` | that MachineOSBuild, and how its image becomes the current one |
| `rebuild` | whether another configuration needs another image |
| `claim` | in which situation a MachineOSConfig and its builds are |
| `report` | what is written of them |
| `events` | the Events about them |
| `conditions` | how a build reads on its MachineOSBuild and on the pool |

Names are the operator's, so that a cluster can be handed to its builder, and back, without a build.
"""
