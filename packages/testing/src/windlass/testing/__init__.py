"""Test Python controllers against a real Kubernetes API server: envtest for Python.

    from windlass.testing import ControlPlane

    async with ControlPlane() as plane:
        await plane.apply_crds(Path("crds"))
        run_my_controller(plane.kubeconfig())

Installing Windlass with its extra `testing` gives pytest the fixtures `windlass_plane`, `windlass_plane_options`,
`windlass_namespace`, `windlass_kubeconfig`, `windlass_fresh_plane`, `windlass_module_plane`, `windlass_planes`,
`windlass_cloud`, `windlass_cloud_options`, `windlass_project` and `windlass_registry`.

| package | what it holds |
|---|---|
| `windlass.testing.plane` | etcd, kube-apiserver, kube-controller-manager: start, disturb, stop |
| `windlass.testing.binaries` | where these programs come from |
| `windlass.testing.cloud` | a real OpenStack on loopback, faults in front of it |
| `windlass.testing.registry` | a real registry of container images, faults in front of it |
| `windlass.testing.builder` | a base image for that registry; whether images can be built here |
| `windlass.testing.pytest_plugin` | the fixtures |
| `windlass.testing.crds` | the CRDs of Cluster API, its providers and OpenShift, by API group |
| `windlass.testing.builds` | what concerns builds of images: who builds for Jobs and for OpenShift's Builds, played |
| `windlass.testing.updates` | what concerns cluster updates: simulators of the operators that do them |
| `windlass.testing.machines` | what concerns machines: simulators, the real controllers of both APIs |
| `windlass.testing.scripted` | an API server in memory for one kind, with faults that a test triggers |
| `windlass.testing.memory_cloud` | a model of an OpenStack cloud, at the level of HTTP |
| `windlass.testing.crash`, `.clock`, `.logs` | crashes at each write; virtual time; captured log lines |
| `windlass.testing.blackhole` | a TCP proxy that fails with silence |
| `windlass.testing.background`, `.daemon` | planes that stay when the command that started them ends |

Importing this package costs nothing; names are loaded when they are used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from windlass.testing.plane.access import BlockingAccess
    from windlass.testing.plane.connection import Connection
    from windlass.testing.plane.control_plane import BlockingControlPlane
    from windlass.testing.plane.facade import ControlPlane, PlaneAccess
    from windlass.testing.plane.webhooks import ServingCertificate, at_loopback

__all__ = [
    "BlockingAccess",
    "BlockingControlPlane",
    "Connection",
    "ControlPlane",
    "PlaneAccess",
    "ServingCertificate",
    "at_loopback",
]

# For `-p windlass.testing` where the package is on the path and not installed: then it has no entry point.
pytest_plugins = ("windlass.testing.pytest_plugin",)

_HOMES = {
    "BlockingAccess": "windlass.testing.plane.access",
    "BlockingControlPlane": "windlass.testing.plane.control_plane",
    "Connection": "windlass.testing.plane.connection",
    "ControlPlane": "windlass.testing.plane.facade",
    "PlaneAccess": "windlass.testing.plane.facade",
    "ServingCertificate": "windlass.testing.plane.webhooks",
    "at_loopback": "windlass.testing.plane.webhooks",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
