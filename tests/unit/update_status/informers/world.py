"""An UpdateInformer on the in-memory API server, its controller, and an informer that answers as a test says."""

import asyncio
from random import Random
from typing import Any

import msgspec

from windlass.api.core import Event, Namespace, Service, ServiceAccount
from windlass.api.update import Overview, UpdateStatus
from windlass.api.update_informer import UpdateInformer, UpdateInsightsRequest
from windlass.capability.manifests import rights
from windlass.kube.control.executor import Executor
from windlass.kube.control.permissions import Declared
from windlass.kube.control.plan import RequeueAfter
from windlass.kube.control.rounds import Ending
from windlass.kube.verbs import (
    ApiRequest,
    GetRequest,
    ListRequest,
    PatchType,
    ServiceAccountTokenRequest,
)
from windlass.model import MemoryApi
from windlass.model.reader import MemoryReader
from windlass.model.schema import rules_of_crd
from windlass.testing.clock import VirtualLoop
from windlass.update_status.informers.admission import Endpoint
from windlass.update_status.informers.declare import informers_controller
from windlass.update_status.informers.feed import AskInformer, Feed
from windlass.update_status.informers.fetching import NoAnswer
from windlass.update_status.informers.settings import InformersSettings
from windlass.update_status.installation import installation

from .servers import insight, response

ACCOUNT = rights.ServiceAccount("windlass-update-status", "windlass-update-status")
OWNED = tuple(rules_of_crd(owned.kind, owned.manifest()) for owned in installation(informers=InformersSettings()).owned)
TARGET = "4.16.1"
HEALTH: dict[str, Any] = {
    "type": "Health",
    "health": {
        "firstSeenAt": "2026-11-01T00:00:00Z",
        "scope": {"type": "ControlPlane"},
        "impact": {"level": "Warning", "type": "None", "summary": "A disk is full"},
        "remediation": {},
    },
}


def overview(target: str) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(Overview(state="Updating" if target else "Idle", target=target))
    return found


def plane(target: str) -> dict[str, Any]:
    """A control plane that is updated to `target`."""
    insight = {
        "type": "ClusterVersion",
        "clusterVersion": {
            "resource": {"group": "config.openshift.io", "resource": "clusterversions", "name": "version"},
            "assessment": "Progressing",
            "completionPercent": 3,
            "baselineSeconds": 3600,
            "startedAt": "2026-11-01T00:00:00Z",
            "versions": {"previous": {"version": "4.16.0"}, "target": {"version": target or "4.16.0"}},
        },
    }
    entry = {"uid": "cv-version", "acquiredAt": "2026-11-01T00:00:00Z", "insight": insight}
    return {"informers": [{"name": "cpi", "insights": [entry]}]}


def envelope(kind: Any, name: str, spec: Any) -> dict[str, Any]:
    resource = kind.RESOURCE
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name}, "spec": spec}


class Answers:
    """The network, and all informers behind it. `says` is the next answer, or why there is none; `takes` the seconds
    until it is there; `asked` what came."""

    def __init__(self, loop: VirtualLoop) -> None:
        self.says: Any = response(insight())
        self.takes = 0.0
        self.asked: list[tuple[float, UpdateInsightsRequest, str]] = []
        self._loop = loop

    async def __call__(self, endpoint: Endpoint, asked: UpdateInsightsRequest, *, token: str) -> bytes:
        self.asked.append((self._loop.time(), asked, token))
        await asyncio.sleep(self.takes)
        if isinstance(self.says, NoAnswer):
            raise self.says
        return msgspec.json.encode(self.says)

    @property
    def times(self) -> list[float]:
        return [when for when, _, _ in self.asked]


class Api(MemoryApi):
    """The model, and the requests that came."""

    def __init__(self, *kinds: Any, **how: Any) -> None:
        super().__init__(*kinds, **how)
        self.sent: list[ApiRequest[Any]] = []

    async def send(self, request: ApiRequest[Any], /) -> Any:
        self.sent.append(request)
        return await super().send(request)

    @property
    def tokens(self) -> list[ServiceAccountTokenRequest]:
        return [each for each in self.sent if isinstance(each, ServiceAccountTokenRequest)]

    @property
    def writes(self) -> int:
        return sum(not isinstance(each, GetRequest | ListRequest) for each in self.sent)


class Latest(Random):
    """Draws the latest of all times."""

    def random(self) -> float:
        return 1.0


