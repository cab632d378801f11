"""`windlass demo`: shows Windlass at work on a real control plane; `windlass.demo` is their frame."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Final

import click

from windlass.capability.conventions.exit_codes import Exit
from windlass.capability.conventions.settings import Settings, settings_of
from windlass.cli.capabilities import capabilities

DEMOS: Final = {name: capability.demo for name, capability in capabilities().items() if capability.demo}
"""The package of each capability's demo. The first is shown if none is named."""


@click.command("demo")
@click.argument("name", type=click.Choice([*DEMOS]), default=next(iter(DEMOS)))
@click.option("--keep", is_flag=True, help="Leave everything running afterwards, and print how to use and stop it.")
@click.option(
    "--svg",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Draw a few of the steps as an SVG into FILE.",
)
@click.option(
    "--stay", type=int, hidden=True, help="Be the process of --keep that keeps running; report on this descriptor."
)
@settings_of
def command(settings: Settings, *, name: str, keep: bool, svg: Path | None, stay: int | None) -> int:
    """Show what Windlass does on a real control plane, which the demo starts.

    NAME is the capability that is shown: machine-sync (the default), openstack, os-build or update-status. Takes a
    minute, a minute and a half for os-build, about two for openstack. The first time it takes 6 more, when etcd,
    kube-apiserver and Cluster API are built. openstack then also builds the Machine API's controllers and installs a
    cloud, and os-build builds the Machine Config Operator's controllers and a registry. Nothing is left running without
    --keep. Exit code 0 means that every step succeeded.
    """
    for option, value in (("--kubeconfig", settings.kubeconfig), ("--context", settings.context)):
        if value is not None:
            raise click.UsageError(f"{option} makes no sense here: the demo works only on the control plane it starts")

    from windlass.demo import showing
    from windlass.testing.binaries import BinariesError
    from windlass.testing.plane.errors import PlaneError

    demo = import_module(DEMOS[name]).DEMO
    try:
        if stay is not None:
            passed = showing.play(demo, stay, svg=svg)
        else:
            demo.prepare()
            if keep:
                drawing = ["--svg", str(svg)] if svg else []
                return showing.keep([sys.executable, "-m", "windlass", "demo", name, *drawing, "--stay"])
            passed = showing.run(demo, svg=svg)
    except (BinariesError, PlaneError) as problem:
        # Not through say(): the message has the end of a log, whose line breaks matter.
        click.echo(f"error: {problem}", err=True)
        return Exit.FAILED
    return Exit.OK if passed else Exit.FAILED
