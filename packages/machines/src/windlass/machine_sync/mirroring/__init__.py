"""The rules for mirrors of Machines and MachineSets, whichever API is authoritative.

| module | what it holds |
|---|---|
| `synchronized` | the `Synchronized` condition and the one status write of a Machine API object; its authority |
| `migration` | moving authority from one API to the other, and back at any point |
| `move` | the objects that such a move concerns, and whether their controllers have paused |
| `metadata` | labels and annotations of a mirror: those that we copied, and those of others |
| `extent` | the part of a MachineSet's spec that follows the authority |
| `taints` | taints on mirrors, and why they may forbid moving authority |
| `conditions` | conditions of the authoritative object merged into those of its mirror |
| `infra_machine_spec` | which fields of an infra machine, or template, differ from the converted ones |
| `mirrored_spec` | the record of what conversion wrote to an infra machine or template |
| `belongs` | what is ours to write: marks and names are believed only beside our finalizer |
| `finalizers` | our finalizer on every object that exists and is not being deleted |
| `alone` | objects of one name that were never mirrored: one of them is deleted alone |
| `removal` | whether an object is deleted with its CustomResourceDefinition or namespace |
| `looking` | looks of a decision at objects: in what the caches said, and by questions |
| `caches` | what the caches say, for `observe` |
| `collector` | the garbage collector: the propagation of a deletion, and which deletions it made itself |

All modules except `caches` are pure functions from snapshots to actions or parts of plans.
"""
