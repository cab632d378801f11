"""Demos: the main job of a capability on real parts, shown as it happens.

A demo is a story on a stage. The stage is a control plane of its own with processes beside it; every step of the story
says what a user would type, and counts only when its effect was seen in the API server.

| module | what it holds |
|---|---|
| `story` | what a demo is made of: steps, what they wait for, and what was observed |
| `stage` | the control plane and the processes beside it; a capability's stage adds what its users do |
| `watching` | the caches through which the story is watched |
| `performance` | the steps in order, against the clock |
| `view` | how it looks on a terminal and in a log |
| `picture` | a few steps of it as an SVG, for a README |
| `showing` | these parts put together |
| `keeping` | `--keep`: the stage stays when the command has ended |
| `machine_sync` | the demo of Machine sync |

Another capability's demo is a room like `machine_sync`, with a `Demo` of its own.
"""
