"""What it takes to be a mirror, for Machines and MachineSets, whichever API is authoritative.

| module | what it holds |
|---|---|
| `synchronized` | the `Synchronized` condition and the one status write of a Machine API object; who is authoritative |
| `migration` | moving authority from one API to the other, and back at any point |
| `move` | what such a move is about, and what those who have to stand still say |
| `metadata` | which labels and annotations a mirror has: what the sync put there, and what others did |
| `conditions` | conditions of the authoritative object merged into those of its mirror |
| `infra_machine_spec` | where an infra machine, or the template of one, really differs from what conversion gives |
| `finalizers` | our finalizer on everything that is there and stays |
| `collector` | the garbage collector: what it was told to do, and which deletions are its own |

All pure: functions from what was seen to actions or parts of plans.
"""
