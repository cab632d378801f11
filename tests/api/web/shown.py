"""Each view with a document that shows all that it can show: for tests of every view, and for the pictures of docs."""

from typing import Any, Final

from msgspec.structs import replace

from tests.api.web.live import document_of
from tests.unit.web.examples import RUNNING, STOPPED, ago, clouds_document, pools_document
from tests.unit.web.serving import a_view
from windlass.machine_sync.view import machines
from windlass.machine_sync.view.brief import in_short
from windlass.openstack.view import clouds
from windlass.os_build.view import pools
from windlass.update_status.view import update
from windlass.web import overview
from windlass.web.brief import Need, brief
from windlass.web.running import Alive, Runs
from windlass.web.view import View

UPDATE: Final = "4.15.0-ec2-unavailable-mco-20m"
TITLES: Final = {each.NAME: each.TITLE for each in (overview, update, machines, clouds, pools)}
"""The title of each view by its name: the first page first."""
CLUSTER = "prod-7xk2p-worker-us-east-2"
WHY = 'spec.nodeDrainTimeout: Invalid value: "1h": nodeDrainTimeout is not supported'


def a_row(name: str, kind: str = "Machine", **said: Any) -> dict[str, Any]:
    side: dict[str, Any] = {"phase": "Running", "node": f"ip-10-0-133-{len(name)}.us-east-2.compute.internal"}
    if kind == "MachineSet":
        side = {"replicas": {"desired": 3, "current": 3, "ready": 2}}
    return {
        "kind": kind,
        "name": name,
        "authority": "MachineAPI",
        "desiredAuthority": "MachineAPI",
        "machineAPI": side,
        "clusterAPI": side,
        "synchronized": {"status": "True", "reason": "ResourceSynchronized", "since": "2026-11-25T10:00:00Z"},
        **said,
    }


ROWS = (
    a_row(f"{CLUSTER}a-moves", authority="Migrating", desiredAuthority="ClusterAPI"),
    a_row(
        f"{CLUSTER}a-fails",
        synchronized={"status": "False", "reason": "FailedToConvert", "message": WHY, "since": "2026-11-25T10:00:00Z"},
    ),
    a_row(f"{CLUSTER}a-alone", machineAPI=None, synchronized=None),
    *(a_row(f"{CLUSTER}b-{number}") for number in range(5)),
    a_row(f"{CLUSTER}a", "MachineSet"),
)


SAID: Final = brief(
    "8 machines, 1 MachineSet, 1 not known to be in sync",
    [Need(f"Machine {CLUSTER}a-fails: not in sync: FailedToConvert: {WHY}", "bad", "2026-11-25T10:00:00Z")],
)


def documents() -> dict[str, dict[str, Any]]:
    """By the name of the view."""
    rows = {f"{row['kind']}/{row['name']}": row for row in ROWS}
    of_update = document_of(UPDATE)
    return {
        update.NAME: {**of_update, "troubles": [], "runs": RUNNING, "brief": _of_today(of_update["brief"])},
        machines.NAME: {"troubles": [], "brief": SAID, "runs": RUNNING, **rows},
        clouds.NAME: clouds_document(),
        pools.NAME: pools_document(),
    }


def _of_today(said: dict[str, Any]) -> dict[str, Any]:
    """The update was recorded years ago."""
    return {**said, "needs": [replace(need, since=ago(minutes=20)) for need in said["needs"]]}


NO_LEASE: Final = "OS build does not run here: there is no Lease windlass-os-build/windlass-os-build"
NO_BUILDS: Final = Alive(Runs.ABSENT, NO_LEASE)


def empty() -> dict[str, dict[str, Any]]:
    """The views of a cluster without anything, in which no controller runs."""
    return {
        machines.NAME: {"troubles": [], "brief": in_short([])},
        clouds.NAME: clouds_document([], alive=STOPPED),
        pools.NAME: pools_document(
            [],
            alive=Alive(Runs.STOPPED, STOPPED.text.replace("OpenStack", "OS build").replace("openstack", "os-build")),
        ),
    }


def views(of: dict[str, dict[str, Any]]) -> list[View]:
    """Views with these documents."""
    return [a_view(name, document=document, title=TITLES[name]) for name, document in of.items()]
