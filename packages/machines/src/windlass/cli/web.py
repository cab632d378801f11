"""`windlass web`: the web page, on one's own machine or for a cluster."""

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from windlass.capability.capability import given
from windlass.capability.conventions.exit_codes import Exit
from windlass.capability.conventions.options import ListenOn
from windlass.capability.conventions.settings import Settings, settings_of
from windlass.cli.capabilities import capabilities

if TYPE_CHECKING:
    from windlass.web.service import WebSettings
    from windlass.web.view import Offer

VIEWS = {
    name: capability
    for name, capability in sorted(capabilities().items(), key=lambda item: not item[1].shows_files)
    if capability.view
}
"""The capabilities that have a view, in the order of the page: the page begins with the first."""

HOME_ADDRESS = ("127.0.0.1", 0)
CLUSTER_ADDRESS = ("0.0.0.0", 8443)


def _view_options(function: Any) -> Any:
    for capability in reversed(VIEWS.values()):
        function = capability.view_options(function)
    return function


@click.command("web")
@click.option(
    "--from",
    "sources",
    multiple=True,
    metavar="FILE|DIR|-",
    help="Show the update in a must-gather, another dump or files instead of the cluster; may be repeated.",
)
@click.option(
    "--view",
    "names",
    multiple=True,
    type=click.Choice([*VIEWS]),
    help="Show only this; may be repeated. [default: all]",
)
@click.option(
    "--bind",
    type=ListenOn(),
    metavar="ADDRESS",
    help="Where to listen, as HOST:PORT. [default: 127.0.0.1 and a free port; with TLS :8443]",
)
@click.option("--tls-cert", type=click.Path(path_type=Path), metavar="FILE", help="Certificate: serve for a cluster.")
@click.option("--tls-key", type=click.Path(path_type=Path), metavar="FILE", help="Private key of that certificate.")
@click.option(
    "--health-probe-bind-address",
    "probes",
    type=ListenOn(),
    metavar="ADDRESS",
    default="0",
    show_default=True,
    help="Address of /healthz and /readyz; 0 disables them.",
)
@_view_options
@settings_of
def command(
    settings: Settings,
    /,
    *,
    sources: tuple[str, ...],
    names: tuple[str, ...],
    bind: tuple[str, int] | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    probes: tuple[str, int] | None,
    **values: Any,
) -> int:
    """Serve a web page that shows, live, what runs and what needs attention: the update of the cluster, the machines
    of both APIs, machines on OpenStack, and images of the OS.

    Without TLS it is for you alone: it listens on this machine, reads with your kubeconfig, and the link that is
    printed is the key to it. The update is that of the UpdateStatus, which Update status keeps.

    With --tls-cert and --tls-key it is for everybody in a cluster: people sign in with a token, and see what they may
    get and list themselves.
    """
    import asyncio
    import signal

    # Until the process handles SIGTERM itself: PID 1 of a container ignores a signal that has no handler.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if (tls_cert is None) != (tls_key is None):
        raise click.UsageError("--tls-cert and --tls-key belong together: give both or neither")
    if sources and any(not VIEWS[name].shows_files for name in names):
        able = " or ".join(name for name, capability in VIEWS.items() if capability.shows_files)
        raise click.UsageError(f"files show an update: leave out --view, or give --view {able}")

    from windlass.kube.process import logs
    from windlass.kube.process.serving import TlsFiles
    from windlass.web.service import WebSettings

    tls = TlsFiles(tls_cert, tls_key) if tls_cert and tls_key else None
    host, port = bind or (CLUSTER_ADDRESS if tls else HOME_ADDRESS)
    web = WebSettings(host=host, port=port, tls=tls, probes=probes)
    logs.configure(level=settings.log_level or ("info" if tls else "warning"), format="json" if tls else "console")
    if sources:
        asyncio.run(_show_files(sources, web))
    else:
        asyncio.run(_show_cluster(settings, names or [*VIEWS], values, web))
    return Exit.OK


async def _show_files(sources: tuple[str, ...], web: "WebSettings") -> None:
    from windlass.web import service

    shown = [
        recorded(sources)
        for name, capability in VIEWS.items()
        if capability.shows_files and (recorded := offer(name).recorded) is not None
    ]
    await service.run(shown, web, config=None, serving=_announce)


async def _show_cluster(settings: Settings, names: Sequence[str], values: dict[str, Any], web: "WebSettings") -> None:
    from windlass.capability.conventions.connection import connect
    from windlass.web import service

    async with connect(settings, user_agent="windlass-web") as client:
        views = [
            offer(name).live(client, settings.namespace or "", **given(VIEWS[name].view_options, values))
            for name in dict.fromkeys(names)
        ]
        await service.run(views, web, config=client.config, serving=_announce)


def offer(name: str) -> "Offer":
    """The view that the capability of this name offers."""
    found: Offer = importlib.import_module(VIEWS[name].view).VIEW
    return found


def _announce(url: str) -> None:
    click.echo(f"Open {url}")
    click.echo("Ctrl-C ends it.", err=True)
