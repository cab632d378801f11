"""`windlass plan`: what controllers would do, without doing it; for one capability or for all."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from windlass.capability.capability import Capability
from windlass.capability.conventions.exit_codes import Exit
from windlass.capability.conventions.settings import Settings, settings_of
from windlass.cli.capabilities import CommandOfEach, capabilities

if TYPE_CHECKING:
    from windlass.cli.plan.carry_out import Question


def _options(function: Any) -> Any:
    for decorate in (
        click.option(
            "-o",
            "--output",
            "form",
            type=click.Choice(["text", "json"]),
            default="text",
            show_default=True,
            help="How to print the plans.",
        ),
        click.option("--all", "every", is_flag=True, help="Also show objects for which there is nothing to do."),
        click.option(
            "--rounds", is_flag=True, help="With -f: apply the plans to a model, until nothing is left to do."
        ),
        click.option("--questions", is_flag=True, help="Also show what was asked of the cluster and of other systems."),
        click.option(
            "-f",
            "--filename",
            "sources",
            multiple=True,
            metavar="FILE|DIR|-",
            help="Plan for the objects in this file, directory, must-gather or (-) standard input, without a cluster. "
            "May be repeated.",
        ),
    ):
        function = decorate(function)
    return function


def _of(name: str, capability: Capability) -> click.Command:
    """`windlass plan NAME`."""

    @click.command(name, help=capability.plan)
    @click.argument("wanted", metavar="[NAME]...", nargs=-1, shell_complete=capability.completes)
    @_options
    @capability.plan_options
    @capability.options
    @settings_of
    def command(settings: Settings, /, wanted: tuple[str, ...], **values: Any) -> int:
        return _plan(settings, {name: capability}, values, wanted=wanted)

    return command


@click.group(cls=CommandOfEach, of=_of, invoke_without_command=True)
@_options
@settings_of
@click.pass_context
def command(ctx: click.Context, settings: Settings, /, **values: Any) -> int:
    """Show what controllers would do, without doing it.

    On a cluster, for which you need only the right to read; or from files, without a cluster. Without a COMMAND, the
    plans of all capabilities are shown.
    """
    if not ctx.invoked_subcommand:
        return _plan(settings, capabilities(), values, wanted=())
    for parameter in ctx.command.params:
        if parameter.name in values and ctx.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE:
            called = " / ".join(parameter.opts)
            raise click.UsageError(f"{called} goes after the capability: `windlass plan {ctx.invoked_subcommand} ...`")
    return Exit.OK


def _plan(settings: Settings, chosen: dict[str, Capability], values: dict[str, Any], *, wanted: Sequence[str]) -> int:
    import asyncio

    from windlass.cli.plan import carry_out

    sources, rounds = values["sources"], values["rounds"]
    if rounds and not sources:
        raise click.UsageError("--rounds writes to a model of a cluster, which needs objects: give files with -f")
    questions = [_question(settings, capability, values, wanted=wanted) for capability in chosen.values()]
    form = carry_out.Form(values["form"], every=values["every"], questions=values["questions"])
    if rounds or (sources and all(question.planner.follows for question in questions)):
        if form.questions:
            raise click.UsageError("--questions shows what one step asks: leave out --rounds, or plan for a cluster")
        return asyncio.run(carry_out.follow_files(sources, questions, form))
    if sources:
        return asyncio.run(carry_out.plan_files(sources, questions, form))
    return asyncio.run(carry_out.plan_cluster(settings, questions, form))


def _question(
    settings: Settings, capability: Capability, values: dict[str, Any], *, wanted: Sequence[str]
) -> "Question":
    from windlass.cli.plan.carry_out import Question

    own = capability.own(values)
    capability.check(settings, **own)
    return Question(
        capability.install(home=capability.home, **own).planner(), capability.names(wanted), capability.rules
    )
