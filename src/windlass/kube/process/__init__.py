"""A process that runs controllers: it starts, leads, drains and ends, and says how it is.

`process` is the whole of it, with signals and the deadline of its end. It has a `manager` for each cluster, which puts
caches and controllers together: `pool` shares caches among controllers, `lease` elects a leader. `probes`, `figures`
by `scrape`, `lag` and `logs` are what others see of it.
"""
