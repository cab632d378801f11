"""Demos, which show a capability at work on a real control plane.

A demo is a story on a stage. The stage is a control plane of its own with processes beside it. Every step of the story
has the command that a user would type, and is done only when its effect is visible in the API server.

| module | what it holds |
|---|---|
| `story` | the parts of a demo: steps and their expectations |
| `scene` | a snapshot: the objects of the story by kind, and what expectations ask of them |
| `stage` | the control plane, processes, caches of objects; a capability's stage adds what its users do |
| `looks` | how a scene looks: as rows, or as a text |
| `performance` | the steps in order, against the clock |
| `view` | the output on a terminal and in a log |
| `picture` | a few steps of it as an SVG, for a README |
| `showing` | these parts put together, and `--keep`: the stage stays when the command has ended |
| `manifests/` | an OpenShift cluster, which demos share |

A capability's demo is its package `demo`, which has `DEMO`.
"""
