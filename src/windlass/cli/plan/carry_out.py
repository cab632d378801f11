"""Find out what there is, on a cluster or in files; ask the controllers; print what they say.

Notes, warnings and errors are on standard error, each plan on standard output.
"""

import sys
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple, TypeVar

import click

from windlass.cli.conventions import complaints, plan_as_json, plan_as_text
from windlass.cli.conventions.connection import connect
from windlass.cli.conventions.exit_codes import Exit
from windlass.cli.conventions.settings import Settings
from windlass.cli.machine_sync.selection import parse
from windlass.cli.plan import model
from windlass.kube.control.seen import Present, Reader
from windlass.kube.process.colour import colourful
from windlass.machine_sync.constants import Namespaces
from windlass.machine_sync.planning import (
    KeyPlan,
    Name,
    NoPlatform,
    Selection,
    Standing,
    Survey,
    deciders,
    plans,
    select,
    standing_of,
)
from windlass.machine_sync.planning.following import Course, follow
from windlass.machine_sync.planning.standing import remedy_for
from windlass.machine_sync.platforms import Platform
from windlass.testing.memory import MemoryApi
from windlass.testing.memory.reader import MemoryReader


class Request(NamedTuple):
    """What to plan (nothing `wanted`: everything), where it is, and how to print it."""

    wanted: Sequence[Name]
    places: Namespaces
    form: str
    every: bool

    def shows(self, plan: KeyPlan | Course) -> bool:
        return self.every or bool(self.wanted) or not plan.idle


def named(wanted: Sequence[str]) -> list[Name]:
    """The names on the command line. Raises UsageError."""
    return [Name(one.name, one.kind.name if one.kind else "") for one in parse(wanted).wanted]


async def plan_cluster(settings: Settings, request: Request) -> Exit:
    """`windlass plan machine-sync`. Raises KubeErrors of looking at the cluster as a whole."""
    async with connect(settings) as client:
        survey = Survey(client)
        standing = await _standing(survey)
        if standing is None:
            return Exit.FAILED
        _say_whether_it_runs(standing)
        deciding = deciders(survey, platform=standing.platform, namespaces=request.places)
        await survey.take(deciding)
        for text in survey.not_served:
            complaints.warn(text)
        selected = select(deciding, survey, namespaces=request.places, wanted=request.wanted)
        planned = await plans(selected.asked, survey, now=datetime.now(UTC))
    if not selected.existing and not selected.missing:
        where = f"{request.places.machine_api} or {request.places.cluster_api}"
        click.echo(f"No machines or MachineSets found in {where}.", err=True)
    return _show_plans(planned, selected, request)


async def plan_files(sources: Sequence[str], request: Request) -> Exit:
    """`windlass plan machine-sync -f`."""
    now = datetime.now(UTC)
    found = await _modelled(sources, request, now)
    if isinstance(found, Exit):
        return found
    planned = await plans(found.selected.asked, found.survey, now=now)
    if any(plan.writes for plan in planned) and found.without_status:
        what = "1 object has" if found.without_status == 1 else f"{found.without_status} objects have"
        complaints.say("note", f"{what} no status, so this is only the first step; --rounds shows all of them")
    return _show_plans(planned, found.selected, request)


async def follow_files(sources: Sequence[str], request: Request) -> Exit:
    """`windlass plan machine-sync -f --rounds`."""
    now = datetime.now(UTC)
    found = await _modelled(sources, request, now)
    if isinstance(found, Exit):
        return found
    before = found.api.version
    reader = MemoryReader(found.api)
    on_model = {one.kind: one for one in deciders(reader, platform=found.platform, namespaces=request.places)}
    asked = [(on_model[decider.kind], key) for decider, key in found.selected.asked]
    courses = await follow(asked, api=found.api, ledger=reader, now=now)
    if request.form == "json":
        objects = model.changed(found.api, since=before)
        click.echo(plan_as_json.followed(_worth_listing(courses, found.selected), objects))
    else:
        _show_text(courses, found.selected, request)
    restless = [course for course in courses if course.restless]
    for course in restless:
        complaints.say("error", f"{course.kind.lower()}/{course.name}: {plan_as_text.coming(course.next)}")
    if _report_missing(found.selected, request) or restless:
        return Exit.FAILED
    return Exit.CHANGES if any(course.writes for course in courses) else Exit.OK


