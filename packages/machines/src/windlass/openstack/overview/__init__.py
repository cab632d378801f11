"""What exists in clouds beside what objects say, for the commands `windlass openstack tree` and `orphans`.

| module | holds |
|---|---|
| `reading` | objects of a cluster, and everything that the projects of their credentials have; pools and Machines |
| `tree` | the objects of an OpenStackCluster and their resources; pure |
| `orphans` | marked resources whose owner is gone, and in which order they are deleted; pure |
| `cleaning` | deletes them |
"""
