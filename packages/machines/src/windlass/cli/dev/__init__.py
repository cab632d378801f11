"""`windlass dev up|down|status`: a real control plane on this computer, without a cluster, containers or root.

`windlass dev cloud` (module `cloud`) is the same for OpenStack.

It works only on the plane that it starts itself: options that name an API server are refused.
"""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from windlass.capability.conventions.complaints import say
from windlass.capability.conventions.exit_codes import Exit
from windlass.capability.conventions.settings import Settings, settings_of
from windlass.cli.dev.cloud import cloud

if TYPE_CHECKING:
    from windlass.testing.background import Running


@click.group("dev")
def command() -> None:
    """Start and stop a real control plane on this computer, and a real OpenStack (`windlass dev cloud`).

    etcd, kube-apiserver and kube-controller-manager, on loopback and in the background. The programs come from
    $KUBEBUILDER_ASSETS if that is set, and are otherwise built once (about 6 minutes) and cached.
    """


command.add_command(cloud)


@command.command()
@click.option("--cluster-api", is_flag=True, help="Also run the core manager of Cluster API.")
@click.option("--crds", is_flag=True, help="Install the CRDs of Cluster API, its providers and OpenShift.")
@click.option("--assets", metavar="DIR", help="Folder with etcd and kube-apiserver to use.")
@settings_of
def up(settings: Settings, *, cluster_api: bool, crds: bool, assets: str | None) -> int:
    """Start the control plane and print how to use it.

    Standard output is one line for the shell: eval "$(windlass dev up)".
    """
    from windlass.testing.background import Background
    from windlass.testing.binaries import BinariesError
    from windlass.testing.plane.errors import PlaneError

    _refuse_other_servers(settings)
    background = Background()
    if (running := background.running()) is not None:
        click.echo(f"running already, since {running.since}", err=True)
    else:
        try:
            running = background.up(with_cluster_api=cluster_api, foreign_crds=crds, assets=assets)
        except (PlaneError, BinariesError) as problem:
            # Not through say(): the message has the end of a log, whose line breaks matter.
            click.echo(f"error: {problem}", err=True)
            return Exit.FAILED
        click.echo(f"the control plane is ready at {running.url}; stop it with `windlass dev down`", err=True)
    click.echo(running.export)
    return Exit.OK


@command.command()
@settings_of
def down(settings: Settings) -> int:
    """Stop the control plane that `windlass dev up` started, and remove its data."""
    from windlass.testing.background import Background
    from windlass.testing.plane.errors import PlaneError

    _refuse_other_servers(settings)
    try:
        stopped = Background().down()
    except PlaneError as problem:
        say("error", str(problem))
        return Exit.FAILED
    click.echo(f"stopped the control plane at {stopped.url}", err=True)
    return Exit.OK


@command.command()
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", help="How to print it.")
@settings_of
def status(settings: Settings, *, output: str) -> int:
    """Show whether the control plane runs, and how to use it; exit code 1 if it does not."""
    from windlass.testing.background import Background

    _refuse_other_servers(settings)
    running = Background().running()
    if output == "json":
        click.echo(json.dumps({"running": running is not None} | (asdict(running) if running else {})))
    elif running is not None:
        click.echo(_describe(running))
    if running is None:
        click.echo("no control plane is running; start one with `windlass dev up`", err=True)
        return Exit.FAILED
    return Exit.OK


def _describe(running: "Running") -> str:
    rows = {
        "API server": running.url,
        "Cluster API": "running" if running.cluster_api else "not started",
        "since": running.since,
        "process": str(running.pid),
        "logs": running.logs,
        "use it": running.export,
    }
    return "\n".join(f"{name:<12} {value}" for name, value in rows.items())


def _refuse_other_servers(settings: Settings) -> None:
    named = [("--kubeconfig", settings.kubeconfig), ("--context", settings.context), ("--as", settings.as_user)]
    for option, value in named:
        if value is not None:
            raise click.UsageError(f"{option} makes no sense here: `windlass dev` works only on what it started itself")
