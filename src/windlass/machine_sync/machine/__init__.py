"""The Machine controller of Machine sync: one name, a Machine on each side, one of them authoritative.

Reading order:

| module | what it holds |
|---|---|
| `snapshot` | what a decision may look at |
| `decide` | which case it is: the table of who exists and who is authoritative |
| `mirror_in_machine_api` | Cluster API is authoritative: make the Machine API Machine its mirror |
| `mirror_in_cluster_api` | the Machine API is authoritative: make the Cluster API Machine its mirror, paused |
| `propagation` | what on a mirror belongs to the MachineSet of Cluster API that its machine is in |
| `infra_machine` | the mirror's infra machine, made anew where its provider admits no change |
| `owners` | whose mirror: owner references from one API to the other |
| `deletion` | one side is being deleted: take the other along, in finalizer order |
| `reasons` | reasons of the `Synchronized` condition, and which of them a refused write is |
| `observe` | where a snapshot comes from |
| `controller` | what wakes a machine, and what may be written |

What MachineSets need too is in `windlass.machine_sync.mirroring`, the rules of moving authority among it. All but
`observe` and `controller` are pure.
"""
