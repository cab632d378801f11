"""Lists and watches all objects of a kind for ever, and notices when the connection is dead.

A `Reflector` is a state machine that reports to a `Sink` what exists and what changes. No failure of a server or a
network ends it; only cancelling does.

    LISTING ──── the list is complete ───> WATCHING <── the stream ended: watch on from where it was ──┐
       ^                                       │  └────────────────────────────────────────────────────┘
       │                                       │
       │ the version is too old,               │ any error, in any stage
       │ or history went back                  v
       └──────────────────────────────── BACKING_OFF ──> WATCHING
         growing, jittered, not before Retry-After; short while there is no answer at all

    any stage, kind unknown ──> NOT_SERVED (asked again once in a while) ──> LISTING

| what happens | what is done |
|---|---|
| the server has WatchList | one stream is list and watch: no pages in memory, one round trip |
| it refuses WatchList (400, 422), does not know it, or it failed three times | list in pages, then watch |
| 410 at any stage | list again, at once the first time; what differs is announced, nothing else |
| a watch is refused three times, by anything but 429 | list again: the server may refuse this version for ever |
| the API server restarts | try every 2 to 3 s; watch on from the version reached; if that is gone, 410 |
| it answers again, with errors | back off from the shortest pause: failures without an answer do not count |
| nothing comes for `inactivity` seconds | restart the watch: the connection may be dead; opening is a sign of life |
| silence twice in a row | list again: the server may be waiting for a version that never comes |
| a watch broke off, or ended early | ask which version the server is at: etcd may have been restored meanwhile |
| the server is at an older version than was seen | history went back (etcd restored): accepted when lists repeat it |
| three events in a row are older than what was seen | the same: the server counts from a lower version |
| the kind is not served (its CRD is gone or not yet there) | a stage of its own, not an error; what is known stays |
| an object whose metadata cannot be read | counted, logged, left out |
| all replicas start at once | the server is asked to end each watch after a random 300 to 600 s |

    reflector = Reflector(client, Machine, sink, namespace="openshift-machine-api")
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(reflector.run())

If a restored etcd overtakes the version that was reached before it is asked, nothing differs from a normal restart: the
runbook says to restart the process after a restore.

Sources: Kubernetes API concepts, "Efficient detection of changes" and "Streaming lists"; the times are client-go's.
"""

import re
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from random import Random
from typing import Generic, NoReturn, Protocol

from windlass.api.meta import K
from windlass.kube.backoff import Backoff, Constant, Exponential
from windlass.kube.cache.health import FollowStage, Pulse
from windlass.kube.client.overlay import ordinal
from windlass.kube.client.reading import Page
from windlass.kube.client.watch import Event, EventType
from windlass.kube.clock import Clock, SystemClock
from windlass.kube.errors import (
    ApiError,
    BadRequest,
    DecodeError,
    Forbidden,
    Gone,
    Invalid,
    KubeError,
    NotServed,
    Silent,
    TransportError,
)
from windlass.kube.logger import Logger
from windlass.kube.object import NamespacedName, Object

RECONNECT = Exponential(0.2).at_most(30.0).jittered(0.5)
"""Between attempts that a server answers with errors."""
UNREACHABLE = Exponential(0.2).at_most(2.0).jittered(0.5)
"""Between attempts without an answer: they cost a server nothing, and a longer pause would outlast its restart."""
NOT_SERVED = Exponential(1.0).at_most(15.0).jittered(0.5)
"""Between checks whether a kind is served yet."""

_WATCH_SECONDS = (300, 600)
_SHORTEST_WATCH = 1.0
_PATIENCE_WITH_STREAMING = 3
_PATIENCE_WITH_OLD_LISTS = 3
_SILENT_WATCHES_BEFORE_LIST = 2
_REFUSED_WATCHES_BEFORE_LIST = 3
_LATE_EVENTS_BEFORE_LIST = 3
_QUERY = re.compile(r"\?\S*")

log = Logger(__name__)


class Watchable(Protocol):
    """The reading verbs that a reflector needs; `windlass.kube.client.reading.ReadingVerbs` documents them."""

    def watch(
        self,
        kind: type[K],
        *,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
        resource_version: str = "",
        bookmarks: bool = True,
        send_initial_events: bool = False,
        timeout_seconds: int | None = None,
        inactivity: float = 75.0,
        on_open: Callable[[], None] | None = None,
        on_unreadable: Callable[[DecodeError], None] | None = None,
    ) -> AsyncGenerator[Event[K], None]: ...

    def list_pages(
        self,
        kind: type[K],
        *,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
        page_size: int = 500,
        on_unreadable: Callable[[DecodeError], None] | None = None,
    ) -> AsyncGenerator[Page[K], None]: ...


