"""The numbers of a project's quotas, for messages: asked for only while one is used up, and once a minute at most."""

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Final

from windlass.openstack.cloud.account import Account
from windlass.openstack.cloud.failures import CloudFailure, OverQuota
from windlass.openstack.cloud.inventory import Blockers, Quota

SECONDS: Final = 60.0
"""The greatest age of the numbers."""


class QuotaNumbers:
    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._known: dict[str, tuple[datetime, tuple[Quota, ...]]] = {}

    async def of(self, project: Account, blockers: Blockers) -> tuple[Quota, ...]:
        """The numbers; none unless `blockers` says that a quota is used up, or if they cannot be read."""
        closed = (gate.why for gate in blockers.gates.values())
        if not any(isinstance(each, OverQuota) for each in (*closed, *(one.failure for one in blockers.refusals))):
            return ()
        at, quotas = self._known.get(project.key, (datetime.min.replace(tzinfo=UTC), ()))
        if self._now() - at > timedelta(seconds=SECONDS):
            with suppress(CloudFailure):
                quotas = await project.quotas()
            self._known[project.key] = (self._now(), quotas)
        return quotas
