"""What holds for authority whatever happens in which order: never two sides that act, and in the end who was asked for.

Our controller twice, with caches that lag, the controllers of both APIs and a user who changes his mind take turns in
any order. An actor looks in one turn and acts on what it saw in another, as a process does that reads from a cache; so
it may still be acting, or begin to, when the API says otherwise.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from enum import StrEnum
from functools import partial
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from tests.explore import examples
from windlass.api import capi, mapi
from windlass.kube.errors import Conflict, Invalid, NotFound
from windlass.kube.object import Object
from windlass.kube.verbs import PatchType
from windlass.machine_sync.constants import AUTHORITY_ANNOTATION, PAUSED_ANNOTATION
from windlass.machine_sync.platforms import AWS, OPENSTACK, Platform
from windlass.model import MemoryApi
from windlass.model.reader import LaggingReader

from .actors import cluster_api_core, is_paused, merge, provider, say_paused
from .aws_cases import on_aws
from .cases import CAPI_MACHINE, INFRA, MAPI_MACHINE, Tree, changed
from .world import NAME, OURS, THEIRS, mapi_of, reconciled, synchronized, tree_of, world

SIZE = {"OpenStack": "flavor", "AWS": "instanceType"}
"""The field that says so, of an infra machine and of a provider spec."""

ROUNDS = 8
LAPS = 30


class Actor(StrEnum):
    MACHINE_API = "machine api"
    CORE = "core"
    PROVIDER = "provider"


class Cast:
    """Everybody who takes turns, and who of them is acting."""

    def __init__(self, api: MemoryApi, platform: Platform) -> None:
        self.api = api
        self.platform = platform
        self.readers = [LaggingReader(api), LaggingReader(api)]
        self.believed: dict[Actor, bool] = {}
        """What an actor saw when it last looked: whether it is in charge."""
        self.acting: dict[Actor, bool] = dict.fromkeys(Actor, False)
        self.edited: str | None = None
        """The last change of the spec that was made where it may be made."""
        self.labelled: str | None = None
        """The last change of a label that was made there, which no generation counts."""
        self.size: str | None = None
        """The last change of an infra machine, whose generation nobody notes."""
        self.turns: dict[str, Callable[[], Awaitable[object]]] = {
            "we": lambda: self.we(self.readers[0], max_rounds=ROUNDS),
            "we, one step": lambda: self.we(self.readers[0], max_rounds=1),
            "the other of us": lambda: self.we(self.readers[1], max_rounds=ROUNDS),
            "its caches stand still": lambda: self.freeze(mapi.Machine, capi.Machine, self.platform.infra_machine),
            "its cache of the Machine API stands still": lambda: self.freeze(mapi.Machine),
            "its caches of Cluster API stand still": lambda: self.freeze(capi.Machine, self.platform.infra_machine),
            "its cache of Machines of Cluster API stands still": lambda: self.freeze(capi.Machine),
            "its cache of infra machines stands still": lambda: self.freeze(self.platform.infra_machine),
            "its caches move on": self.release,
            **{f"{actor} looks": partial(self.look, actor) for actor in Actor},
            **{f"{actor} acts": partial(self.act, actor) for actor in Actor},
            "user asks for MachineAPI": lambda: self.ask("MachineAPI"),
            "user asks for ClusterAPI": lambda: self.ask("ClusterAPI"),
            "user asks for the other": self.change_mind,
            "user edits the Machine API": lambda: self.edit(mapi.Machine, OURS),
            "user edits Cluster API": lambda: self.edit(capi.Machine, THEIRS),
            "user labels Cluster API": self.label,
            "user edits the infra machine": self.edit_infra,
        }

    async def take(self, turn: str) -> None:
        with suppress(Conflict, NotFound, Invalid):
            await self.turns[turn]()
        others = [self.acting[Actor.CORE], self.acting[Actor.PROVIDER] and self.platform.infra_machine_reports_pause]
        assert not (self.acting[Actor.MACHINE_API] and any(others)), f"after {turn!r} both sides act: {self.acting}"

    async def we(self, reader: LaggingReader, *, max_rounds: int) -> None:
        rest = await reconciled(self.api, reader, max_rounds=max_rounds)
        assert max_rounds == 1 or "no rest" not in str(rest.next), rest.next

    async def freeze(self, *kinds: type[Any]) -> None:
        self.readers[1].freeze(*kinds)

    async def release(self) -> None:
        self.readers[1].release()

    def object_of(self, actor: Actor) -> Object[Any] | None:
        if actor is Actor.PROVIDER:
            return next(iter(self.api.listing(self.platform.infra_machine)), None)
        kind, namespace = (mapi.Machine, OURS) if actor is Actor.MACHINE_API else (capi.Machine, THEIRS)
        return self.api.peek(kind, NAME, namespace=namespace)

    async def look(self, actor: Actor) -> None:
        found = self.object_of(actor)
        if found is None:
            self.believed[actor] = False
        elif actor is Actor.MACHINE_API:
            self.believed[actor] = authority_of(found.tree())[0] == "MachineAPI"
        else:
            self.believed[actor] = not is_paused(found)

    async def act(self, actor: Actor) -> None:
        """First it says whether it is paused, then it acts accordingly, until it looks again and says otherwise."""
        found = self.object_of(actor)
        if found is None or actor not in self.believed:
            return
        if actor is not Actor.PROVIDER or self.platform.infra_machine_reports_pause:
            await say_paused(self.api, found, paused=not self.believed[actor])
        self.acting[actor] = self.believed[actor]

    async def ask(self, authority: str) -> None:
        body = {"spec": {"authoritativeAPI": authority}}
        await self.api.patch(mapi.Machine, NAME, body, type=PatchType.MERGE, namespace=OURS)

    async def change_mind(self) -> None:
        asked = (mapi_of(self.api) or {"spec": {}})["spec"].get("authoritativeAPI")
        await self.ask("ClusterAPI" if asked == "MachineAPI" else "MachineAPI")

    def may_change(self, kind: type[Any]) -> bool:
        """Our admission policies let people change this Machine now, so what they change must not get lost."""
        now, before = authority_of(mapi_of(self.api))
        marked = AUTHORITY_ANNOTATION in annotations_of(tree_of(self.api, capi.Machine, NAME, THEIRS))
        side = before if now == "Migrating" else now
        return (kind is mapi.Machine) == (side == "MachineAPI") and not (kind is capi.Machine and marked)

    async def edit(self, kind: type[Any], namespace: str) -> None:
        if self.may_change(kind):
            edited = f"aws:///us-east-1a/i-{self.api.version}"
            body = {"spec": {"providerID": edited}}
            await self.api.patch(kind, NAME, body, type=PatchType.MERGE, namespace=namespace)
            self.edited = edited

    async def label(self) -> None:
        """Not in the Machine API, where the same label for the Node, which a mirror has too, goes before this one."""
        if self.may_change(capi.Machine):
            labelled = f"v{self.api.version}"
            body = {"metadata": {"labels": {"team": labelled}}}
            await self.api.patch(capi.Machine, NAME, body, type=PatchType.MERGE, namespace=THEIRS)
            self.labelled = labelled

    async def edit_infra(self) -> None:
        infra = self.object_of(Actor.PROVIDER)
        if infra is not None and not is_paused(infra) and self.may_change(capi.Machine):
            size = f"m{self.api.version}"
            await merge(self.api, infra, {"spec": {SIZE[self.platform.name]: size}})
            self.size = size

    async def to_rest(self) -> None:
        """Fair turns until nothing changes any more."""
        await self.release()
        for _ in range(LAPS):
            before = self.api.version
            await self.take("we")
            for actor in Actor:
                await self.take(f"{actor} looks")
                await self.take(f"{actor} acts")
            # Their other work, before anything tells them otherwise: whether they act is as they have just said.
            await cluster_api_core(self.api)
            await provider(self.api)
            await self.take("the other of us")
            if self.api.version == before:
                return
        raise AssertionError("\n".join(str(change) for change in self.api.changes_since(0)[-12:]))


def authority_of(machine: Tree | None) -> tuple[str, str]:
    """status.authoritativeAPI and status.synchronizedAPI."""
    status = (machine or {}).get("status") or {}
    return status.get("authoritativeAPI", ""), status.get("synchronizedAPI", "")


def annotations_of(tree: Tree | None) -> Tree:
    return ((tree or {}).get("metadata") or {}).get("annotations") or {}


def start(platform: Platform, authority: str) -> MemoryApi:
    """A machine of that authority, which nobody has mirrored yet."""
    aws = platform is AWS
    given_by = {"infrastructure": on_aws()["infrastructure"], "infra_cluster": on_aws()["infra_cluster"]} if aws else {}
    machine = on_aws()["machine_api"] if aws else MAPI_MACHINE
    asked = changed(machine, spec__authoritativeAPI=authority, status__authoritativeAPI=authority)
    if authority == "MachineAPI" or aws:
        return world(machine_api=asked, cluster_api=None, infra_machine=None, platform=platform, **given_by)
    return world(cluster_api=CAPI_MACHINE, infra_machine=INFRA, platform=platform)


TURNS = st.lists(st.sampled_from(sorted(Cast(world(), OPENSTACK).turns)), max_size=40)


@given(st.sampled_from([OPENSTACK, AWS]), st.sampled_from(["MachineAPI", "ClusterAPI"]), TURNS)
@example(  # The Machine API has seen that it is in charge, and not yet said so, when authority moves on.
    OPENSTACK,
    "ClusterAPI",
    [
        *("user asks for MachineAPI", "we", "core looks", "core acts", "we, one step", "machine api looks"),
        *("user asks for ClusterAPI", "we", "we", "core looks", "core acts", "machine api acts"),
    ],
)
@example(  # The source of a move is changed while it moves.
    AWS,
    "MachineAPI",
    ["user asks for ClusterAPI", "we", "user edits the Machine API", "machine api looks", "machine api acts", "we"],
)
@example(  # The last turn leaves Cluster API paused and not yet aware of it.
    OPENSTACK,
    "MachineAPI",
    [
        *("user asks for ClusterAPI", "we", "machine api looks", "machine api acts", "we"),
        *("user asks for the other", "user asks for the other", "user asks for the other"),
    ],
)
@example(  # Who has not seen the last edit in Cluster API takes over, and begins the move that was asked for.
    OPENSTACK,
    "ClusterAPI",
    [
        *("its cache of Machines of Cluster API stands still", "user edits Cluster API", "we"),
        *("user asks for MachineAPI", "the other of us"),
    ],
)
@example(  # The same, of an edit that no generation counts.
    OPENSTACK,
    "ClusterAPI",
    [
        *("its cache of Machines of Cluster API stands still", "user labels Cluster API", "we"),
        *("user asks for MachineAPI", "the other of us"),
    ],
)
@example(  # Who has not seen the last edit in the Machine API, nor that the move has begun, writes over the mirror.
    OPENSTACK,
    "MachineAPI",
    [
        *("user asks for the other", "its cache of the Machine API stands still"),
        *("user asks for the other", "user asks for the other", "user edits the Machine API", "we", "the other of us"),
    ],
)
@example(  # Who has not seen that a move was taken back asks Cluster API to pause for it.
    AWS,
    "ClusterAPI",
    [
        *("user asks for the other", "its cache of Machines of Cluster API stands still", "the other of us"),
        *("its cache of the Machine API stands still", "user asks for ClusterAPI", "we", "the other of us"),
    ],
)
@examples(150)
def test_never_two_that_act_and_in_the_end_who_was_asked_for(
    platform: Platform, authority: str, turns: list[str]
) -> None:
    async def scenario() -> None:
        cast = Cast(start(platform, authority), platform)
        await cast.to_rest()
        for turn in turns:
            await cast.take(turn)
        await cast.to_rest()
        machine, source = mapi_of(cast.api), tree_of(cast.api, capi.Machine, NAME, THEIRS)
        assert machine is not None
        assert source is not None
        asked = machine["spec"]["authoritativeAPI"]
        assert authority_of(machine)[0] == asked
        assert synchronized(machine)["status"] == "True"
        assert cast.acting[Actor.MACHINE_API] == (asked == "MachineAPI")
        assert cast.acting[Actor.CORE] == cast.acting[Actor.PROVIDER] == (asked == "ClusterAPI")
        marks = {PAUSED_ANNOTATION, AUTHORITY_ANNOTATION}
        assert marks & annotations_of(source).keys() == (marks if asked == "MachineAPI" else set())
        if cast.edited:
            assert machine["spec"]["providerID"] == source["spec"]["providerID"] == cast.edited
        if cast.size:
            (infra,) = cast.api.listing(platform.infra_machine)
            field = SIZE[platform.name]
            assert machine["spec"]["providerSpec"]["value"][field] == infra.tree()["spec"][field] == cast.size
        if cast.labelled:
            assert machine["metadata"]["labels"]["team"] == source["metadata"]["labels"]["team"] == cast.labelled

    asyncio.run(scenario())


def test_the_instance_of_a_machine_that_goes_to_and_fro_is_never_made_anew() -> None:
    async def scenario(platform: Platform) -> None:
        cast = Cast(start(platform, "MachineAPI"), platform)
        await cast.to_rest()
        (first,) = cast.api.listing(platform.infra_machine)
        for authority in ("ClusterAPI", "MachineAPI", "ClusterAPI", "MachineAPI"):
            await cast.ask(authority)
            await cast.to_rest()
            assert authority_of(mapi_of(cast.api)) == (authority, authority)
            (infra,) = cast.api.listing(platform.infra_machine)
            assert infra.uid == first.uid

    for platform in (OPENSTACK, AWS):
        asyncio.run(scenario(platform))
