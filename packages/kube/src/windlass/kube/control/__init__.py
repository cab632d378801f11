"""Defines and runs controllers: observe, decide, apply.

| in reading order | |
|---|---|
| `seen` | the result of reading an object: Present, Absent, Unreadable, or its kind is not served |
| `plan`, `merge`, `item_patch` | the actions that a decision may plan, as values that print themselves |
| `rounds`, `executor` | how a plan is carried out, and what its outcome is |
| `controller`, `permissions` | a controller as a value; its rights follow from what it declares |
| `source`, `queue`, `pace` | the events that wake a key, the order in which keys are taken, and how long they rest |
| `reader` | reads for one controller, from caches or live |
| `worker` | reconciles one key after the other, with metrics and time budgets |
"""
