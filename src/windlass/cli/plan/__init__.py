"""`windlass plan`: what controllers would do, without doing it."""

import click

from windlass.cli.conventions.settings import Settings, settings_of
from windlass.cli.machine_sync import names, sides


@click.group()
def command() -> None:
    """Show what controllers would do, without doing it.

    On a cluster, with no more than the right to read; or from files, without a cluster.
    """


@command.command("machine-sync")
@click.argument("wanted", metavar="[NAME]...", nargs=-1, shell_complete=names.machines_and_sets)
@click.option(
    "-f",
    "--filename",
    "sources",
    multiple=True,
    metavar="FILE|DIR|-",
    help="Ask no cluster: plan for the objects in this file, directory, must-gather or (-) standard input. May be "
    "repeated.",
)
@click.option("--rounds", is_flag=True, help="With -f: carry the plans out on a model, until nothing is left to do.")
@click.option("--all", "every", is_flag=True, help="Show also those for which there is nothing to do.")
@click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How to print the plans.",
)
@sides.namespace_options
@settings_of
def machine_sync(
    settings: Settings,
    wanted: tuple[str, ...],
    *,
    sources: tuple[str, ...],
    rounds: bool,
    every: bool,
    form: str,
    machine_api_namespace: str,
    cluster_api_namespace: str,
) -> int:
    """Show what Machine sync would do about each Machine and MachineSet: every write with its reason and the fields
    that it changes, and what comes next.

    NAME is a name, machine/NAME or machineset/NAME. Nothing is written, on a cluster or anywhere else.

    The plans are those of the controllers themselves, as they would make them now. Files must have the Infrastructure
    `cluster` among them, and what the machines refer to.

    Exit code 3 says that there is something to do, 0 that there is not.
    """
    import asyncio

    from windlass.capability.planning import Name
    from windlass.cli.machine_sync.selection import parse
    from windlass.cli.plan import carry_out
    from windlass.machine_sync.planning import planner

    if rounds and not sources:
        raise click.UsageError("--rounds writes to a model of a cluster, which needs objects: give files with -f")
    places = sides.namespaces(settings, machine_api_namespace, cluster_api_namespace)
    names = [Name(one.name, one.kind.name if one.kind else "") for one in parse(wanted).wanted]
    questions = [carry_out.Question(planner(places), names)]
    shown = carry_out.Form(form, every=every)
    if rounds:
        return asyncio.run(carry_out.follow_files(sources, questions, shown))
    if sources:
        return asyncio.run(carry_out.plan_files(sources, questions, shown))
    return asyncio.run(carry_out.plan_cluster(settings, questions, shown))
