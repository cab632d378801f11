"""A replica for the weather tests: stands for election, and while it leads writes its name into a ConfigMap.

    python replica.py KUBECONFIG NAMESPACE IDENTITY

It prints `leading` and `standing by` as that changes. The writes go through the whole runtime: cache, queue, rounds,
executor, gate.
"""

import asyncio
import sys
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

from msgspec import Struct, field

from windlass.api.meta import ObjectMeta, Resource
from windlass.kube import config
from windlass.kube.client import Client
from windlass.kube.control.controller import Controller, Watch
from windlass.kube.control.pace import Pace
from windlass.kube.control.permissions import writes
from windlass.kube.control.plan import Merge, Outcome, Plan, RequeueAfter, target
from windlass.kube.control.reader import CacheReader
from windlass.kube.control.seen import Present, Seen
from windlass.kube.process.lease import Election, LeaseTimes
from windlass.kube.process.manager import Manager
from windlass.kube.process.process import Process

BEAT = 0.2


class ConfigMap(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True):
    RESOURCE: ClassVar[Resource] = Resource("", "v1", "ConfigMap", "configmaps")
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    data: dict[str, str] = field(default_factory=dict)


def signing(reader: CacheReader, namespace: str, identity: str) -> Controller[str, Any]:
    """Writes `<identity> <count>` into the ConfigMap `register` again and again."""
    signed: list[int] = [0]

    async def observe(key: str, last: Outcome) -> tuple[Seen[ConfigMap], bool]:
        return await reader.see(ConfigMap, key, namespace=namespace), bool(last.results)

    def decide(snapshot: tuple[Seen[ConfigMap], bool], *, now: datetime) -> Plan:
        register, wrote = snapshot
        if not isinstance(register, Present) or wrote:
            return Plan(next=RequeueAfter(BEAT))
        signed[0] += 1
        desired: Mapping[str, Any] = {"data": {"by": identity, "count": str(signed[0])}}
        observed = {"data": dict(register.tree.get("data", {}))}
        return Plan.of(Merge(target=target(register), observed=observed, desired=desired))

    return Controller(
        name="signing",
        watches=(
            Watch(ConfigMap, lambda found: [found.name] if found.name == "register" else [], namespace=namespace),
        ),
        permissions=(writes(ConfigMap, "patch", namespace=namespace),),
        observe=observe,
        decide=decide,
        pace=Pace(floor=BEAT),
    )


async def main(kubeconfig: Path, namespace: str, identity: str) -> None:
    cluster = config.load(kubeconfig=kubeconfig)
    async with Client(cluster, timeout=5.0) as lease_client:
        election = Election(lease_client, "replicas", namespace=namespace, identity=identity, times=LeaseTimes())
        async with (
            Process(drain_seconds=120) as process,
            Client(cluster, fence=election) as client,
            Manager(client, election=election, linger_seconds=120) as manager,
        ):
            process.add(manager)
            await manager.start(lambda reader: signing(reader, namespace, identity))
            telling = asyncio.create_task(tell(manager))
            await process.run()
            telling.cancel()


async def tell(manager: Manager) -> None:
    said = None
    while True:
        if manager.leading != said:
            said = manager.leading
            print("leading" if said else "standing by", flush=True)
        await asyncio.sleep(0.05)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
