"""Reads a cluster or files, computes the plans of the controllers, and prints them.

Notes, warnings and errors are on standard error, each plan on standard output.
"""

import sys
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import reduce
from operator import or_
from typing import Any, Generic, NamedTuple, TypeVar

import click
from msgspec import Struct, structs

from windlass.api.core import Event
from windlass.capability.conventions import complaints, plan_as_text
from windlass.capability.conventions.connection import connect
from windlass.capability.conventions.exit_codes import Exit
from windlass.capability.conventions.settings import Settings
from windlass.capability.documents import read_inputs
from windlass.capability.planning import (
    ClusterListing,
    Decider,
    Given,
    Ground,
    KeyPlan,
    Name,
    NoGround,
    Planner,
    PlanReader,
    Scope,
    Selected,
    as_json,
    plans,
    select,
    take_in,
)
from windlass.capability.planning.fields import shown
from windlass.capability.planning.following import Course, follow
from windlass.capability.planning.stored_versions import refused_definitions
from windlass.capability.planning.webhooks import stopped_writes
from windlass.kube.control.seen import Reader
from windlass.kube.process.colour import colourful
from windlass.kube.verbs import Api
from windlass.model import MemoryApi
from windlass.model.checks import EVENT
from windlass.model.reader import MemoryReader
from windlass.model.schema import Rules

P = TypeVar("P", KeyPlan, Course)


class Question(NamedTuple):
    """The objects to plan for one capability; all if `wanted` is empty. `rules`: see `Capability`."""

    planner: Planner
    wanted: Sequence[Name] = ()
    rules: Callable[[], Iterable[Rules]] = tuple


class Form(NamedTuple):
    """How to print plans; `every`: also print those with nothing to do; `questions`: also print what was asked."""

    form: str
    every: bool
    questions: bool = False


class Answer(Struct, Generic[P], frozen=True):
    """The plans for one question."""

    question: Question
    selected: Selected
    planned: Sequence[P]

    def listed(self) -> list[P]:
        """The plans of all existing objects; of others only if there is something to do."""
        return [plan for plan in self.planned if not plan.idle or (plan.kind, plan.name) in self.selected.existing]


async def plan_cluster(settings: Settings, questions: Sequence[Question], form: Form) -> Exit:
    """`windlass plan`. Raises KubeErrors that concern the cluster as a whole."""
    async with connect(settings) as client:
        answers = [await _ask_cluster(client, question) for question in questions]
    answered = [answer for answer in answers if answer is not None]
    return _show_plans(answered, form, failed=len(answered) < len(answers))


async def _ask_cluster(client: Api, question: Question) -> Answer[KeyPlan] | None:
    """None if no plans can be made, after the reason was printed."""
    surveyed = await _survey(client, question, whole=True)
    if surveyed is None:
        return None
    ground, cluster_listing, selected = surveyed
    for text in cluster_listing.not_served:
        complaints.warn(text)
    async with ground.holding:
        planned = await plans(selected.asked, cluster_listing, now=datetime.now(UTC))
        await _report(ground, cluster_listing)
    stopped = await stopped_writes(client, [action for plan in planned for action in plan.actions])
    for level, text in (*stopped, *await refused_definitions(client, question.planner.owned)):
        complaints.say(level, text)
    if not selected.existing and not selected.missing:
        click.echo(f"No {question.planner.many} found in {question.planner.where}.", err=True)
    return Answer(question, selected, planned)


async def plan_files(sources: Sequence[str], questions: Sequence[Question], form: Form) -> Exit:
    """`windlass plan -f`."""
    now = datetime.now(UTC)
    models = await _models(sources, questions, now)
    if isinstance(models, Exit):
        return models
    answers: list[Answer[KeyPlan]] = []
    for found in models.made:
        async with found.ground.holding:
            planned = await plans(found.selected.asked, found.cluster_listing, now=now)
            await _report(found.ground, found.cluster_listing)
        if found.new and any(plan.writes for plan in planned):
            what = "1 object has" if found.new == 1 else f"{found.new} objects have"
            complaints.say("note", f"{what} no status, so this is only the first step; --rounds shows all of them")
        answers.append(Answer(found.question, found.selected, planned))
    return _show_plans(answers, form, failed=models.failed)


