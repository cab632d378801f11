"""What to do about the images of a pool: first its record, then the rule, then the registry.

| the pool | what is done |
|---|---|
| is gone, or being deleted; is served elsewhere | nothing: nobody knows then what its nodes run |
| is not opted in | its record is removed; the images stay |
| has an image that is not recorded | it is recorded |
| has a build, or not the image that it asks for | nothing |
| has images that may go | the registry is looked at, then the Nodes, then the pool once more |
| has images that go | they are removed from the registry, and forgotten when it no longer has them |

Nodes and the pool are read live, after the registry, which may take a minute.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec
from msgspec import Struct

from windlass.api.core import Node
from windlass.api.machineconfiguration import MachineConfigPool, RenderedMachineConfig
from windlass.api.machineosconfig import MachineOSConfig
from windlass.kube.control.plan import Action, Call, Delete, Emit, Merge, Plan, RequeueAfter, target
from windlass.kube.control.question import Listed, Live
from windlass.kube.control.seen import NotServedKind, Present, Unreadable
from windlass.os_build.constants import EVENT_SOURCE
from windlass.os_build.overview import Claims, State
from windlass.os_build.pool.facts import request_of, versions_of
from windlass.os_build.pool.questions import push_credentials
from windlass.os_build.pool.snapshot import PoolSnapshot, Settings
from windlass.os_build.registry.access import access_of
from windlass.os_build.request import Problem, Request, opted_in
from windlass.os_build.retention import record
from windlass.os_build.retention.contents import Looked, RemoveImage, Unwilling
from windlass.os_build.retention.record import BUILT, Record
from windlass.os_build.retention.rule import Fate, Pool, Verdict, attached, in_question, judged, listed
from windlass.os_build.retention.use import Use, united, use_of

AGAIN: Final = 1800.0
"""Seconds after which a registry is asked again that did not tell, or did not remove."""
SOON: Final = 60.0
"""Seconds after which a pool is looked at again whose builder is about to be removed: nothing tells of builds on this
machine."""
MOST: Final = 20
"""Images that go at a time."""


class ImagesSnapshot(PoolSnapshot, frozen=True, kw_only=True):
    """What caches say.

    naming   objects that may name images: what they are called, and their JSON
    pools    all pools that can be read: they name images and rendered MachineConfigs
    unknown  why it is not known what names images; empty: it is
    """

    naming: tuple[tuple[str, bytes], ...] = ()
    pools: tuple[Present[MachineConfigPool], ...] = ()
    unknown: str = ""


class Finding(Struct, frozen=True):
    """The images of a pool. `why` there is nothing to do about them now; empty: `verdicts` say what is done.

    beside  what goes with an image, by its digest: what is attached to it, and the images that a list alone has
    """

    verdicts: tuple[Verdict, ...] = ()
    why: str = ""
    request: Request | None = None
    versions: str = ""
    beside: Mapping[str, tuple[str, ...]] = {}


def decide(seen: ImagesSnapshot, *, now: datetime, settings: Settings) -> Plan:
    """Pure: the rows of the module."""
    pool = seen.pool
    if not isinstance(pool, Present) or pool.deleting:
        return Plan.nothing("there is no such pool")
    removed = {
        call.digest
        for result in seen.last.of(RemoveImage)
        if result.answer is True and isinstance(call := getattr(result.action, "request", None), RemoveImage)
    }
    done = _told(pool, removed)
    if left := [action for action in forgotten(seen, pool, removed) if action.needed]:
        return Plan.of(*done, *left)
    if (written := _recorded(seen, pool, now=now)).needed:
        return Plan.of(*done, written)
    found = finding(seen, pool, settings=settings)
    request = found.request
    if request is None:
        rest = Plan.of(*done)
        return rest.then(RequeueAfter(SOON, found.why)) if seen.builds else rest
    if found.why:
        return Plan.of(*done, *_unwilling(pool, found)).then(RequeueAfter(AGAIN, found.why))
    gone = {each.digest for each in found.verdicts if each.fate is Fate.GONE}
    plan = Plan.of(*done, *forgotten(seen, pool, gone), *removals(seen, pool, found))
    if untold := next((each.why for each in found.verdicts if each.fate is Fate.UNKNOWN), ""):
        return plan.then(RequeueAfter(AGAIN, untold))
    return plan


def finding(seen: ImagesSnapshot, pool: Present[MachineConfigPool], *, settings: Settings) -> Finding:
    """What becomes of each image of the pool, and why. It asks the registry only if an image may go."""
    request = request_of(seen, pool.object, settings)
    if not isinstance(request, Request):
        return Finding(why=request.text if isinstance(request, Problem) else "it asks for no image of this process")
    config = seen.config.object if isinstance(seen.config, Present) else None
    row = Claims.of([config] if config else [], [each.object for each in seen.os_builds]).row(pool.object)
    if row.state is not State.BUILT or not row.up_to_date or seen.builds:
        return Finding(why=f"pool {seen.name} has not the image that it asks for")
    if seen.unknown:
        return Finding(why=seen.unknown, request=request)
    facts = Pool(
        name=seen.name,
        repository=str(request.target),
        cluster=request.cluster,
        keep=settings.keep_images or 0,
        config=config.metadata.name if config else "",
    )
    records = records_of(seen, pool.object)
    cached = use_of(seen.naming, _of_pools(seen))
    staying, rest = in_question(records, facts, cached)
    if not rest:
        return Finding(staying)
    versions = versions_of(seen, request)
    if refused := seen.need(Unwilling(str(request.target), versions)):
        return Finding((*staying, *rest), refused, request, versions)
    asked = Looked(
        target=request.target,
        digests=tuple(each.digest for each in rest),
        lists=tuple(each.digest for each in staying),
        push=push_credentials(request, versions),
        egress=request.egress,
    )
    contents = seen.need(asked)
    use = _live_use(seen)
    if isinstance(use, str):
        return Finding((*staying, *rest), use, request, versions)
    if _has_changed(seen, pool):
        return Finding(why=f"pool {seen.name} is being changed")
    staying, rest = in_question(records, facts, united(use, cached))
    verdicts = (*staying, *judged(rest, facts, contents, use))
    beside = {}
    for each in verdicts:
        if each.fate is Fate.GOES:
            own = listed(contents, each.digest, facts, united(use, cached))
            with_own = (each.digest, *own)
            beside[each.digest] = (*own, *(found for image in with_own for found in attached(contents, image)))
    return Finding(verdicts, "", request, versions, beside)


def records_of(seen: PoolSnapshot, pool: MachineConfigPool) -> Sequence[Record]:
    """The images that the pool had, newest first."""
    if isinstance(seen.config, Present):
        return record.of_builds(each.object for each in seen.os_builds)
    return record.read(pool)


def _of_pools(seen: ImagesSnapshot) -> list[tuple[str, bytes]]:
    return [(f"MachineConfigPool {each.metadata.name}", _without_record(each)) for each in seen.pools]


def _without_record(pool: Present[MachineConfigPool]) -> bytes:
    """The JSON of a pool, less its record, which names images and uses none of them."""
    tree = dict(pool.tree)
    metadata = dict(tree.get("metadata") or {})
    metadata["annotations"] = {k: v for k, v in (metadata.get("annotations") or {}).items() if k != BUILT}
    return msgspec.json.encode({**tree, "metadata": metadata})


def _live_use(seen: ImagesSnapshot) -> Use | str:
    """What Nodes name, and the MachineConfigs that Nodes and pools name; or why that is not known."""
    nodes = seen.need(Listed(Node), this_round=True)
    if broken := next((each for each in nodes if not isinstance(each, Present)), None):
        return f"a Node cannot be read: {getattr(broken, 'why', broken)}"
    texts = [
        (f"Node {each.metadata.name}", msgspec.json.encode(each.tree["metadata"]))
        for each in nodes
        if isinstance(each, Present)
    ]
    use = use_of((), (*texts, *_of_pools(seen)))
    questions = [Live(RenderedMachineConfig, name) for name in sorted(use.configs)]
    seen.need_all(questions)
    configs = [(each.name, seen.need(each)) for each in questions]
    for name, found in configs:
        if isinstance(found, Unreadable | NotServedKind):
            return f"MachineConfig {name} cannot be read: {found.why}"
    return united(
        use_of([(f"MachineConfig {name}", found.raw) for name, found in configs if isinstance(found, Present)], ()), use
    )


def _has_changed(seen: ImagesSnapshot, pool: Present[MachineConfigPool]) -> bool:
    """The pool or its MachineOSConfig is not what it was before the registry was asked."""
    config = seen.config if isinstance(seen.config, Present) else None
    asked: list[Live[Any]] = [Live(MachineConfigPool, seen.name)]
    asked += [Live(MachineOSConfig, config.metadata.name)] if config else []
    seen.need_all(asked)
    were: list[Present[Any]] = [pool, *([config] if config else [])]
    return any(
        _version(seen.need(each)) != was.metadata.resource_version for each, was in zip(asked, were, strict=True)
    )


def _version(found: Any) -> str:
    return found.metadata.resource_version if isinstance(found, Present) else ""


def _recorded(seen: ImagesSnapshot, pool: Present[MachineConfigPool], *, now: datetime) -> Merge:
    """The record of a pool that asks for its images itself; of another one, no record."""
    records: Iterable[Record] = ()
    if seen.config is None and opted_in(pool.object):
        records = record.with_current(record.read(pool.object), pool.object, now=now)
    return _written(pool, records, why="what was built may be removed later")


def forgotten(seen: ImagesSnapshot, pool: Present[MachineConfigPool], digests: set[str]) -> list[Action]:
    """No record is left of images that the registry does not have."""
    if not digests:
        return []
    if not isinstance(seen.config, Present):
        kept = [each for each in record.read(pool.object) if each.digest not in digests]
        return [_written(pool, kept, why="the registry does not have these images any more")]
    return [
        Delete(
            target=target(build),
            deleting=build.deleting,
            propagation="Background",
            why="the registry does not have its image any more",
        )
        for build in seen.os_builds
        if build.object.status.digested_image_push_spec.partition("@")[2] in digests
    ]


def _written(pool: Present[MachineConfigPool], records: Iterable[Record], *, why: str) -> Merge:
    here, wanted = pool.metadata.annotations.get(BUILT), record.written(records)
    return Merge(
        target=target(pool),
        observed={"metadata": {"annotations": {} if here is None else {BUILT: here}}},
        desired={"metadata": {"annotations": {BUILT: wanted} if wanted else {}}},
        why=why,
    )


def removals(seen: ImagesSnapshot, pool: Present[MachineConfigPool], found: Finding) -> list[Call]:
    """The images that go now."""
    going = [each for each in found.verdicts if each.fate is Fate.GOES][:MOST]
    if not going or found.request is None:
        return []
    auths = seen.need(push_credentials(found.request, found.versions))
    if isinstance(auths, Problem):
        return []
    return [
        Call(
            target=target(pool),
            request=RemoveImage(
                target=str(found.request.target),
                digest=each.digest,
                versions=found.versions,
                beside=found.beside.get(each.digest, ()),
                **access_of(found.request, auths),
            ),
            why=each.why,
        )
        for each in going
    ]


def _told(pool: Present[MachineConfigPool], removed: set[str]) -> list[Emit]:
    if not removed:
        return []
    names = ", ".join(sorted(removed))
    return [_event(pool, "ImagesRemoved", f"Removed from the registry, because nothing uses them: {names}")]


def _unwilling(pool: Present[MachineConfigPool], found: Finding) -> list[Emit]:
    """The registry removes nothing, or does not tell."""
    if not found.why or found.request is None:
        return []
    text = f"Images that nothing uses stay in the registry: {found.why}"
    return [_event(pool, "ImagesNotRemoved", text, warning=True)]


def _event(pool: Present[MachineConfigPool], reason: str, note: str, *, warning: bool = False) -> Emit:
    return Emit(
        target=target(pool),
        type="Warning" if warning else "Normal",
        reason=reason,
        note=note,
        source=EVENT_SOURCE,
        occasion=note,
    )
