"""Looks for orphans, prints them, and has them deleted."""

import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import click

from windlass.capability.conventions import complaints, output, terminal
from windlass.capability.conventions.ages import age
from windlass.capability.conventions.connection import cluster as connection
from windlass.capability.conventions.connection import connect
from windlass.capability.conventions.exit_codes import Exit
from windlass.capability.conventions.settings import Settings
from windlass.capability.conventions.table import Cell, Column, Table
from windlass.kube.errors import NoKubeconfig
from windlass.kube.process.colour import colourful
from windlass.kube.verbs import Api
from windlass.openstack.cloud.account import Account
from windlass.openstack.cloud.clouds import Clouds
from windlass.openstack.cloud.credentials import of_user
from windlass.openstack.cloud.failures import Unauthenticated
from windlass.openstack.cloud.marks import in_words, is_owned_in, place_of
from windlass.openstack.machine_api.constants import MACHINE_API_NAMESPACE
from windlass.openstack.overview.cleaning import clean
from windlass.openstack.overview.orphans import Orphan, is_young, orphans
from windlass.openstack.overview.reading import (
    OWNERS,
    Objects,
    Projects,
    account_of,
    holdings_of,
    identities,
    objects,
)

NOTHING: Final = "-"


class OrphansRequest(NamedTuple):
    """Which orphans to look for, how to print them, and what to do about them. `seconds`: how long deletion may
    take. `machine_api`: the namespace whose Machines of the Machine API name credentials. `owners`: only those of
    these, each NAMESPACE or NAMESPACE/NAME; empty: of all. `no_cluster`: no cluster is asked for owners, so all that
    has a mark counts."""

    form: str = "table"
    headings: bool = True
    delete: bool = False
    ask: bool = True
    all_ages: bool = False
    os_cloud: str = ""
    seconds: float = 600.0
    machine_api: str = MACHINE_API_NAMESPACE
    owners: tuple[str, ...] = ()
    no_cluster: bool = False

    @property
    def why(self) -> str:
        """Why what is found counts as an orphan."""
        return "no cluster was asked" if self.no_cluster else "no object has this mark"


class Found(NamedTuple):
    """An orphan in a project. `result` of its deletion: `deleted`, `left`, or empty; `problem`: why it is left."""

    orphan: Orphan
    account: Account
    result: str = ""
    problem: str = ""


def _now() -> datetime:
    return datetime.now(UTC)


class Unknowable(click.ClickException):
    """It cannot be told what is an orphan."""


async def show(settings: Settings, request: OrphansRequest) -> Exit:
    """`windlass openstack orphans`. Without a kubeconfig, what a project has is shown as with `no_cluster`, and nothing
    is deleted. Raises KubeErrors, and Unknowable."""
    try:
        server = "" if request.no_cluster else connection(settings).server
    except NoKubeconfig:
        if not request.os_cloud or request.delete:
            raise
        server, request = "", request._replace(no_cluster=True)
    if not server:
        async with Clouds() as clouds:
            return await carry_out(None, clouds, request, where="no cluster")
    async with connect(settings) as client, Clouds() as clouds:
        return await carry_out(client, clouds, request, where=f"{server} only")


async def carry_out(
    api: Api | None, clouds: Clouds, request: OrphansRequest, *, where: str, now: Callable[[], datetime] = _now
) -> Exit:
    """The same with these connections; `where` is the API server, for people. `api` None: without a cluster."""
    found, troubles = await look(api, clouds, request)
    for text in troubles:
        complaints.say("error", text)
    if request.no_cluster and found:
        complaints.warn(
            "no cluster was asked: what objects that exist have is shown too, of all clusters that use the project"
        )
    if not request.delete or not found:
        _print(found, request, now())
        if not (found or troubles):
            click.echo("No orphans.", err=True)
        return Exit.FAILED if troubles else Exit.CHANGES if found else Exit.OK
    chosen = [each for each in found if request.all_ages or not _is_young(each, found, now())]
    if len(chosen) < len(found):
        text = f"{len(found) - len(chosen)} of {len(found)} have marks that were used in the last hour: "
        complaints.warn(f"{text}their owner may be at work elsewhere; --all-ages deletes them too")
    if chosen and request.ask:
        _print(chosen, request._replace(form="table"), now(), err=True)
        complaints.warn(f"their owners were looked for in {where}; other clusters may use the same project")
        if not terminal.agreed(f"Delete these {len(chosen)} resources?"):
            return Exit.FAILED
    results = await deleted(chosen, request)
    results += [each._replace(result="left", problem="its mark is young") for each in found if each not in chosen]
    _print(results, request, now())
    return Exit.FAILED if troubles or any(each.result != "deleted" for each in results) else Exit.OK


