"""The election of Machine sync: it competes for the Lease of OpenShift's own migration controllers while it has work.

OpenShift's controllers do the same job, as one container of a Deployment that the cluster needs and whose changes its
installer reverts. So they cannot be scaled down, but they work only while they hold their Lease. Machine sync competes
for the same Lease: the holder works and the other one waits, so both never work at the same time.

| the Lease is held by | Machine sync |
|---|---|
| this process | works |
| another replica of Machine sync | stands by |
| OpenShift's controllers | idles, and reports that in the log, in a metric and in `windlass machines` |
| no holder, or one that has not renewed it in time | takes it, if there is work |

There is no work while the feature gate is off or the platform is not served (`activation`). Then the Lease is released,
so that OpenShift's controllers can work on platforms that only they serve.

`identity` begins with `windlass_`, so that users and `windlass machines` can distinguish the two programs.
"""

import asyncio
from collections.abc import Coroutine
from random import Random
from typing import Any

from windlass.kube.clock import Clock
from windlass.kube.process.lease import Election, LeaseTimes, own_identity
from windlass.kube.process.tasks import end
from windlass.kube.process.toggle import Toggle
from windlass.kube.verbs import Api
from windlass.machine_sync.activation import Idle
from windlass.machine_sync.constants import HOLDER_PREFIX, LEASE_NAME
from windlass.machine_sync.holder import OURS, THEIRS, who_is


class Candidacy(Election):
    """An Election that competes only between `stand` and `withdraw`, and releases the Lease otherwise."""

    def __init__(
        self,
        api: Api,
        *,
        namespace: str,
        identity: str = "",
        times: LeaseTimes | None = None,
        clock: Clock | None = None,
        random: Random | None = None,
    ) -> None:
        super().__init__(
            api,
            LEASE_NAME,
            namespace=namespace,
            identity=identity or f"{HOLDER_PREFIX}{own_identity()}",
            times=times,
            clock=clock,
            random=random,
        )
        self._standing = Toggle()
        self._may_hold = False

    @property
    def idle(self) -> Idle | None:
        """Why this process does nothing, if that is because OpenShift's controllers work."""
        holder = self.holder
        if not self._standing.on or not holder or who_is(holder) == OURS:
            return None
        return Idle(f"{THEIRS} works: {holder} holds Lease {self.namespace}/{self.name}", "LeaseHeld")

    @property
    def blocked(self) -> str:
        """For readiness: why this process cannot compete although there is work, and what to do about it."""
        if not self._standing.on or not self.refused:
            return ""
        return (
            f"cannot compete for Lease {self.namespace}/{self.name}: {self.refused}. If namespace {self.namespace} is "
            "being deleted, stop Machine sync and run `windlass release --all`, which removes the finalizers that "
            "hold it"
        )

    def stand(self) -> None:
        """There is work: compete for the Lease."""
        self._standing.turn_on()

    def withdraw(self) -> None:
        """There is no more work: end `keep`, and release the Lease in the next `acquire`."""
        self._standing.turn_off()

    async def acquire(self) -> None:
        while True:
            if not self._standing.on:
                if self._may_hold:
                    await self.release()
                    self._may_hold = False
                await self._standing.wait_on()
            self._may_hold = True
            await self._while_standing(super().acquire())
            if self.leading:
                return

    async def keep(self) -> str:
        return await self._while_standing(super().keep()) or "withdrawn: there is no work"

    def tell_holder(self, holder: str) -> None:
        if idle := self.idle:
            self._log.info(str(idle))
        elif holder:
            self._log.info(f"Machine sync stands by: {holder} holds the Lease")

    async def _while_standing(self, doing: "Coroutine[Any, Any, str | None]") -> str | None:
        task = asyncio.create_task(doing, name=f"lease {self.name}")
        withdrawn = asyncio.create_task(self._standing.wait_off())
        try:
            await asyncio.wait([task, withdrawn], return_when=asyncio.FIRST_COMPLETED)
            return task.result() if task.done() else None
        finally:
            await end(task, withdrawn)
