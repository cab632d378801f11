"""Simulators as one process: `python -m windlass.testing.machines.simulators --help`.

`--guest` plays what a real OpenStack project lacks: kubelets, and (with --kubeconfig) the installer of its clusters.
Without it, what makes machines is played too.
"""

import argparse
import asyncio
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from windlass.kube import config
from windlass.kube.client import Client
from windlass.kube.control.controller import Controller
from windlass.kube.control.reader import CacheReader
from windlass.kube.process import logs
from windlass.kube.process.manager import Manager
from windlass.kube.process.process import Process
from windlass.testing.machines.simulators import (
    cluster_bootstrap_simulator,
    infrastructure_cluster_simulator,
    infrastructure_machine_simulator,
    machine_api_set_simulator,
    machine_api_simulator,
)
from windlass.testing.machines.simulators.authority import NAMESPACE as MACHINE_API_NAMESPACE
from windlass.testing.machines.simulators.infrastructure_clusters import Endpoint
from windlass.testing.machines.simulators.infrastructure_machines import NAMESPACE as CLUSTER_API_NAMESPACE
from windlass.testing.machines.simulators.platforms import PLATFORMS

FIELD_MANAGER = "simulators"


async def simulate_guest(settings: argparse.Namespace) -> None:
    """Play the kubelets of the servers of a real cloud until SIGTERM or SIGINT."""
    from windlass.testing.machines.simulators.guest import guest_simulator, guests_of

    guests = await asyncio.to_thread(guests_of, settings.os_cloud, without=settings.without)
    async with (
        Process() as process,
        _client(settings.workload_kubeconfig) as client,
        Manager(client, field_manager=FIELD_MANAGER) as manager,
        AsyncExitStack() as stack,
    ):
        process.add(manager, cluster="workload")
        await manager.start(partial(guest_simulator, guests=guests, region=settings.region))
        if not settings.kubeconfig:
            await process.run()
            return
        management = await stack.enter_async_context(_client(settings.kubeconfig))
        installing = await stack.enter_async_context(Manager(management, field_manager=FIELD_MANAGER))
        process.add(installing)
        kubeconfig = settings.workload_kubeconfig.read_bytes()
        where = settings.cluster_api_namespace
        await installing.start(partial(cluster_bootstrap_simulator, kubeconfig=kubeconfig, namespace=where))
        await process.run()


def _client(kubeconfig: str | Path) -> Client:
    return Client(config.load(kubeconfig=kubeconfig), field_manager=FIELD_MANAGER)


async def simulate(settings: argparse.Namespace) -> None:
    """Run until SIGTERM or SIGINT."""
    cluster = config.load(kubeconfig=settings.kubeconfig)
    server = urlsplit(cluster.server)
    endpoint = Endpoint(server.hostname or "localhost", server.port or 443)
    platform = PLATFORMS[settings.platform]
    times = {"boot_seconds": settings.boot_seconds, "register_seconds": settings.register_seconds}
    there, here = settings.cluster_api_namespace, settings.machine_api_namespace
    async with (
        Process() as process,
        Client(cluster, field_manager=FIELD_MANAGER) as client,
        Manager(client, field_manager=FIELD_MANAGER) as manager,
    ):
        process.add(manager)
        machines: dict[str, Any] = {"platform": platform, "cloud": there, **times}
        kubeconfig = settings.workload_kubeconfig.read_bytes()
        makers: list[Callable[[CacheReader], Controller[Any, Any]]] = [
            partial(infrastructure_machine_simulator, namespace=there, **machines),
            partial(infrastructure_cluster_simulator, platform=platform, endpoint=endpoint, namespace=there),
            partial(cluster_bootstrap_simulator, kubeconfig=kubeconfig, namespace=there),
        ]
        if settings.machine_api:
            makers.append(partial(machine_api_simulator, namespace=here, **machines))
            makers.append(partial(machine_api_set_simulator, namespace=here))
        for make in makers:
            await manager.start(make)
        await process.run()


def main(arguments: list[str] | None = None) -> int:
    """The program; returns its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m windlass.testing.machines.simulators",
        description="Play the Machine API operator, an infrastructure provider and an installer. For tests only: it "
        "claims machines that do not exist, so it must never see a cluster that people use.",
    )
    parser.add_argument("--kubeconfig", help="where to play; there is no default, on purpose")
    parser.add_argument(
        "--workload-kubeconfig",
        required=True,
        type=Path,
        help="where the Nodes are; what Cluster API core is given to find them",
    )
    parser.add_argument(
        "--guest",
        action="store_true",
        help="play only the kubelets of a real OpenStack project, a Node for each server that is ACTIVE; with "
        "--kubeconfig also the installer of the clusters in --cluster-api-namespace",
    )
    parser.add_argument("--os-cloud", metavar="NAME", help="with --guest: the entry of your clouds.yaml")
    parser.add_argument(
        "--without",
        metavar="SERVER",
        action="append",
        default=[],
        help="with --guest: a server without a kubelet, such as a bastion; may be repeated",
    )
    parser.add_argument("--region", default="", help="with --guest: the region in provider IDs, as identityRef has it")
    parser.add_argument("--platform", choices=sorted(PLATFORMS), default="OpenStack")
    parser.add_argument(
        "--no-machine-api",
        dest="machine_api",
        action="store_false",
        help="leave the Machine API's machines to others, such as windlass.testing.machines.machine_api",
    )
    parser.add_argument("--machine-api-namespace", default=MACHINE_API_NAMESPACE)
    parser.add_argument("--cluster-api-namespace", default=CLUSTER_API_NAMESPACE)
    parser.add_argument("--boot-seconds", type=float, default=2.0, help="from a machine's creation until it runs")
    parser.add_argument("--register-seconds", type=float, default=1.0, help="from then until its Node is ready")
    parser.add_argument("--log-level", default="info")
    settings = parser.parse_args(arguments)
    if settings.guest and not settings.os_cloud:
        parser.error("--guest needs --os-cloud")
    if not settings.guest and not settings.kubeconfig:
        parser.error("the following arguments are required: --kubeconfig")
    logs.configure(level=settings.log_level)
    asyncio.run(simulate_guest(settings) if settings.guest else simulate(settings))
    return 0


if __name__ == "__main__":
    sys.exit(main())