async def look(api: Api | None, clouds: Clouds, request: OrphansRequest) -> tuple[list[Found], list[str]]:
    """The orphans, and the projects that could not be asked, in sentences. Raises KubeErrors, and Unknowable."""
    accounts, troubles = await _accounts(api, clouds, request)
    sights = await holdings_of(accounts.values())
    troubles += [sight for sight in sights.values() if isinstance(sight, str)]
    # Machines of all namespaces count, also those that are not served: what an object may own is never an orphan.
    # Listed after the clouds were asked: the mark of a resource is in its owner before the resource exists.
    known = (await _owners(api)).uuids() if api is not None else frozenset[str]()
    found = {
        (orphan.kind, orphan.id): Found(orphan, accounts[key])
        for key, sight in sights.items()
        if not isinstance(sight, str)
        for orphan in orphans(sight, known)
        if not request.owners or any(is_owned_in(orphan.mark, owner) for owner in request.owners)
    }
    return sorted(found.values(), key=lambda each: (each.orphan.mark, each.orphan.kind, each.orphan.name)), troubles


async def _owners(api: Api) -> Objects:
    found = await objects(api, OWNERS)
    if not found.listed:
        raise Unknowable("the API server serves no kind that has resources in OpenStack: is it the right --context?")
    return found


async def _accounts(api: Api | None, clouds: Clouds, request: OrphansRequest) -> tuple[dict[str, Account], list[str]]:
    """The projects to look at, by key."""
    answers: list[Account | str] = []
    if request.os_cloud or api is None:
        try:
            answers.append(await account_of(clouds, of_user(request.os_cloud)))
        except Unauthenticated as wrong:
            raise Unknowable(wrong.fault) from None
    else:
        projects = Projects(api, clouds)
        named = identities(await _owners(api), machine_api=request.machine_api)
        answers += [await projects.account(each) for each in named]
        if not answers:
            raise Unknowable("no object names credentials of a cloud: say --os-cloud NAME")
    troubles = dict.fromkeys(each for each in answers if isinstance(each, str))
    return {each.key: each for each in answers if isinstance(each, Account)}, list(troubles)


async def deleted(chosen: Sequence[Found], request: OrphansRequest) -> list[Found]:
    """What became of each."""
    results: list[Found] = []
    for key in dict.fromkeys(each.account.key for each in chosen):
        mine = [each for each in chosen if each.account.key == key]
        account, orphaned = mine[0].account, [each.orphan for each in mine]
        left: Mapping[str, str] = await clean(account, orphaned, seconds=request.seconds)
        for each in mine:
            problem = left.get(each.orphan.id, "")
            results.append(each._replace(result="left" if problem else "deleted", problem=problem))
    return results


def _is_young(one: Found, found: Sequence[Found], now: datetime) -> bool:
    return is_young([each.orphan for each in found if each.orphan.mark == one.orphan.mark], now)


def _print(found: Sequence[Found], request: OrphansRequest, now: datetime, *, err: bool = False) -> None:
    for line in render(found, request, now=now, colour=colourful(sys.stderr if err else sys.stdout)):
        click.echo(line, err=err)


def render(found: Sequence[Found], request: OrphansRequest, *, now: datetime, colour: bool = False) -> list[str]:
    """The lines of standard output."""
    if request.form in ("json", "yaml"):
        return [output.items(request.form, (tree(each, why=request.why) for each in found))]
    if not found:
        return []
    columns: list[Column[Found]] = [
        Column("KIND", lambda each: Cell(each.orphan.kind.replace(" ", "-").lower())),
        Column("NAME", lambda each: Cell(each.orphan.name or NOTHING)),
        Column("ID", lambda each: Cell(each.orphan.id)),
        Column("AGE", lambda each: Cell(age(each.orphan.created, now))),
        Column("OWNER", lambda each: Cell(in_words(each.orphan.mark) if place_of(each.orphan.mark) else NOTHING)),
    ]
    if any(each.result for each in found):
        columns += [
            Column("RESULT", lambda each: Cell(each.result, "red" if each.problem else "green")),
            Column("REASON", lambda each: Cell(each.problem or NOTHING)),
        ]
    else:
        columns.append(Column("WHY", lambda each: Cell(request.why)))
    return Table(columns, colour=colour).lines(found, headings=request.headings)


def tree(found: Found, *, why: str) -> dict[str, Any]:
    """The item of `-o json` and `-o yaml`."""
    orphan = found.orphan
    return {
        "kind": orphan.kind,
        "name": orphan.name,
        "id": orphan.id,
        "mark": orphan.mark,
        "owner": in_words(orphan.mark) if place_of(orphan.mark) else None,
        "created": orphan.created or None,
        "credentials": found.account.where,
        "why": why,
        "result": found.result or None,
        "problem": found.problem or None,
    }
