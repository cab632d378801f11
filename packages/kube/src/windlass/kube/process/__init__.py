"""A process that runs controllers: it starts, leads, drains, ends and reports its health.

`process` handles signals and the drain deadline. It has a `manager` for each cluster, which joins caches and
controllers: `pool` shares caches among controllers, `lease` elects a leader. `probes`, `figures` (served by `scrape`),
`lag` and `logs` report its state to others; `guard` asks what those may. `run` joins all of it in one call.
"""
