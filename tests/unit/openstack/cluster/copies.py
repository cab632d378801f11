"""The controller at work on a copy of an OpenStackCluster, and what the copy says."""

from windlass.api.capo_cluster import OpenStackCluster

from .cases import Process, Tree, World


class OfCopy(Process):
    """The controller, at work on the OpenStackCluster `copy`."""

    key = ("ns", "copy")
    root = "1b5f4c1e-8e5f-4d0c-9b0e-3f0a2a1d7c55"


def of_copy(world: World) -> Tree | None:
    found = world.api.peek(OpenStackCluster, "copy", namespace="ns")
    return found.tree() if found is not None else None


def told(tree: Tree | None, type: str) -> tuple[str, str, str]:  # noqa: A002
    assert tree is not None
    (one,) = [each for each in tree["status"]["conditions"] if each["type"] == type]
    return one["status"], one["reason"], one["message"]
