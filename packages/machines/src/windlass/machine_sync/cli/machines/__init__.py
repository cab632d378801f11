"""`windlass machines`: both sides of every machine and MachineSet.

| module | what it does |
|---|---|
| `view` | formats rows |
| `show`, `follow` | the command, without and with `--watch` |

`windlass.machine_sync.inspection` reads both sides.
"""

from typing import Any

import click
from click.shell_completion import CompletionItem

from windlass.capability.conventions import output
from windlass.capability.conventions.settings import Settings, settings_of
from windlass.capability.conventions.verbs import Itself, WithVerbs
from windlass.machine_sync.cli import names, sides

VERBS = {
    "describe": "Show one of them in full: conditions, Events, and what Windlass would do next.",
}
"""The verbs of `windlass machines VERB`; the module of the verb's name in this package has a click command named
`command`."""


def _complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
    """Names, and for the first word also verbs."""
    first = not ctx.params.get(param.name or "")
    verbs = [CompletionItem(verb, help=text) for verb, text in VERBS.items() if first and verb.startswith(incomplete)]
    return verbs + [CompletionItem(name) for name in names.machines_and_sets(ctx, param, incomplete)]


@click.command("machines", cls=Itself)
@click.argument("wanted", metavar="[NAME]...", nargs=-1, shell_complete=_complete)
@output.forms("table", "wide", "json", "yaml", "name", text="How to print them.")
@click.option(
    "--kind",
    "kind",
    type=click.Choice(["machine", "machineset"], case_sensitive=False),
    help="Only machines, or only MachineSets.  [default: both]",
)
@click.option(
    "--unsynced", is_flag=True, help="Only objects not known to be in sync; exit code 3 if there are any, 0 if not."
)
@click.option(
    "-A",
    "--all-namespaces",
    is_flag=True,
    expose_value=False,
    help="Has no effect: machines are in two namespaces, and both are always shown.",
)
@click.option("-w", "--watch", is_flag=True, help="Keep showing changes until Ctrl-C.")
@click.option("--no-headers", is_flag=True, help="Leave out the headings of the tables.")
@sides.namespace_options
@settings_of
def machines(
    settings: Settings,
    wanted: tuple[str, ...],
    form: str,
    *,
    kind: str | None,
    unsynced: bool,
    watch: bool,
    no_headers: bool,
    machine_api_namespace: str,
    cluster_api_namespace: str,
) -> int:
    """Show machines and MachineSets of both APIs: the authority, the phase or the ready replicas in each API, whether
    they are in sync, since when, and the generation of the authority that the mirror has.

    NAME may include the kind: machine/NAME, machineset/NAME. `-` means that the object does not exist in that API. You
    need only the right to list (and, for --watch, to watch) Machines and MachineSets.
    """
    import asyncio

    from windlass.machine_sync.cli import selection
    from windlass.machine_sync.cli.machines.show import MachinesRequest, once
    from windlass.machine_sync.overview import KINDS

    places = sides.namespaces(settings, machine_api_namespace, cluster_api_namespace)
    kinds = [each for each in KINDS if kind in (None, each.name.lower())]
    request = MachinesRequest(selection.parse(wanted, kinds=kinds, unsynced=unsynced), form, headings=not no_headers)
    if not watch:
        return asyncio.run(once(settings, places, request))

    from windlass.machine_sync.cli.machines.follow import follow

    return asyncio.run(follow(settings, places, request))


command = WithVerbs(machines, VERBS, package=__name__)
