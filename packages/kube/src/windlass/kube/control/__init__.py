"""Defines and runs controllers: observe, decide, apply.

| in reading order | |
|---|---|
| `seen` | the result of reading an object: Present, Absent, Unreadable, or its kind is not served |
| `population` | all objects of a kind at one moment; `memo` keeps what was decoded |
| `plan`, `merge`, `item_patch` | the actions that a decision may plan, as values that print themselves |
| `rounds`, `executor` | how a plan is carried out, and what its outcome is |
| `effects` | requests to other systems, each sent once in an attempt |
| `refused`, `webhooks` | reports refused writes; readiness while a webhook cannot be called |
| `controller`, `permissions` | a controller as a value; its rights follow from what it declares |
| `source`, `queue`, `pace` | the events that wake a key, the order in which keys are taken, and how long they rest |
| `poll`, `echoes` | wakes keys for systems without watches; ignores the events of our own writes |
| `reader` | reads for one controller, from caches or live |
| `budget` | checks the running time of functions against a limit |
| `worker` | reconciles one key after the other, with metrics and time budgets |
"""
