"""Plans of the OpenStack controllers: on a cluster, and for files before anything is created.

| module | holds |
|---|---|
| `planner` | the declaration for `windlass plan openstack`; what is left of the quotas of each project |
| `stand_ins` | what others would add to the objects of files: credentials, Machines of sets, bootstrap data |
"""
