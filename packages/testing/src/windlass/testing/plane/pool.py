"""Reuses planes by name: each request returns a plane that runs and is cleared.

A plane costs seven seconds of CPU to start with the CRDs of all sides, and some CPU while it runs. Tests that kill it
or write cluster-scoped objects cannot share it with concurrent tests, but they can reuse that of earlier tests.
"""

from collections.abc import Callable, Iterator
from typing import Any, Unpack

from windlass.testing.plane.access import BlockingAccess, found, read_crds
from windlass.testing.plane.control_plane import BlockingControlPlane
from windlass.testing.plane.errors import Refused
from windlass.testing.plane.facade import ControlPlane
from windlass.testing.plane.options import PlaneOptions

_CONFIGURATION = (
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    "/api/v1/nodes",
)


class PlanePool:
    """The planes of one process, each made by `make` when it is first wanted."""

    def __init__(self, make: Callable[[PlaneOptions], BlockingControlPlane]) -> None:
        self._make = make
        self._planes: dict[str, BlockingControlPlane] = {}
        self._crds: dict[str, set[str]] = {}

    def plane(self, name: str, **options: Unpack[PlaneOptions]) -> ControlPlane:
        """The plane of this name, running and cleared (see `clear`).

        The options of the first call decide how it is made. Later calls add those of `crds` that the plane lacks; a CRD
        that was added is not compared again.
        """
        crds = [*read_crds(options.get("crds", ()))]
        if (plane := self._planes.get(name)) is None:
            plane = self._make({**options, "crds": crds})
            plane.start()
            self._planes[name], self._crds[name] = plane, {crd["metadata"]["name"] for crd in crds}
        else:
            plane.revive_apiserver()
            clear(plane)
            applied = self._crds[name]
            missing = [crd for crd in crds if crd["metadata"]["name"] not in applied]
            applied.update(crd["metadata"]["name"] for crd in plane.apply_crds(*missing))
        return ControlPlane.around(plane)

    def stop(self, name: str) -> None:
        """Stop that plane if it was started."""
        if (plane := self._planes.pop(name, None)) is not None:
            del self._crds[name]
            plane.stop()

    def close(self) -> None:
        """Stop all of them."""
        for name in [*self._planes]:
            self.stop(name)


def clear(plane: BlockingAccess) -> None:
    """Delete Nodes, admission policies and webhooks, and all cluster-scoped custom resources.

    Namespaces and what is in them stay, and CRDs: tests make namespaces of their own.
    """
    rest = plane.rest
    for path in (*_CONFIGURATION, *_cluster_scoped(rest.request("GET", "/apis")["groups"], plane)):
        try:
            rest.request("DELETE", path)
        except Refused as refused:
            if refused.status != 404:  # the CRD has gone meanwhile, with its objects
                raise


def _cluster_scoped(groups: list[dict[str, Any]], plane: BlockingAccess) -> Iterator[str]:
    for group in groups:
        if _is_built_in(group["name"]):
            continue
        root = f"/apis/{group['preferredVersion']['groupVersion']}"
        served = found(plane.rest, root) or {"resources": []}  # a group goes some time after its last CRD
        for resource in served["resources"]:
            if not resource["namespaced"] and "deletecollection" in resource["verbs"]:
                yield f"{root}/{resource['name']}"


def _is_built_in(group: str) -> bool:
    return "." not in group or (group.endswith(".k8s.io") and not group.endswith(".x-k8s.io"))
