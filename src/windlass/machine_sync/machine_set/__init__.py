"""The MachineSet controller of Machine sync: one name, a MachineSet on each side, one of them authoritative.

Reading order:

| module | what it holds |
|---|---|
| `snapshot` | what a decision may look at |
| `decide` | which case it is: the table of who exists and who is authoritative |
| `mirror_in_cluster_api` | the Machine API is authoritative: make that of Cluster API, and its template, the mirror |
| `mirror_in_machine_api` | Cluster API is authoritative: make that of the Machine API the mirror |
| `infra_templates` | the infra templates of a set: the one in use, and those that nobody needs any more |
| `selectors` | whether both sets select the same Machines, since neither selector can be changed |
| `deletion` | one side is being deleted: what becomes of the other |
| `reasons` | reasons of the `Synchronized` condition, and which of them a refused write is |
| `observe` | where a snapshot comes from |
| `controller` | what wakes a set, and what may be written |

All but `observe` and `controller` are pure. Machines are not migrated with their set: those that exist keep their
authority, new ones follow the side that makes them.
"""