class Sink(Protocol[K]):
    """The receiver of a reflector's reports. `windlass.kube.cache.store.Store` documents the methods.

    No other method is called until `replace` or `rewind` has returned.
    """

    async def replace(self, objects: dict[NamespacedName, Object[K]], version: str, /) -> object: ...
    async def rewind(self, objects: dict[NamespacedName, Object[K]], version: str, /) -> object: ...
    def put(self, new: Object[K], /) -> object: ...
    def delete(self, last: Object[K], /) -> object: ...
    def reach(self, version: str, /) -> object: ...


class _Rewound(KubeError):
    """The server's version is older than one that it sent before."""


class Reflector(Generic[K]):
    """Reports to `sink` all objects of `kind` in `namespace` (None: everywhere) that match the selectors.

    `inactivity`: seconds of silence after which a watch is restarted; more than the minute between bookmarks.
    `page_size`: objects per page where the server cannot stream lists. `on_stage` is called on entering a stage.
    """

    def __init__(
        self,
        source: Watchable,
        kind: type[K],
        sink: Sink[K],
        *,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
        inactivity: float = 75.0,
        page_size: int = 500,
        on_stage: Callable[[FollowStage], None] = lambda stage: None,
        backoff: Backoff = RECONNECT,
        clock: Clock | None = None,
        random: Random | None = None,
    ) -> None:
        self._source = source
        self._kind = kind
        self._sink = sink
        self._namespace = namespace
        self._label_selector = label_selector
        self._field_selector = field_selector
        self._inactivity = inactivity
        self._page_size = page_size
        self._on_stage = on_stage
        self._backoff = backoff
        self._clock = clock or SystemClock()
        self._random = random or Random()
        self._log = log.bind(kind=str(kind.RESOURCE), **({"namespace": namespace} if namespace else {}))

        self._stage = FollowStage.WAITING
        self._since = self._heard_at = self._failing_since = self._clock.monotonic()
        self._open_since: float | None = None
        self._version = ""
        self._reached: int | None = None
        self._doubted = False
        self._pause = 0.0
        self._streams_lists = True
        self._error = ""
        self._warned_of: set[str] = set()
        self._forbidden = False
        self._failures = self._refusals = self._failed_lists = self._old_lists = 0
        self._answered = False
        self._silences = self._refused_watches = self._relists = self._late_events = 0
        self._lists = self._watches = self._skipped = 0

    @property
    def stage(self) -> FollowStage:
        return self._stage

    @property
    def pulse(self) -> Pulse:
        now = self._clock.monotonic()
        return Pulse(
            stage=self._stage,
            stage_seconds=now - self._since,
            silent_seconds=now - self._heard_at,
            listed=self._lists > 0,
            error=self._error,
            failures=self._failures,
            failing_seconds=now - self._failing_since if self._failures and not self._is_open(now) else None,
            lists=self._lists,
            watches=self._watches,
            skipped=self._skipped,
            forbidden=self._forbidden,
        )

    async def run(self) -> NoReturn:
        """Follow until cancelled. May be run again afterwards; then it begins with a list."""
        # What was deleted between two runs is in no watch any more: only a list shows it.
        self._version = ""
        self._enter(FollowStage.LISTING)
        try:
            while True:
                try:
                    await self._step()
                except KubeError as error:
                    self._stumble(error)
                except Exception as error:
                    # A bug of ours must not leave a cache that looks alive and is not.
                    self._log.exception("following failed in an unforeseen way")
                    self._stumble(error)
        finally:
            self._enter(FollowStage.STOPPED)

    async def _step(self) -> None:
        self._answered = False
        match self._stage:
            case FollowStage.LISTING if not self._streams_lists or self._failed_lists >= _PATIENCE_WITH_STREAMING:
                await self._list()
            case FollowStage.LISTING | FollowStage.WATCHING:
                if self._doubted and self._stage is FollowStage.WATCHING and self._reached is not None:
                    await self._compare_versions()
                await self._follow()
            case _:
                await self._clock.sleep(self._pause)
                self._enter(FollowStage.WATCHING if self._version else FollowStage.LISTING)

    # what goes well

    async def _list(self) -> None:
        objects: dict[NamespacedName, Object[K]] = {}
        version = ""
        pages = self._source.list_pages(
            self._kind,
            namespace=self._namespace,
            label_selector=self._label_selector,
            field_selector=self._field_selector,
            page_size=self._page_size,
            on_unreadable=self._leave_out,
        )
        async with aclosing(pages):
            async for page in pages:
                self._sign_of_life()
                if page.first:  # the pages expired while they were read, and the list begins again
                    objects.clear()
                    version = page.resource_version
                for item in page.items:
                    objects[item.key] = item
        await self._listed(objects, version)

    async def _compare_versions(self) -> None:
        """Raise _Rewound if the server is at an older version than was seen."""
        pages = self._source.list_pages(
            self._kind,
            namespace=self._namespace,
            label_selector=self._label_selector,
            field_selector=self._field_selector,
            page_size=1,
            on_unreadable=lambda error: None,
        )
        async with aclosing(pages):
            version = (await anext(pages)).resource_version
        self._sign_of_life()
        if self._is_before(ordinal(version)):
            raise _Rewound(f"the server is at version {version}, but {self._reached} was seen before")
        self._doubted = False

    def _is_before(self, order: int | None) -> bool:
        """`order` is older than what was reached."""
        return order is not None and self._reached is not None and order < self._reached

    async def _follow(self) -> None:
        """Read one watch to its end; in LISTING the watch begins with all existing objects."""
        gathered: dict[NamespacedName, Object[K]] | None = {} if self._stage is FollowStage.LISTING else None
        began = self._clock.monotonic()
        seconds = self._random.randint(*_WATCH_SECONDS)
        self._watches += 1
        events = self._source.watch(
            self._kind,
            namespace=self._namespace,
            label_selector=self._label_selector,
            field_selector=self._field_selector,
            resource_version=self._version,
            bookmarks=True,
            send_initial_events=gathered is not None,
            timeout_seconds=seconds,
            inactivity=self._inactivity,
            on_open=self._opened,
            on_unreadable=self._leave_out,
        )
        heard = False
        try:
            async with aclosing(events):
                async for event in events:
                    heard = True
                    self._sign_of_life()
                    if gathered is None:
                        self._take(event)
                    elif event.ends_initial_events:
                        await self._listed(gathered, event.object.resource_version)
                        gathered = None
                    else:
                        self._gather(gathered, event)
        finally:
            self._open_since = None
        if gathered is not None:  # what it has gathered is part of the objects, and would delete the others
            raise TransportError("the stream ended before the list was complete")
        # An API server that shuts down, or whose etcd was replaced, ends its watches as if their time were over.
        self._doubted = self._clock.monotonic() - began < seconds - _SHORTEST_WATCH
        if not heard and self._clock.monotonic() - began < _SHORTEST_WATCH:
            raise TransportError("the server ended the watch as soon as it began")

    def _gather(self, gathered: dict[NamespacedName, Object[K]], event: Event[K]) -> None:
        """Take one event of a streaming list."""
        match event.type:
            case EventType.BOOKMARK:
                self._streams_lists = False
                raise TransportError("the server does not know streaming lists; listing in pages")
            case EventType.DELETED:
                gathered.pop(event.object.key, None)
            case _:
                gathered[event.object.key] = event.object

    async def _listed(self, objects: dict[NamespacedName, Object[K]], version: str) -> None:
        if not version:
            raise TransportError("the server's list has no resourceVersion to watch from")
        order = ordinal(version)
        if self._is_before(order):
            # One of several API servers may lag behind the others. A restored etcd makes all of them repeat it.
            self._old_lists += 1
            if self._old_lists < _PATIENCE_WITH_OLD_LISTS:
                raise _Rewound(f"the list is of version {version}, but {self._reached} was seen before")
            self._log.warning("history went back; own writes are void", version=version, seen=self._reached)
            await self._sink.rewind(objects, version)
        else:
            await self._sink.replace(objects, version)
        # Only now: if this is cancelled while listeners are told, the next run has to list again.
        self._version, self._reached = version, order
        self._doubted = False
        self._old_lists = self._failed_lists = self._silences = self._late_events = 0
        self._lists += 1
        self._well()
        self._enter(FollowStage.WATCHING)

    def _take(self, event: Event[K]) -> None:
        """Take one event of a watch."""
        told = event.object
        order = ordinal(told.resource_version)
        # A watch that was opened at another API server may repeat events from before the version that was reached. The
        # store knows what it has; the version to watch on from must not go back.
        late = self._is_before(order)
        self._late_events = self._late_events + 1 if late else 0
        if late and (event.type is EventType.BOOKMARK or self._late_events >= _LATE_EVENTS_BEFORE_LIST):
            raise _Rewound(f"the server is at version {order}, but {self._reached} was seen before")
        match event.type:
            case EventType.BOOKMARK:
                self._sink.reach(told.resource_version)
            case EventType.DELETED:
                self._sink.delete(told)
            case _:
                self._sink.put(told)
        if not late:
            self._version, self._reached = told.resource_version, order
        self._silences = self._refused_watches = self._relists = 0
        self._well()

    def _well(self) -> None:
        if self._failures > 1:
            self._log.info("following again", after_failures=self._failures)
        self._error, self._failures, self._refusals = "", 0, 0
        self._warned_of.clear()

    def _leave_out(self, error: DecodeError) -> None:
        self._skipped += 1
        self._log.warning("left out an object that cannot be read", error=str(error))

    def _sign_of_life(self) -> None:
        self._answered = True
        self._heard_at = self._clock.monotonic()

    def _opened(self) -> None:
        self._sign_of_life()
        self._open_since = self._heard_at

    def _is_open(self, now: float) -> bool:
        """A watch is open, and did not end as soon as it began."""
        return self._open_since is not None and now - self._open_since >= _SHORTEST_WATCH

    def _enter(self, stage: FollowStage) -> None:
        if stage is not self._stage:
            self._stage = stage
            self._since = self._clock.monotonic()
            self._on_stage(stage)

    # what does not

    def _stumble(self, error: Exception) -> None:
        """Decide how to go on after `error`, by the table at the top."""
        stage, text = self._stage, str(error)
        if stage is FollowStage.LISTING and self._streams_lists and isinstance(error, BadRequest | Invalid):
            self._streams_lists = False
            self._log.info("the server refuses streaming lists; listing in pages", error=text)
            return
        if stage is FollowStage.WATCHING and isinstance(error, Silent):
            self._well()  # all that time the watch was open
            self._refused_watches = 0
            self._silences += 1
            self._log.debug("nothing came, watching anew", silences=self._silences)
            if self._silences >= _SILENT_WATCHES_BEFORE_LIST:
                self._version = ""
                self._enter(FollowStage.LISTING)
            return
        if not self._failures:
            self._failing_since = self._clock.monotonic()
        self._failures += 1
        answered = self._answered or isinstance(error, ApiError)
        self._refusals = self._refusals + 1 if answered else 0
        self._error = text
        self._note(error)
        self._forbidden = isinstance(error, Forbidden)
        if stage is FollowStage.LISTING:
            self._failed_lists += 1
        if isinstance(error, NotServed):
            self._version = ""
            self._pause = NOT_SERVED.delay(self._failures, self._random)
            self._enter(FollowStage.NOT_SERVED)
            return
        if stage is FollowStage.WATCHING and not (isinstance(error, ApiError) and error.code == 429):
            self._doubted = True
            self._refused_watches += isinstance(error, ApiError)
        if isinstance(error, Gone | _Rewound) or self._refused_watches >= _REFUSED_WATCHES_BEFORE_LIST:
            self._version = ""
            self._refused_watches = 0
            self._relists += 1
        if isinstance(error, Gone) and self._relists == 1:
            self._enter(FollowStage.LISTING)
            return
        # Lists that succeed and expire before the first event count too: lists are the most expensive requests.
        self._pause = (
            self._backoff.delay(max(self._refusals, self._relists), self._random)
            if answered
            else UNREACHABLE.delay(self._failures, self._random)
        )
        if isinstance(error, ApiError) and error.retry_after is not None:
            self._pause = max(self._pause, Constant(error.retry_after).jittered(0.2).delay(1, self._random))
        self._enter(FollowStage.BACKING_OFF)

    def _note(self, error: Exception) -> None:
        """Log a warning for each cause of an outage, once: an API server that is away fails each attempt."""
        if isinstance(error, Gone):
            return
        cause = _cause(error)
        say = self._log.debug if cause in self._warned_of else self._log.warning
        say("following was interrupted", stage=str(self._stage), error=str(error))
        self._warned_of.add(cause)


def _cause(error: Exception) -> str:
    """What is equal in errors of the same cause. Queries have random time-outs, pages of proxies have random IDs."""
    if isinstance(error, ApiError):
        return f"{error.code} {error.reason}"
    return _QUERY.sub("", str(error))
