"""The expectation about a machine that moves to the other API: its server stays, and only the new side writes.

Each service of the cloud logs its requests, and the User-Agent of Windlass names the controller that sent a write. A
pure function, as in `expectations`.
"""

from typing import Final

from windlass.demo.story import Moment, Observed, met, missing
from windlass.machine_sync.constants import CLUSTER_API, MACHINE_API
from windlass.openstack.demo.expectations import Expectation, not_running
from windlass.openstack.demo.scene import Scene, Write

_NAMES: Final = {MACHINE_API: "the Machine API", CLUSTER_API: "Cluster API"}
_WRITERS: Final = {MACHINE_API: "openstack-machine-api", CLUSTER_API: "openstack-server"}
"""The controller that has the servers of machines under each authority."""


def handed_over(to: str) -> Expectation:
    """The machine is under the API `to`, on the server that it had; the cloud got nothing but marks, from that side."""

    def look(scene: Scene, moment: Moment[Scene]) -> Observed:
        if scene.code not in (0, None):
            return missing(f"`windlass migrate` ended with code {scene.code}: {scene.printed.strip()}")
        row = next((row for row in scene.rows if row.name == moment.name), None)
        if row is None:
            return missing(f"there is no Machine {moment.name}")
        if problem := not_running(row, scene, authority=to):
            return missing(f"{row.name}: {problem}")
        before, after = moment.before.server(row.name), scene.server(row.name)
        if before is None or after is None or before.id != after.id:
            return missing(f"its server is {after.id if after else '(none)'}, and was {before.id if before else ''}")
        written = sorted(scene.writes - moment.before.writes)
        if others := [one for one in written if one.controller != _WRITERS[to] or not one.is_mark]:
            return missing(f"the cloud has logged {_line(others[0])}")
        if not any(one.path.endswith(f"/servers/{after.id}/metadata") for one in written):
            return missing("the cloud has not logged the mark of the server")
        if scene.code is None:
            return missing("`windlass migrate` has not ended")
        return met(
            f"{row.name} belongs to {_NAMES[to]}, on the same server {after.id}. The log of the cloud has "
            f"{len(written)} writes, all marks by {_WRITERS[to]}, and none by {_paused(to)}"
        )

    return look


def _paused(to: str) -> str:
    return _WRITERS[MACHINE_API if to == CLUSTER_API else CLUSTER_API]


def _line(one: Write) -> str:
    return f"{one.method} {one.path} of {one.service} by {one.controller}"
