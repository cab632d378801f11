"""Runs inside OpenStack's virtual environment: one process per project, with drivers that do no work.

| module | what it holds |
|---|---|
| `serve` | the program: one project behind an HTTP server |
| `projects` | how each project is loaded, and the workers that run beside its API |
| `front` | WSGI middleware: the log of requests, and faults on demand |
| `callers` | the project that a request is made for |
| `sqlite` | SQLite files that many threads write |
| `databases` | empty databases with their schemas |
| `neutron_driver`, `nova_driver`, `cinder_driver`, `octavia_driver` | drivers without agents, hypervisors and disks |

`site` is on PYTHONPATH of these processes. Neutron finds its driver by the entry point beside this folder. Nothing of
Windlass can be imported here.
"""
