"""Reports how an update of an OpenShift cluster is going.

| module | what it holds |
|---|---|
| `sources` | what is read from a cluster or from files, with the reason for each source that is missing |
| `assessment` | the report of these sources at a moment: pure functions |
| `report` | the report: what is true of control plane, pools and nodes, and what needs attention |
| `text` | the report as text for terminals |
| `times` | moments and durations, as Go programs compute and print them |
| `semver` | which of two versions is older |
"""
