"""Says that the controller lives: the UpdateStatusHeartbeat is written every 10 s by the replica that leads.

| state of the process | what is written |
|---|---|
| it leads, and a watch of each source is open | a beat, every `PERIOD` seconds |
| it stands by | nothing |
| a source cannot be followed at the moment | nothing; a beat as soon as all are followed again |
| the kind is not served, or a write is refused | nothing; it is tried again, and the log has one warning |

So a beat says more than a Lease: that what the API server told until then is in the UpdateStatus, or will be within
the time that a write takes.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime
from typing import Any, Final

from windlass.api.update import UPDATE_STATUS
from windlass.api.update_heartbeat import UpdateStatusHeartbeat
from windlass.kube.clock import Clock, SystemClock, rfc3339
from windlass.kube.control.permissions import Permission, permission
from windlass.kube.errors import AlreadyExists, Fenced, KubeError, NotFound
from windlass.kube.logger import Logger
from windlass.kube.verbs import Api, PatchType

PERIOD: Final = 10
"""Seconds between two beats."""
MISSED: Final = 3
"""Beats that may be missing before readers take the controller for dead."""
_LOOK: Final = 1.0
"""Seconds between looks whether a beat is possible."""

_IDENTITY: Final = {
    "apiVersion": UpdateStatusHeartbeat.RESOURCE.api_version,
    "kind": UpdateStatusHeartbeat.RESOURCE.kind,
    "metadata": {"name": UPDATE_STATUS},
}

log = Logger(__name__)


def heartbeat_permissions() -> tuple[Permission, ...]:
    """What writing beats takes."""
    return (
        permission(UpdateStatusHeartbeat, "create"),
        permission(UpdateStatusHeartbeat, "patch", names=(UPDATE_STATUS,)),
    )


class Heartbeat:
    """Writes beats through `api` while `leading()`, unless `interrupted()` names a source that is not followed.

    `server_now`: the time by the API server's clock. `controller`: this process, as people find it.
    """

    def __init__(
        self,
        api: Api,
        *,
        controller: str,
        leading: Callable[[], bool],
        interrupted: Callable[[], Iterable[str]],
        server_now: Callable[[], datetime],
        clock: Clock | None = None,
    ) -> None:
        self._api = api
        self._controller = controller
        self._leading = leading
        self._interrupted = interrupted
        self._server_now = server_now
        self._clock = clock or SystemClock()
        self._said = ""

    async def run(self) -> None:
        """Beat until cancelled."""
        while True:
            beaten = False
            try:
                beaten = await self._beat()
            except Exception:
                # A bug of ours must not end the only sign of life.
                log.exception("the heartbeat failed in an unforeseen way")
            await self._clock.sleep(PERIOD if beaten else _LOOK)

    async def _beat(self) -> bool:
        """Whether there was a beat."""
        if not self._leading() or any(self._interrupted()):
            return False
        try:
            await self._write()
        except Fenced:
            return False
        except KubeError as error:
            if (text := str(error)) != self._said:
                log.warning("the heartbeat of the UpdateStatus cannot be written", error=text)
            self._said = text
            return False
        self._said = ""
        return True

    async def _write(self) -> None:
        fields: dict[str, Any] = {
            "lastBeat": rfc3339(self._server_now()),
            "periodSeconds": PERIOD,
            "controller": self._controller,
        }
        try:
            await self._api.patch(UpdateStatusHeartbeat, UPDATE_STATUS, fields, type=PatchType.MERGE)
        except NotFound:
            with suppress(AlreadyExists):  # another replica was first, and the next beat patches
                await self._api.create(UpdateStatusHeartbeat, {**_IDENTITY, **fields})
