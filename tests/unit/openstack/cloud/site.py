"""A project of the model, as one process sees it that has made up the mark of an owner."""

from datetime import UTC, datetime, timedelta
from math import inf
from typing import Any, Final

from tests.unit.openstack.clouded import PROJECT, no_answer
from windlass.openstack.cloud.account import Account
from windlass.openstack.cloud.certainty import Times
from windlass.openstack.cloud.gates import PAUSES
from windlass.openstack.cloud.marks import described
from windlass.openstack.cloud.network_inventory import NetworkInventory
from windlass.openstack.cloud.requests import CloudRequest, Intent
from windlass.openstack.cloud.wire import Http
from windlass.testing.memory_cloud import MemoryCloud

START: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""What the clock of the model's services begins with."""
MARK: Final = "m"
NAMED: Final = {"name": "x", "description": described("x", MARK)}
MADE: Final[dict[str, Any]] = {"project": "k", "intent": Intent(MARK)}
OURS: Final[dict[str, Any]] = {"project": "k", "mark": MARK}
GOES_ON: Final = 2.0
"""Seconds after which the model has done what it was asked for."""


class Site:
    """A project of the model, as one process sees it that has made up the mark itself."""

    def __init__(self, cloud: MemoryCloud | None = None, *, born: bool = True) -> None:
        self.cloud = cloud or MemoryCloud(no_answer=no_answer)
        if cloud is None:
            self.external = self.cloud.services.external_network()
        self.account = Account(
            self.cloud.wire(PROJECT),
            key="k",
            where="",
            project_id=PROJECT,
            now=lambda: START + timedelta(seconds=self.cloud.services.now),
            clock=lambda: self.cloud.services.now,
            pauses=PAUSES,
            times=Times(request=30.0),
            unsent={MARK} if born else set(),
            sent=lambda *_, **__: None,
        )
        self.account.knowledge.begin_term(self.cloud.services.now)

    async def carry(self, request: CloudRequest) -> Any:
        self.cloud.pass_time(GOES_ON)
        return await self.account.carry(request)

    async def known(self) -> NetworkInventory:
        return await self.account.network_inventory(MARK, age=inf)

    async def listed(self) -> NetworkInventory:
        """What another process finds."""
        return await Site(self.cloud, born=False).account.network_inventory(MARK)

    async def raw(self, method: Any, path: str, **body: Any) -> Any:
        """Somebody else asks."""
        service: Any = "load-balancer" if "lbaas" in path else "network"
        envelope = {path.split("/")[-1].removesuffix("s").replace("-", "_"): body}
        status, answer = self.cloud.services.handle(PROJECT, Http(service, method, f"/v2.0/{path}", body=envelope))
        assert status < 300
        return next(iter(answer.values()))
