"""Benchmarks: what Windlass costs beside the bare protocol, controller-runtime and kopf, on one machine in one run.

    python -m bench                     all tables
    python -m bench mirror -n 200       one of them, smaller

README.md says how things are measured; RESULTS.md what came out.

| module | what it holds |
|---|---|
| `converge`, `mirror`, `steady`, `scale_up`, `convert`, `startup` | their tables |
| `migrate`, `fleet`, `policies` | one table each |
| `cold` | a contestant from its start until every object is as it should be |
| `replay`, `recording` | the bare protocol: recorded requests sent again by a loop around aiohttp |
| `widgets*`, `controller_runtime/` | the trivial controller, once for each contestant |
| `machines` | Machines on AWS, as a cluster has them in the API that is authoritative |
| `in_sync` | the same in both APIs, thousands of them at once |
| `paused` | those who say that a machine is paused |
| `arena`, `requests`, `contestant` | the control plane, what it was asked, and who asks |
| `installed` | programs that are built or installed for the occasion, kept in the cache |
| `machine`, `tables` | the computer and its noise; how results are written down |
"""
