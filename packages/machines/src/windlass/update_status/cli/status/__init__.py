"""`windlass status`: how the update of the cluster is going.

| module | what it does |
|---|---|
| `inspection` | reads a cluster or files, and makes the report |
| `show` | the command, once |
| `follow` | the command with `--watch` and `--wait` |
| `verdict` | what a report means for the exit code |
| `history` | the records of updates |
"""

import click

from windlass.capability.conventions import output
from windlass.capability.conventions.options import Duration
from windlass.capability.conventions.settings import Settings, settings_of
from windlass.capability.conventions.verbs import Itself, WithVerbs

DETAILS = ("none", "all", "nodes", "health", "operators")
LEVELS = ("info", "warning", "error", "critical")
VERBS = {"history": "Show how long updates took, and what went wrong."}


@click.command("status", cls=Itself)
@click.argument("unexpected", nargs=-1, metavar="")
@click.option(
    "--details", default="none", show_default=True, metavar="PART", help=f"Part to show in full: {', '.join(DETAILS)}."
)
@output.forms(
    "text",
    "wide",
    "json",
    "yaml",
    text="How to print it. text is what `oc adm upgrade status` prints; wide leaves nothing out.",
)
@click.option(
    "--from",
    "sources",
    multiple=True,
    metavar="FILE|DIR|-",
    help="Read a must-gather, an archive of one, another dump or files instead of the cluster; may be repeated.",
)
@click.option(
    "--from-api", is_flag=True, help="Show the UpdateStatus that a controller keeps, even if the controller is gone."
)
@click.option("--mock-clusterversion", "mock", metavar="FILE", hidden=True)
@click.option("-w", "--watch", is_flag=True, help="Keep showing changes until Ctrl-C.")
@click.option(
    "--wait",
    type=Duration(),
    is_flag=False,
    flag_value="0",
    metavar="[=DURATION]",
    help="Wait until the update is over, at most that long; exit code 5 if it needs somebody, 124 after that time.",
)
@click.option(
    "--fail-on",
    "threshold",
    type=click.Choice(LEVELS),
    metavar="LEVEL",
    help=f"Exit code 5 if something of this level or worse needs attention: {', '.join(LEVELS)}.",
)
@settings_of
def status(
    settings: Settings,
    unexpected: tuple[str, ...],
    *,
    details: str,
    form: str,
    sources: tuple[str, ...],
    from_api: bool,
    mock: str | None,
    watch: bool,
    wait: float | None,
    threshold: str | None,
) -> int:
    """Show how the update of the cluster is going: the control plane, the nodes of each pool, and what needs attention.

    The text is that of `oc adm upgrade status`. It is drawn from the UpdateStatus if a controller keeps one, which is
    looked for in its own namespace or that of --namespace; else from the cluster itself. For that you need the right to
    read ClusterVersion and ClusterOperators; what else may not be read is missing, and a warning says so.
    """
    if unexpected:
        path = click.get_current_context().command_path
        raise click.ClickException(f"positional arguments given\nSee '{path} -h' for help and examples")
    if details not in DETAILS:
        raise click.ClickException(f"invalid value for --details: {details} (must be one of {', '.join(DETAILS)})")
    offline = bool(sources or mock)
    if offline and (watch or wait is not None):
        raise click.UsageError("files do not change: --watch and --wait need a cluster")
    if sources and mock:
        raise click.UsageError("--from and --mock-clusterversion are two ways to name files: give one of them")

    if from_api and offline:
        raise click.UsageError("--from-api reads a cluster, and not files: leave one of them out")

    from windlass.update_status.cli.status.inspection import Origin
    from windlass.update_status.cli.status.show import StatusRequest, once

    origin = Origin.OBJECT if from_api else Origin.BEST
    request = StatusRequest(form=form, details=details, threshold=threshold, sources=sources, mock=mock, origin=origin)
    if not watch and wait is None:
        return once(settings, request)

    import asyncio

    from windlass.update_status.cli.status.follow import follow

    return asyncio.run(follow(settings, request, watch=watch, wait=wait))


command = WithVerbs(status, VERBS, package=__name__)