class _Modelled(NamedTuple):
    """A model of a cluster, a survey of it as it is in the beginning, and what to plan.

    `without_status`: how many Machines and MachineSets of the Machine API have none, as they are before anybody acts.
    """

    api: MemoryApi
    platform: Platform
    survey: Survey
    selected: Selection
    without_status: int


async def _modelled(sources: Sequence[str], request: Request, now: datetime) -> _Modelled | Exit:
    """The model with what `sources` hold; or the exit code, after everything has been said."""
    given = model.read(sources, request.places)
    if given is None:
        return Exit.UNREADABLE
    if not given.has_machines:
        complaints.say("error", f"no Machine or MachineSet among the {len(given.trees)} objects that were read")
        return Exit.FAILED
    api = model.model(given, clock=lambda: now)
    survey = Survey(api)
    standing = await _standing(survey)
    if standing is None:
        return Exit.FAILED
    if isinstance(standing.gate, Present):
        # A must-gather has no FeatureGate, and the lack of it says nothing then.
        _say_whether_it_runs(standing)
    deciding = deciders(survey, platform=standing.platform, namespaces=request.places)
    await survey.take(deciding)
    selected = select(deciding, survey, namespaces=request.places, wanted=request.wanted)
    return _Modelled(api, standing.platform, survey, selected, given.without_status)


async def _standing(reader: Reader) -> Standing | None:
    try:
        return await standing_of(reader)
    except NoPlatform as problem:
        complaints.say("error", str(problem))
        return None


def _say_whether_it_runs(standing: Standing) -> None:
    if standing.idle:
        text = f"{standing.idle}; until then nobody carries out these plans: {remedy_for(standing.idle)}"
        complaints.warn(f"Machine sync idles on this cluster: {text}")
    elif standing.gate is None:
        complaints.say("note", "FeatureGate cluster may not be read, so it is not known whether Machine sync runs")


def _show_plans(planned: Sequence[KeyPlan], selected: Selection, request: Request) -> Exit:
    if request.form == "json":
        click.echo(plan_as_json.planned(_worth_listing(planned, selected)))
    else:
        _show_text(planned, selected, request)
    failed = [plan for plan in planned if plan.error is not None]
    for plan in failed:
        assert plan.error is not None
        complaints.say("error", f"{plan.kind.lower()}/{plan.name}: {complaints.explain(plan.error)}")
    if _report_missing(selected, request) or failed:
        return Exit.FAILED
    return Exit.CHANGES if any(plan.writes for plan in planned) else Exit.OK


P = TypeVar("P", KeyPlan, Course)


def _worth_listing(planned: Sequence[P], selected: Selection) -> list[P]:
    """All machines, and what is not one only if there is something to do about it."""
    return [plan for plan in planned if not plan.idle or (plan.kind, plan.name) in selected.existing]


def _show_text(planned: Sequence[P], selected: Selection, request: Request) -> None:
    shown = [plan for plan in _worth_listing(planned, selected) if request.shows(plan)]
    lines = [line for plan in shown for line in plan_as_text.lines(plan, colour=colourful(sys.stdout))]
    others = Counter(plan.kind for plan in _worth_listing(planned, selected) if not request.shows(plan))
    if others:
        lines.append(plan_as_text.nothing_to_do(others))
    if lines:
        click.echo("\n".join(lines))


def _report_missing(selected: Selection, request: Request) -> bool:
    """Tell which names nothing has; whether there are any."""
    for name in selected.missing:
        what = name.kind.lower() or "machine or MachineSet"
        where = f"{request.places.machine_api} or {request.places.cluster_api}"
        complaints.say("error", f"no {what} {name.name!r} in {where}")
    return bool(selected.missing)
