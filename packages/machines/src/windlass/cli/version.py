"""`windlass version`: the versions of Windlass, Python and the platform, for bug reports and scripts."""

import json
import platform

import click

from windlass.capability.conventions.exit_codes import Exit
from windlass.kube.version import VERSION


@click.command()
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(output: str) -> int:
    """Print the version of Windlass, and the Python and platform it runs on. Asks no cluster."""
    facts = {
        "windlass": VERSION,
        "python": platform.python_version(),
        "platform": f"{platform.system().lower()}/{platform.machine()}",
    }
    if output == "json":
        click.echo(json.dumps(facts))
    else:
        click.echo(f"windlass {facts['windlass']} (Python {facts['python']}, {facts['platform']})")
    return Exit.OK