class World:
    """`turn` reconciles one UpdateInformer; `pass_time` does it whenever it is due."""

    def __init__(self, loop: VirtualLoop, **settings: Any) -> None:
        self.clock = loop.clock
        self.answers = Answers(loop)
        self.api = Api(Event, Namespace, Service, ServiceAccount, *OWNED, clock=self.clock.now)
        self.settings = InformersSettings(**settings)
        self.woken: list[str] = []
        self.restart()

    def restart(self, random: Random | None = None) -> None:
        """Another process: it knows what the API server knows."""
        self.feed = Feed(self.answers, "cluster", clock=self.clock, random=random or Latest())
        self.detach = self.feed.attach(lambda key, **_: self.woken.append(key))
        self.reader = MemoryReader(self.api)
        self.controller = informers_controller(self.reader, feed=self.feed, settings=self.settings, account=ACCOUNT)
        self.reader.only(self.controller)

    async def install(self, *names: str, **spec: Any) -> None:
        """The account, and an enabled informer with its Service for each of `names`."""
        for namespace in (ACCOUNT.namespace, "storage", "default"):
            await self.api.create(Namespace, {"metadata": {"name": namespace}})
        await self.api.create(ServiceAccount, {"metadata": {"name": ACCOUNT.name}}, namespace=ACCOUNT.namespace)
        for name in names or ("disks",):
            await self.register(name, **spec)
            await self.serve(name)

    async def register(self, name: str = "disks", **spec: Any) -> None:
        at = {"service": {"namespace": "storage", "name": name}}
        body = envelope(UpdateInformer, name, {"enabled": True, "clientConfig": at, **spec})
        await self.api.create(UpdateInformer, body)

    async def serve(self, name: str = "disks", address: str = "172.30.1.2") -> None:
        spec = {"type": "ClusterIP", "clusterIPs": [address], "ports": [{"port": 443, "protocol": "TCP"}]}
        await self.api.create(Service, {"metadata": {"name": name}, "spec": spec}, namespace="storage")

    async def updating(self, target: str = TARGET, *stood: str, installing: bool = False) -> None:
        """An update begins, by the UpdateStatus; "": it ends. `stood`: uids that `disks` has there."""
        if not self.api.listing(UpdateStatus):
            await self.api.create(UpdateStatus, envelope(UpdateStatus, "cluster", {}))
        found = plane(target)
        if installing:
            versions = found["informers"][0]["insights"][0]["insight"]["clusterVersion"]["versions"]
            versions["previous"] = {"version": "<none>", "metadata": [{"key": "Installation"}]}
        if stood:
            told = [{"uid": uid, "acquiredAt": "2026-11-01T00:00:00Z", "insight": HEALTH} for uid in stood]
            found["informers"].append({"name": "disks", "namespace": "storage", "insights": told})
        status = {"overview": overview(target), "controlPlane": found}
        await self.api.patch(UpdateStatus, "cluster", {"status": status}, type=PatchType.MERGE, subresource="status")

    async def change(self, name: str = "disks", **spec: Any) -> None:
        await self.api.patch(UpdateInformer, name, {"spec": spec}, type=PatchType.MERGE)

    async def turn(self, name: str = "disks") -> Ending:
        return await self.controller.reconcile(
            name,
            executor=Executor(
                self.api,
                ledger=self.reader,
                permits=Declared(self.controller.declared),
                systems={AskInformer.SYSTEM: self.feed},
                now=self.clock.now,
            ),
            now=self.clock.now,
        )

    async def pass_time(self, seconds: float, name: str = "disks") -> None:
        end = self.clock.monotonic() + seconds
        while (left := end - self.clock.monotonic()) > 0:
            ending = await self.turn(name)
            due = ending.next.seconds if isinstance(ending.next, RequeueAfter) else left
            await asyncio.sleep(min(left, due))

    async def status(self, name: str = "disks") -> Any:
        return (await self.api.get(UpdateInformer, name)).decode().status

    async def online(self, name: str = "disks") -> tuple[str, str]:
        """Status and reason of Online."""
        (one,) = (await self.status(name)).conditions
        return one.status, one.reason

    def events(self) -> list[str]:
        """Their reasons, the oldest first."""
        found = [change for change in self.api.changes_since(0) if change.kind is Event]
        return [change.tree["reason"] for change in found]

    @property
    def insights(self) -> list[str]:
        """The uids that count now."""
        return [one.uid for one in self.feed.heard["disks"].insights]
