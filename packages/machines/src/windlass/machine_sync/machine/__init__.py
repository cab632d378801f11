"""The Machine controller of Machine sync: one name, a Machine on each side, one of them authoritative.

Reading order:

| module | what it holds |
|---|---|
| `snapshot` | what a decision may look at |
| `decide` | the table of cases: which objects exist, and which is authoritative; two that were never mirrored |
| `mirror_in_machine_api` | Cluster API is authoritative: make the Machine API Machine its mirror |
| `mirror_in_cluster_api` | the Machine API is authoritative: make the Cluster API Machine its mirror, paused |
| `propagation` | fields of a mirror that belong to the Cluster API MachineSet of its machine |
| `infra_machine` | the mirror's infra machine, recreated if its provider does not allow a change |
| `infra_owner` | whose an infra machine is: that of another Machine is left alone |
| `infra_resources` | why the infra machine or infra cluster of a Cluster API Machine cannot be used |
| `owners` | owner references, converted from one API to the other |
| `deletion` | one object is being deleted: what happens to the others, in finalizer order |
| `collected` | whether a user deleted a mirror, or the garbage collector did |
| `reasons` | reasons of the `Synchronized` condition, and which of them a refused write is |
| `looking` | what a decision relies on, and what has to be asked for that |
| `observe` | what the caches say |
| `controller` | what wakes a machine, and what may be written |

The rules that MachineSets share are in `windlass.machine_sync.mirroring`, including those of moving authority. All
modules except `observe` and `controller` are pure.
"""
