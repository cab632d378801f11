"""Reports how an update of an OpenShift cluster is going.

| module | what it holds |
|---|---|
| `sources` | what is read from a cluster or from files, with the reason for each source that is missing |
| `reading` | reads the sources from a cluster, must-gathers and files |
| `assessment` | the report of these sources at a moment: pure functions |
| `report` | the report: what is true of control plane, pools and nodes, and what needs attention |
| `estimate` | how far the control plane is at a moment, and how long it will still take, as `oc` computes it |
| `expectation` | in what range of time the control plane and each pool will end, by what this cluster took before |
| `causes` | why things wait, and which insights are symptoms of it |
| `headline`, `alike` | the report in a sentence; troubles that differ only in their object, as one |
| `text` | the report as text for terminals |
| `as_tree` | the report for programs |
| `document` | the report as the status of UpdateStatus, and back |
| `history` | the record of an update, as it follows from reports |
| `informers` | which informers are asked, how, when, and what of their answers counts |
| `planning`, `constants` | plans; names in a cluster that reports depend on |
| `controller` | keeps the UpdateStatus and the records up to date |
| `capability`, `installation`, `metrics` | all of it as a value; figures |
| `cli`, `view`, `demo` | its commands, its view of the web page, its demo |
| `times` | moments and durations, as Go programs compute and print them |
| `semver` | which of two versions is older |
"""
