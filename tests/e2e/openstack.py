"""`windlass run openstack` as these tests start it."""

import sys
from pathlib import Path

from tests.objects import usual_namespaces
from windlass.machine_sync.constants import CLUSTER_API_NAMESPACE
from windlass.openstack.installation import HOME
from windlass.testing import BlockingControlPlane

DEPLOY = Path(__file__).parents[2] / "deploy" / "openstack"
NAME = "windlass-openstack"
USER = f"system:serviceaccount:{HOME}:{NAME}"
PROGRAM = (str(Path(sys.executable).with_name("windlass")), "run", "openstack", "--allow-loopback-clouds")
MACHINE_API_RBAC = DEPLOY / "machine-api" / "rbac.yaml"
WITH_MACHINE_API = ("--machine-api", f"--watch-namespace={CLUSTER_API_NAMESPACE}")
"""As the folder `machine-api` runs it."""
QUICK = ("--poll-building=1s", "--poll-period=2s", "--drain=40s")


def grant_with_machine_api(plane: BlockingControlPlane) -> None:
    """The rights of the folder `machine-api`, and the namespaces of OpenShift in which its Roles are."""
    usual_namespaces(plane)
    plane.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "openshift-config"}})
    plane.apply_files(MACHINE_API_RBAC)
