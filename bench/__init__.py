"""Benchmarks that compare Windlass with the bare protocol, controller-runtime and kopf, on one machine in one run.

    python -m bench                     all tables
    python -m bench mirror -n 200       one of them, smaller

README.md describes the method; RESULTS.md has the results.

| module | what it holds |
|---|---|
| `converge`, `mirror`, `steady`, `scale_up`, `convert`, `startup` | their tables |
| `migrate`, `fleet`, `policies`, `writes` | one table each |
| `cold` | a contestant from its start until every object is as it should be |
| `replay`, `recording` | the bare protocol: recorded requests sent again by a loop around aiohttp |
| `widgets*`, `controller_runtime/` | the trivial controller, once for each contestant |
| `os_builds`, `os_build_inputs`, `os_build_place` | OS builds; what is computed for them; their cluster and registry |
| `machines` | Machines on AWS, as a cluster has them in the API that is authoritative |
| `in_sync` | the same in both APIs, thousands of them at once |
| `paused` | the controllers that report `Paused` |
| `arena`, `requests`, `contestant` | the control plane, the requests to it, and the program that is measured |
| `installed` | programs that are built or installed on first use, kept in the cache |
| `machine`, `tables` | the computer and its noise; the format of results |
"""
