"""Everybody who is hostile at once, beside healthy work of all capabilities: nobody stops the others.

    WINDLASS_SOAK=1200 pytest tests/e2e/soak -s

The programs run as processes with elections, behind an API server on a bad day (`storm`).
"""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
import yaml

from bench.informer_crowd import NAMESPACE as CROWD
from tests.api.machine_sync.examples import EXAMPLES
from tests.api.machine_sync.stage import Stage
from tests.api.os_build.machine_os.claimed import Claimed
from tests.api.os_build.pool.cluster import Cluster
from tests.api.os_build.pool.process import behind
from tests.api.update_status.asked import NEARBY
from tests.objects import usual_namespaces
from tests.patience import SOAK
from tests.program import running
from tests.unit.web.serving import certificate
from windlass.api.config import FeatureGate, Infrastructure
from windlass.kube import config
from windlass.kube.client import Client
from windlass.machine_sync.constants import Namespaces
from windlass.openstack.installation import OWNED
from windlass.os_build.constants import GLOBAL_PULL_SECRET
from windlass.os_build.constants import NAMESPACE as POOLS
from windlass.os_build.request import BackendName
from windlass.testing import ControlPlane, crds
from windlass.testing.binaries import MACHINE_CONFIG_API, to_stderr
from windlass.testing.plane.ports import free_ports
from windlass.testing.registry import Registry
from windlass.testing.updates import Layout, PlayedCluster, Pool
from windlass.update_status.installation import installation as update_status

from .hostile import (
    change_secrets,
    claim,
    good_cloud,
    half_open,
    hostile_clouds,
    hostile_registries,
    informers,
    render_without_end,
)
from .measured import LAG, Measured, idle
from .people import FLOODS, Page
from .storm import Storm
from .work import GOOD, Log, Machines, images, servers, updates

pytestmark = [pytest.mark.plane, pytest.mark.registry, pytest.mark.sampled]

TIMED = SOAK >= 300
"""Whether lag and memory are judged: in less than minutes they say more of the machine than of the programs."""
LEAST = max(1, int(SOAK / 120))
"""How often each kind of work has to be done."""
WINDLASS = (sys.executable, "-m", "windlass")
PLATFORM = "AWS"
GROUP = "infrastructure.cluster.x-k8s.io/v1alpha1"
SMALL = Layout(operators=("etcd", "machine-config"), pools=(Pool(name="master", nodes=1), Pool(name="worker", nodes=2)))
HOMES = ("windlass-openstack", "windlass-os-build", "windlass-update-status", POOLS, CROWD, "people")


def version(number: int) -> str:
    return f"4.16.{number}"


