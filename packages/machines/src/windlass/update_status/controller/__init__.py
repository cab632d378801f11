"""Keeps the object UpdateStatus `cluster`: one key, one decision about all of it.

| module | what it is |
|---|---|
| `snapshot` | what the decision may look at |
| `observe` | reads it from the caches |
| `alerts` | asks thanos-querier for alerts, while an update is going on |
| `decide` | the object, the records and the Events that follow |
| `declare` | what wakes the controller, and what it may read and write |
"""
