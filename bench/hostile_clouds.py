"""Measures servers in a cloud that answers, alone and beside clouds of other tenants that do not.

Beside it are 50 projects of one cloud that takes connections and never answers, and 50 clouds that send a byte at a
time. The good cloud is a model behind HTTP (`model_cloud`).
"""

import asyncio
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import msgspec

from bench import model_cloud
from bench.contestant import ROOT, environment
from bench.machine import NoiseMeter, usage
from bench.servers import GROUP, USER, Tree, control_plane, until
from bench.tables import Cell, Table, against
from windlass.openstack.installation import OWNED
from windlass.testing import BlockingAccess
from windlass.testing.plane.control_plane import BlockingControlPlane

CLOUDS = 50
SERVERS = 10
WANTED = 1.5
PAUSE = 0.5
"""Seconds between two bytes."""


async def measure(directory: Path, *, objects: int = SERVERS, rounds: int) -> list[Table]:
    """`objects`: servers, one after the other."""
    return await asyncio.to_thread(_measure, directory, objects, rounds)


def _measure(directory: Path, count: int, rounds: int) -> list[Table]:
    rows: list[dict[str, Cell]] = []
    for number in range(rounds):
        folder = directory / str(number)
        folder.mkdir(parents=True)
        rows += _round(folder, count, number)
    notes = (f"seconds: from the creation of the object until it is ready; the median of {count} servers",)
    return [Table("Servers beside clouds that do not answer", [*rows[0]], rows, notes)]


def _round(folder: Path, count: int, number: int) -> Iterator[dict[str, Cell]]:
    argv = [sys.executable, "-m", "bench.model_cloud"]
    with (
        control_plane(folder) as plane,
        subprocess.Popen(argv, stdout=subprocess.PIPE, env=environment(), cwd=ROOT) as cloud,
        _hostile() as (silent, trickling),
    ):
        try:
            assert cloud.stdout is not None
            port, _ = cloud.stdout.readline().decode().split()
            plane.apply_crds(*(owned.manifest() for owned in OWNED))
            for name in ("windlass-openstack", "good"):
                plane.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
            plane.apply(secret("good", model_cloud.clouds_yaml(int(port))))
            with _running(plane, folder / "run.log") as process:
                alone = _made(plane, count, "alone")
                yield _row(number, "alone", process, alone, alone)
                noise = NoiseMeter()
                for which in range(CLOUDS):
                    name_cloud(plane, f"hanging-{which}", silent[0])
                    name_cloud(plane, f"trickling-{which}", trickling[which])
                beside = _made(plane, count, "beside")
                yield {**_row(number, "beside them", process, beside, alone), "others, cores": noise.read().others}
        finally:
            cloud.kill()


def _row(
    number: int, what: str, process: "subprocess.Popen[bytes]", found: list[float], alone: list[float]
) -> dict[str, Cell]:
    seconds = statistics.median(found)
    times = seconds / statistics.median(alone)
    return {
        "round": number + 1,
        "what": what,
        "seconds": seconds,
        "longest, s": max(found),
        "times alone": times,
        "wanted": against(times, WANTED) if found is not alone else "",
        "memory, MB": usage(process.pid).peak,
        "others, cores": 0.0,
    }


@contextmanager
def _running(plane: BlockingControlPlane, log: Path) -> Iterator["subprocess.Popen[bytes]"]:
    argv = [sys.executable, "-m", "windlass", "run", "openstack", "--kubeconfig", str(plane.kubeconfig(USER))]
    argv += ["--allow-loopback-clouds", "--health-probe-bind-address", "0", "--metrics-bind-address", "0"]
    with log.open("w") as output, subprocess.Popen(argv, stdout=output, stderr=output, env=environment()) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def _made(plane: BlockingControlPlane, count: int, name: str) -> list[float]:
    """Seconds until each server is ready; the first, for which the cloud is asked for the first time, is left out."""
    found = []
    for number in range(count + 1):
        plane.apply(server("good", f"{name}-{number}"))
        began = time.monotonic()
        until(partial(is_ready, plane, f"{_objects('good')}/{name}-{number}"), pace=0.02)
        found.append(time.monotonic() - began)
    return found[1:]


def is_ready(plane: BlockingAccess, path: str) -> bool:
    return bool(plane.rest.request("GET", path).get("status", {}).get("ready"))


def name_cloud(plane: BlockingAccess, namespace: str, place: str) -> None:
    """A tenant whose Secret names the cloud at `place`, host and port, and who wants a server there."""
    auth = {"auth_url": f"http://{place}/v3", "username": namespace, "password": "p", "project_name": "p"}
    domains = {"user_domain_name": "Default", "project_domain_name": "Default"}
    text = msgspec.yaml.encode({"clouds": {"openstack": {"auth": {**auth, **domains}}}}).decode()
    plane.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    plane.apply(secret(namespace, text), server(namespace, "server"))


def _objects(namespace: str) -> str:
    return f"/apis/{GROUP}/v1alpha1/namespaces/{namespace}/openstackservers"


def secret(namespace: str, text: str) -> Tree:
    """The Secret that `server` names; `text`: its clouds.yaml."""
    metadata = {"name": "credentials", "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"clouds.yaml": text}}


def server(namespace: str, name: str) -> Tree:
    """An OpenStackServer that the cloud of `model_cloud` can make."""
    spec = {
        "identityRef": {"type": "Secret", "name": "credentials", "cloudName": "openstack"},
        "flavor": model_cloud.FLAVOR,
        "image": {"filter": {"name": model_cloud.IMAGE}},
        "sshKeyName": "",
        "ports": [{"network": {"filter": {"name": model_cloud.NETWORK}}}],
    }
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": f"{GROUP}/v1alpha1", "kind": "OpenStackServer", "metadata": metadata, "spec": spec}


@contextmanager
def _hostile() -> Iterator[tuple[list[str], list[str]]]:
    """Where the silent cloud is, and where those that trickle are: addresses and ports."""
    found: Future[tuple[list[str], list[str]]] = Future()
    end = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.CancelledError):
            while await reader.read(65536):
                pass

    async def trickle(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.CancelledError):
            writer.write(b"HTTP/1.1 200 OK\r\nX-A: ")
            while True:
                writer.write(b"a")
                await writer.drain()
                await asyncio.sleep(PAUSE)

    async def serve() -> None:
        loops.append(asyncio.get_running_loop())
        places: list[list[str]] = [[], []]
        for each, behave, hosts in ((0, silent, [2]), (1, trickle, range(3, CLOUDS + 3))):
            for host in hosts:
                server = await asyncio.start_server(behave, f"127.0.0.{host}", 0, backlog=200)
                places[each].append("{}:{}".format(*server.sockets[0].getsockname()))
        found.set_result((places[0], places[1]))
        await end.wait()

    loops: list[asyncio.AbstractEventLoop] = []
    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    try:
        yield found.result(30)
    finally:
        loops[0].call_soon_threadsafe(end.set)
        thread.join()
