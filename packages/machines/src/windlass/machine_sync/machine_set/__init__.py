"""The MachineSet controller of Machine sync: one name, a MachineSet on each side, one of them authoritative.

Reading order:

| module | what it holds |
|---|---|
| `snapshot` | what a decision may look at |
| `decide` | the table of cases: which objects exist, and which is authoritative |
| `mirror_in_cluster_api` | the Machine API is authoritative: mirror the MachineSet and its template in Cluster API |
| `mirror_in_machine_api` | Cluster API is authoritative: mirror the MachineSet in the Machine API |
| `infra_templates` | the infra templates of a set: the one in use, and those that are not needed any more |
| `selectors` | whether both sets select the same Machines, since neither selector can be changed |
| `deletion` | one object is being deleted: what happens to the other |
| `reasons` | reasons of the `Synchronized` condition, and which of them a refused write is |
| `looking` | what a decision relies on, and what has to be asked for that |
| `observe` | what the caches say |
| `controller` | what wakes a set, and what may be written |

All modules except `observe` and `controller` are pure. Machines are not migrated with their set: existing Machines keep
their authority, and the API that creates a new Machine is its authority.
"""