async def test_nobody_stops_the_others(windlass_fresh_plane: ControlPlane, registry: Registry, tmp_path: Path) -> None:
    plane = windlass_fresh_plane
    await plane.apply_crds(*crds.documents(*{*crds.MACHINES, *crds.UPDATES, *crds.OS_BUILDS}))
    await plane.apply_crds(*crds.of(MACHINE_CONFIG_API))
    await plane.apply_crds(*(owned.manifest() for owned in (*OWNED, *update_status().owned)))
    await asyncio.to_thread(usual_namespaces, plane.blocking)
    await plane.apply(*({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in HOMES))
    async with AsyncExitStack() as stack:
        admin = await stack.enter_async_context(
            Client(config.load(kubeconfig=plane.kubeconfig()), field_manager="test")
        )
        storm = await stack.enter_async_context(Storm(plane.connection, seed=1))
        registries = await stack.enter_async_context(hostile_registries())
        played = PlayedCluster(admin, SMALL, pace=0)
        await played.install()
        stage = await machines(plane, admin)
        pools, claimed = await pools_of(admin, registry)
        stack.enter_context(hostile_clouds(plane.blocking))
        stack.enter_context(good_cloud(plane.blocking, tmp_path, GOOD))
        await stack.enter_async_context(informers(admin, tmp_path, plane.kubeconfig(), good=5))
        await claim(claimed, registries)
        hosts = [registry.host, *(one.target.host for one in registries.values())]
        programs = await stack.enter_async_context(at_work(behind(plane.kubeconfig(), storm.url), tmp_path, hosts))
        page = await stack.enter_async_context(web(plane, storm, tmp_path))
        idle_late = stack.enter_context(idle(tmp_path))
        ann, bob = [await token_of(plane, name) for name in ("ann", "bob")]

        log, until = Log(), time.monotonic() + SOAK
        path = f"/apis/{GROUP}/namespaces/{GOOD}/openstackservers"
        beside = [storm.blow(), change_secrets(admin), render_without_end(claimed, [*registries])]
        beside += [half_open(port) for one in programs for port in one.program.ports]
        beside += [half_open(page.port, tls=page.tls), page.take_all(bob), page.read(ann)]
        beside += [page.flood(str(number)) for number in range(FLOODS)]
        beside += [one.watch() for one in programs]
        async with asyncio.TaskGroup() as attackers:
            tasks = [attackers.create_task(each) for each in beside]
            async with asyncio.TaskGroup() as healthy:
                for name, work in {
                    "machines": Machines(stage).one,
                    "servers": servers(plane.blocking, path),
                    "updates": updates(admin, played, version),
                    "images": images(pools),
                }.items():
                    healthy.create_task(log.steadily(name, work, until=until))
            for task in tasks:
                task.cancel()
        tell(programs, page, storm, log)
        to_stderr(f"soak: a process that does nothing: later than {LAG:g} s: {idle_late():.2%}")
        assert [one for each in programs for one in await each.wrong(idle=idle_late(), timed=TIMED)] == []
        assert {name: len(done) for name, done in log.seconds.items() if len(done) < LEAST} == {}


async def machines(plane: ControlPlane, admin: Client) -> Stage:
    """Machines of both APIs on a cluster that enables Machine sync in all releases to which it is updated."""
    stage = Stage(plane, admin, namespaces=Namespaces(), example=EXAMPLES[PLATFORM])
    described = {"type": PLATFORM, **stage.example.described}
    await stage.singleton(Infrastructure, "cluster", {"platformStatus": described})
    enabled = [{"name": "MachineAPIMigration"}]
    gates = [{"version": version(number), "enabled": enabled} for number in range(500)]
    await stage.singleton(FeatureGate, "cluster", {"featureGates": gates})
    await stage.fleet()
    return stage


async def pools_of(admin: Client, registry: Registry) -> tuple[Cluster, Claimed]:
    """Pools whose images go to a registry that answers, and those that MachineOSConfigs name."""
    pools, claimed = Cluster(admin, registry), Claimed(admin, registry)
    await pools.configure(BackendName.OPENSHIFT)
    await claimed.secret(GLOBAL_PULL_SECRET, registry.auths("puller"))
    return pools, claimed


@asynccontextmanager
async def at_work(kubeconfig: Path, folder: Path, registries: Sequence[str]) -> AsyncIterator[list[Measured]]:
    """The four capabilities, each a process, once they are ready."""
    insecure = [f"--insecure-registry={host}" for host in registries]
    run = [*WINDLASS, f"--kubeconfig={kubeconfig}", "run"]
    argv = {
        "machine-sync": [*run, "machine-sync"],
        "openstack": [*run, "openstack", "--allow-loopback-clouds", "--poll-building=1s", "--poll-period=5s"],
        "os-build": [*run, "os-build", "--machine-os-configs", "--apply-by=tree", "--debounce=0s", *insecure],
        "update-status": [*NEARBY, f"--kubeconfig={kubeconfig}", "--informers"],
    }
    async with AsyncExitStack() as stack:
        found = []
        for name, each in argv.items():
            program = running([*each, "--metrics-open"], folder, metrics=True)
            found.append(Measured(name, await stack.enter_async_context(program)))
        yield found


@asynccontextmanager
async def web(plane: ControlPlane, storm: Storm, folder: Path) -> AsyncIterator[Page]:
    """The page as a cluster has it."""
    (port,) = free_ports(1)
    tls = certificate(folder)
    argv = [*WINDLASS, f"--kubeconfig={behind(plane.kubeconfig(), storm.url)}", "web", f"--bind=127.0.0.1:{port}"]
    argv += [f"--tls-cert={tls.certificate}", f"--tls-key={tls.key}"]
    async with running(argv, folder, metrics=None) as program:
        page = Page(f"https://127.0.0.1:{port}")
        yield page
        assert await program.exit_code() is None
        assert "Traceback" not in program.log.read_text()


async def token_of(plane: ControlPlane, person: str) -> str:
    """A token of somebody who may see everything."""
    account = {"kind": "ServiceAccount", "name": person, "namespace": "people"}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    metadata = {"name": person, "namespace": "people"}
    await plane.apply(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata},
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": person},
            "roleRef": role,
            "subjects": [account],
        },
    )
    kubeconfig = await plane.service_account_kubeconfig("people", person, seconds=24 * 3600)
    token: str = yaml.safe_load(kubeconfig.read_text())["users"][0]["user"]["token"]
    return token


def tell(programs: Sequence[Measured], page: Page, storm: Storm, log: Log) -> None:
    """The figures, for whoever looks at the output of the run."""
    for one in programs:
        to_stderr(f"soak: {one.name}: {one.figures()}")
    longest = sorted(page.seconds)
    to_stderr(f"soak: page: {len(longest)} answers, p99 {longest[int(len(longest) * 0.99)]:.3f} s, {page.answers}")
    to_stderr(f"soak: API server: {storm.requests} requests, failed: {dict(storm.failed)}")
    for name, done in log.seconds.items():
        to_stderr(f"soak: {name}: {len(done)}, longest {max(done, default=0):.1f} s")
