"""A process that runs controllers: it starts, leads, drains and ends, and says how it is.

`manager` puts caches and controllers together, `pool` shares caches among controllers, `lease` elects a leader,
`probes`, `metrics` by `scrape`, `lag` and `logs` are what others see of it.
"""
