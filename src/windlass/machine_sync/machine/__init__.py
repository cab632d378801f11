"""The Machine controller of Machine sync: one name, a Machine on each side, one of them authoritative.

Reading order:

| module | what it holds |
|---|---|
| `snapshot` | what a decision may look at |
| `decide` | which case it is: the table of who exists and who is authoritative |
| `mirror` | Cluster API is authoritative: make the Machine API Machine its mirror |
| `owners` | whose mirror: owner references from one API to the other |
| `deletion` | one side is being deleted: take the other along, in finalizer order |
| `synchronized` | the `Synchronized` condition, the one status write, and failures as conditions and Events |
| `observe` | where a snapshot comes from |

All but `observe` are pure.
"""
