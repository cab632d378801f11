"""`windlass openstack`: what exists in clouds, beside what objects say.

| module | verb, or what it holds |
|---|---|
| `tree` | the objects of a cluster, and their resources |
| `orphans` | marked resources whose owner is gone |
| `show`, `follow` | trees as text and for programs; the same with `--watch` |
| `left_over` | looks for orphans, prints them, has them deleted |
"""

from windlass.capability.conventions.verbs import Verb, Verbs

VERBS = {
    "tree": Verb("Show the objects of a cluster beside their resources in the cloud."),
    "orphans": Verb("Show, or delete, what objects that are gone have left in clouds."),
}
"""The verbs; the module of the verb's name in this package has a click command named `command`."""

command = Verbs(
    "openstack",
    VERBS,
    package=__name__,
    help="""Show what exists in OpenStack clouds, beside what objects say.

    `windlass run openstack` is the controller that makes it.""",
)