async def follow_files(sources: Sequence[str], questions: Sequence[Question], form: Form) -> Exit:
    """`windlass plan -f --rounds`."""
    now = datetime.now(UTC)
    models = await _models(sources, questions, now)
    if isinstance(models, Exit):
        return models
    answers: list[Answer[Course]] = []
    objects = []
    failed = models.failed
    for found in models.made:
        before = found.api.version
        reader = MemoryReader(found.api)
        deciding = found.ground.deciders(reader)

        def asked(
            deciding: list[Decider] = deciding,
            reader: MemoryReader = reader,
            wanted: Sequence[Name] = found.question.wanted,
        ) -> list[tuple[Decider, Any]]:
            return select(deciding, reader, wanted=wanted).asked

        async with found.ground.holding:
            courses = await follow(asked(), api=found.api, ledger=reader, now=now, more=asked)
            failed |= await _report(found.ground, reader)
        objects += changed(found.api, since=before)
        answers.append(Answer(found.question, found.selected, courses))
    if form.form == "json":
        click.echo(as_json.followed([course for answer in answers for course in answer.listed()], objects))
    else:
        _show_text(answers, form)
    all_courses = [course for answer in answers for course in answer.planned]
    restless = [course for course in all_courses if course.restless]
    for course in restless:
        complaints.say("error", f"{course.kind.lower()}/{course.name}: {plan_as_text.coming(course.next)}")
    if _report_missing(answers) or restless or failed:
        return Exit.FAILED
    return Exit.CHANGES if any(course.writes for course in all_courses) else Exit.OK


def _asked(deciding: list[Decider], inventory: PlanReader, wanted: Sequence[Name]) -> list[tuple[Decider, Any]]:
    return select(deciding, inventory, wanted=wanted).asked


class _Modelled(NamedTuple):
    """A model of a cluster for one question, a survey of its initial state, and what to plan.

    `new`: how many objects have no status though a controller of the capability would fill it.
    """

    question: Question
    api: MemoryApi
    ground: Ground
    cluster_listing: ClusterListing
    selected: Selected
    new: int


class _Models(NamedTuple):
    """A model for each question that could be answered; `failed`: one could not, and the reason was printed."""

    made: Sequence[_Modelled]
    failed: bool


async def _models(sources: Sequence[str], questions: Sequence[Question], now: datetime) -> _Models | Exit:
    """The models with the objects of `sources`; or the exit code, after the errors were printed."""
    taken = read(sources, [question.planner for question in questions])
    if taken is None:
        return Exit.UNREADABLE
    try:
        taken = [
            structs.replace(given, trees=tuple(question.planner.complete(given.trees)))
            for question, given in zip(questions, taken, strict=True)
        ]
    except NoGround as problem:
        complaints.say("error", str(problem))
        return Exit.UNREADABLE
    asked = list(zip(questions, taken, strict=True))
    # If all capabilities are planned, one that the files do not concern is silent.
    concerned = [(one, given) for one, given in asked if given.count(one.planner.scope.subjects)]
    if not concerned:
        for question, given in asked:
            _say_none(question.planner, given)
        return Exit.FAILED
    found = [await _modelled(question, given, now) for question, given in concerned]
    made = [one for one in found if one is not None]
    return _Models(made, failed=len(made) < len(found))


def _say_none(planner: Planner, given: Given) -> None:
    what = " or ".join(dict.fromkeys(kind.RESOURCE.kind for kind in planner.scope.subjects))
    complaints.say("error", f"no {what} among the {len(given.trees)} objects that were read")


async def _modelled(question: Question, given: Given, now: datetime) -> _Modelled | None:
    scope = question.planner.scope
    api = model(given, scope, rules=question.rules(), clock=lambda: now)
    surveyed = await _survey(api, question, whole=False)
    if surveyed is None:
        return None
    return _Modelled(question, api, *surveyed, given.count(scope.filled, without_status=True))


async def _survey(api: Api, question: Question, *, whole: bool) -> tuple[Ground, ClusterListing, Selected] | None:
    """The cluster or model `api`, and what to plan there. None if no plans can be made, after the reason was
    printed."""
    cluster_listing = ClusterListing(api)
    ground = await _ground(question.planner, cluster_listing, whole=whole)
    if ground is None:
        return None
    deciding = ground.deciders(cluster_listing)
    await cluster_listing.take(deciding)
    return ground, cluster_listing, select(deciding, cluster_listing, wanted=question.wanted)


