"""The contestants by name: how each is started."""

import sys
from pathlib import Path

from bench import installed
from bench.arena import Arena
from bench.cold import Entry
from bench.machines import Place

Command = list[str | Path]

IN_FLIGHT = (16, 64)
"""How many requests the bare protocol has in flight; the better one counts."""


def raw(script: Path, *, in_flight: int) -> Entry:
    argv: Command = [sys.executable, "-m", "bench.replay", script, f"--in-flight={in_flight}"]
    return Entry(f"raw-{in_flight}", "raw", argv)


def widgets_on_windlass(arena: Arena, namespace: str) -> Entry:
    kubeconfig = arena.kubeconfig("windlass")
    argv: Command = [
        sys.executable,
        "-m",
        "bench.widgets_windlass",
        "--kubeconfig",
        kubeconfig,
        "--namespace",
        namespace,
    ]
    return Entry("windlass", "windlass", argv)


def widgets_on_controller_runtime(arena: Arena, namespace: str) -> Entry:
    user = "controller-runtime"
    argv: Command = [installed.controller_runtime(), "--config", arena.kubeconfig(user), "--namespace", namespace]
    return Entry(user, user, argv)


def widgets_on_kopf(arena: Arena, namespace: str, *, way: str) -> Entry:
    user = f"kopf-{way}"
    handlers = Path(__file__).with_name("widgets_kopf.py")
    argv: Command = [installed.kopf(), "run", "--standalone", f"--namespace={namespace}", handlers]
    extra = (("KUBECONFIG", str(arena.kubeconfig(user))), ("WINDLASS_BENCH_KOPF", way))
    return Entry(user, user, argv, extra)


def machine_sync(arena: Arena, place: Place, *flags: str, user: str = "windlass") -> Entry:
    """`windlass run machine-sync`, as the command line starts it, with its Lease."""
    argv: Command = [
        Path(sys.executable).with_name("windlass"),
        "run",
        "machine-sync",
        f"--kubeconfig={arena.kubeconfig(user)}",
        f"--machine-api-namespace={place.machine_api}",
        f"--cluster-api-namespace={place.cluster_api}",
        "--health-probe-bind-address=0",
        "--metrics-bind-address=0",
        *flags,
    ]
    return Entry("windlass", user, argv)


def who_is_paused(arena: Arena, place: Place) -> Entry:
    """Those who say that a machine is paused: `bench.paused`."""
    argv: Command = [
        sys.executable,
        "-m",
        "bench.paused",
        f"--kubeconfig={arena.kubeconfig('paused')}",
        f"--machine-api-namespace={place.machine_api}",
        f"--cluster-api-namespace={place.cluster_api}",
    ]
    return Entry("paused", "paused", argv)
