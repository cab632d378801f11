"""The proposal for the status API is as short as was asked for, and says of sizes what is measured here."""

import asyncio
import re
import time
from pathlib import Path

import msgspec
import pytest

from windlass.api import apps, core, update
from windlass.api.config import ClusterOperator, ClusterVersion
from windlass.api.machineconfiguration import MachineConfig, MachineConfigNode, MachineConfigPool
from windlass.model import MemoryApi
from windlass.testing.updates import Layout, PlayedCluster, Pool
from windlass.update_status.assessment import assess
from windlass.update_status.constants import RELEASE_VERSION
from windlass.update_status.document import write
from windlass.update_status.sources import Sources

PROPOSAL = Path(__file__).parents[3] / "docs" / "proposals" / "update-status.md"
MOST_WORDS, MOST_LINES = 1500, 300

KINDS = (ClusterVersion, ClusterOperator, MachineConfigPool, MachineConfig, MachineConfigNode, core.Node)
OPERATORS = (*(f"operator-{number}" for number in range(29)), "etcd", "kube-apiserver", "monitoring", "machine-config")


def page() -> str:
    return PROPOSAL.read_text(encoding="utf-8")


def test_it_is_short() -> None:
    prose = re.sub(r"^```.*?^```$", "", page(), flags=re.MULTILINE | re.DOTALL)
    words = [word for word in prose.split() if re.search(r"\w", word)]
    assert len(words) <= MOST_WORDS
    assert len(page().splitlines()) <= MOST_LINES


async def size_of_status(workers: int) -> int:
    """Bytes of the status in the middle of an update of 33 operators, 3 masters and so many workers."""
    api = MemoryApi(*KINDS, apps.Deployment, core.Namespace)
    pools = (Pool(name="master", nodes=3), Pool(name="worker", nodes=workers))
    cluster = PlayedCluster(api, Layout(operators=OPERATORS, pools=pools), pace=0)
    await cluster.install()
    await cluster.cvo.start("4.16.1")
    for operator in OPERATORS[:20]:
        await cluster.cvo.finish(operator)
    await cluster.mco.render("4.16.1")
    versions, operators, pools_now, configs, progress, nodes = [
        tuple(found.decode() for found in (await api.list(kind)).items) for kind in KINDS
    ]
    sources = Sources(
        cluster_version=versions[0],
        operators=operators,
        pools=pools_now,
        nodes=nodes,
        versions={one.metadata.name: one.metadata.annotations.get(RELEASE_VERSION, "") for one in configs},
        operator_image="",
        alerts=(),
        progress={one.metadata.name: one for one in progress},
    )
    now = time.time_ns()
    return len(msgspec.json.encode(write(assess(sources, now=now), now=now)))


@pytest.mark.parametrize("workers", [6, 60, 250, 500, 1000])
def test_the_sizes_of_the_status_are_what_it_says(workers: int) -> None:
    row = re.search(r"and ([\d ,/]+) workers \| ([\d /]+) KB", page())
    assert row
    counts, sizes = ([int(each.replace(",", "")) for each in part.split("/")] for part in row.groups())
    assert asyncio.run(size_of_status(workers)) / 1000 == pytest.approx(sizes[counts.index(workers)], rel=0.05)


def test_the_limits_that_it_names_are_those_of_the_schema() -> None:
    said = (
        f"{update.MOST_IN_CONTROL_PLANE} insights per informer in the control plane, "
        f"{update.MOST_IN_POOL:,} in a pool, {update.MOST_INFORMERS} informers, {update.MOST_POOLS} pools"
    )
    assert said in " ".join(page().split())
