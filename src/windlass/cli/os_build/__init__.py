"""The commands of OS build: `windlass os-build VERB`, and its options for commands of all capabilities.

| module | verb, or what it holds |
|---|---|
| `group` | the group |
| `list`, `describe`, `rebuild` | the pools of a cluster |
| `look`, `names` | reads a cluster as the controller does; completes names of pools |
| `show`, `page`, `rebuilding` | rows; the page of one pool; asks for builds and waits for them |
| `render`, `build` | without a cluster |
| `given` | reads files |
| `room` | the options of `windlass run os-build` and `windlass plan os-build` |
"""
