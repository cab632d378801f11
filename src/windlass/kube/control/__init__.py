"""Observe, decide, apply: what a controller is and how it runs.

| in reading order | |
|---|---|
| `seen` | what is referred to: Present, Absent, Unreadable, or of a kind that is not served |
| `plan`, `merge` | what a decision may ask for, as values that print themselves |
| `rounds`, `executor` | how a plan is carried out, and what its outcome is |
| `controller`, `permissions` | a controller as a value; its rights follow from what it declares |
| `source`, `queue` | what wakes a key, and when its turn comes |
| `reader` | what one controller may read, from caches or live |
| `worker` | one key after the other, with metrics and time budgets |
"""