async def _ground(planner: Planner, reader: Reader, *, whole: bool) -> Ground | None:
    """None if there is none, after the reason was printed."""
    try:
        ground = await planner.ground(reader, whole=whole)
    except NoGround as problem:
        complaints.say("error", str(problem))
        return None
    for text in ground.warnings:
        complaints.warn(text)
    for text in ground.notes:
        complaints.say("note", text)
    return ground


async def _report(ground: Ground, inventory: PlanReader) -> bool:
    """Print what there is to tell beside the plans; returns whether there are errors."""
    found = await ground.remarks(inventory)
    for level, text in found:
        complaints.say(level, text)
    return any(level == "error" for level, _ in found)


def _show_plans(answers: Sequence[Answer[KeyPlan]], form: Form, *, failed: bool) -> Exit:
    if not answers:
        return Exit.FAILED
    if form.form == "json":
        listed = [plan for answer in answers for plan in answer.listed()]
        click.echo(as_json.planned(listed, questions=form.questions))
    else:
        _show_text(answers, form)
    planned = [plan for answer in answers for plan in answer.planned]
    for plan in planned:
        if plan.error is not None:
            complaints.say("error", f"{plan.kind.lower()}/{plan.name}: {complaints.explain(plan.error)}")
            failed = True
    if _report_missing(answers) or failed:
        return Exit.FAILED
    return Exit.CHANGES if any(plan.writes for plan in planned) else Exit.OK


def _show_text(answers: Sequence[Answer[P]], form: Form) -> None:
    lines: list[str] = []
    others: Counter[str] = Counter()
    for answer in answers:
        for plan in answer.listed():
            if form.every or answer.question.wanted or not plan.idle:
                lines += plan_as_text.lines(plan, colour=colourful(sys.stdout), questions=form.questions)
            else:
                others[plan.kind] += 1
    if others:
        lines.append(plan_as_text.nothing_to_do(others))
    if lines:
        click.echo("\n".join(lines))


def _report_missing(answers: Sequence[Answer[P]]) -> bool:
    """Print the names that do not exist; returns whether there are any."""
    for answer in answers:
        planner = answer.question.planner
        for name in answer.selected.missing:
            complaints.say("error", f"no {name.kind.lower() or planner.one} {name.name!r} in {planner.where}")
    return any(answer.selected.missing for answer in answers)


# Builds a model of a cluster from objects in files.


def read(sources: Sequence[str], planners: Sequence[Planner]) -> list[Given] | None:
    """The objects in `sources` that each capability reads; None if anything is wrong, after the error was printed."""
    interest = reduce(or_, (planner.interest for planner in planners))
    documents, problems = read_inputs(sources, stdin=sys.stdin.buffer, interest=interest)
    for text in problems:
        complaints.say("error", text)
    taken = [take_in(documents, planner.scope) for planner in planners]
    for text in dict.fromkeys(text for given in taken for text in given.notes):
        complaints.say("note", text)
    for text in dict.fromkeys(text for given in taken for text in given.errors):
        complaints.say("error", text)
    return None if problems or any(given.errors for given in taken) else taken


def model(given: Given, scope: Scope, *, rules: Iterable[Rules], clock: Callable[[], datetime]) -> MemoryApi:
    """An API server in memory with these objects as it would store them, including uids and versions.

    `rules`: those of kinds in `scope` that an open spec and status would not do for.
    """
    api = MemoryApi(*scope.kinds, Rules(Event, checks=(EVENT,)), *rules, clock=clock)
    api.load(*map(_stored, given.trees))
    return api


def _stored(tree: dict[str, Any]) -> dict[str, Any]:
    """The object as an API server stores it: `stringData` of a Secret becomes `data`."""
    text = tree.get("stringData")
    if (tree.get("apiVersion"), tree.get("kind")) != ("v1", "Secret") or not isinstance(text, dict):
        return tree
    encoded = {key: b64encode(str(value).encode()).decode() for key, value in text.items()}
    rest = {name: value for name, value in tree.items() if name != "stringData"}
    return {**rest, "data": {**(tree.get("data") or {}), **encoded}}


def changed(api: MemoryApi, *, since: int) -> list[dict[str, Any]]:
    """The objects that were written after the model's version `since`, in their present state.

    Events are left out, and so is the data of Secrets.
    """
    written = {
        (change.kind, change.tree["metadata"].get("namespace"), change.tree["metadata"]["name"]): None
        for change in api.changes_since(since)
        if change.kind is not Event
    }
    there = (api.peek(kind, name, namespace=namespace) for kind, namespace, name in written)
    return [shown(found) for found in there if found is not None]
