"""`windlass run openstack` as these tests start it."""

import sys
from pathlib import Path

from windlass.openstack.capability import HOME

DEPLOY = Path(__file__).parents[2] / "deploy" / "openstack"
NAME = "windlass-openstack"
USER = f"system:serviceaccount:{HOME}:{NAME}"
PROGRAM = (str(Path(sys.executable).with_name("windlass")), "run", "openstack")
QUICK = ("--poll-building=1s", "--poll-period=2s", "--drain=40s")
