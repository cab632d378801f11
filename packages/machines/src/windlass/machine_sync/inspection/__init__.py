"""Reads Machines and MachineSets of both sides from a cluster, for people: the command line and the web page show it.

| module | what it reads |
|---|---|
| `listing` | every object of both sides, once |
| `live_rows` | the same, kept up to date by watches |
| `facts` | what one object says of itself, even a malformed one: pure |
| `description` | one name on both sides: infrastructure, conditions, Events, and the plan for it |

The rows are those of `windlass.machine_sync.overview`.
"""
