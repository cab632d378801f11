"""A real OpenStack on loopback: Keystone, Placement, Glance, Neutron, Nova, Cinder and Octavia, from PyPI.

    from windlass.testing.cloud import Cloud

    with Cloud() as cloud:
        project = cloud.new_project()
        run_my_provider(project.clouds_yaml)

The API servers run unmodified, one process for each project; no broker, no database server, no root. Only the edges are
replaced: Nova has its own fake hypervisor, Neutron binds ports without agents, Cinder and Octavia have drivers that do
no work. Each project keeps SQLite files.

| module | what it holds |
|---|---|
| `cloud` | `Cloud`: start, stop, services one by one |
| `access` | `CloudAccess`: the use of a cloud that another process owns |
| `project` | `Project`: what a test has for itself |
| `leftovers` | what a project has |
| `faults` | rules that make requests fail; the log of requests |
| `clouds` | clouds.yaml |
| `layout` | options, folders, ports, URLs |
| `config` | the configuration of each service |
| `services` | the processes |
| `packages` | the virtual environment in the cache, and the versions in it |
| `seed` | databases of a cloud that was just made, in the cache |
| `background` | a cloud that stays, for `windlass dev cloud` |
| `site` | the code that runs inside the virtual environment |
| `errors` | what can go wrong |

Names are loaded when they are used.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from windlass.testing.cloud.access import CloudAccess, CloudConnection
    from windlass.testing.cloud.cloud import Cloud, install
    from windlass.testing.cloud.faults import Fault, Request, Rule
    from windlass.testing.cloud.layout import CloudOptions
    from windlass.testing.cloud.project import Project

__all__ = ["Cloud", "CloudAccess", "CloudConnection", "CloudOptions", "Fault", "Project", "Request", "Rule", "install"]

_HOMES = {
    "Cloud": "cloud",
    "CloudAccess": "access",
    "CloudConnection": "access",
    "CloudOptions": "layout",
    "Fault": "faults",
    "Project": "project",
    "Request": "faults",
    "Rule": "faults",
    "install": "cloud",
}

if find_spec("openstack") is None:
    raise ModuleNotFoundError(
        "windlass.testing.cloud needs openstacksdk, which comes with the extra 'openstack' of windlass-testing. "
        "In a checkout of Windlass, run `pip install ./packages/kube './packages/testing[openstack]'`",
        name="openstack",
    )


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"windlass.testing.cloud.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
