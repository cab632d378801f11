"""Carries questions to informers, and keeps what they answered for as long as this process leads.

    feed = Feed(Fetcher())
    Controller(..., sources=(feed,))            # woken when the report changes by what an informer tells
    Frame(..., systems={AskInformer.SYSTEM: feed})

An informer that gives no good answer fails nothing: that is a fact, kept with the other answers.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from random import Random
from typing import Any, ClassVar, Final

from msgspec import Struct

from windlass.api.update_informer import AskedUpdate, UpdateInsightsRequest
from windlass.kube.backoff import Exponential
from windlass.kube.clock import Clock, SystemClock
from windlass.kube.control.merge import FieldChange
from windlass.kube.control.plan import Request
from windlass.kube.control.source import Detach, Mailbox, Wake
from windlass.kube.logger import Logger
from windlass.update_status.informers.admission import Endpoint
from windlass.update_status.informers.answers import read_answer
from windlass.update_status.informers.churn import WINDOW, Allowance, Churn
from windlass.update_status.informers.fetching import NoAnswer
from windlass.update_status.informers.heard import Heard
from windlass.update_status.report import Informed, InformerInsight
from windlass.update_status.times import Moment, of_datetime

TRIAL: Final = 300.0
"""Seconds between questions while no update is going on, and the longest pause after failures."""
KEPT: Final = 480.0
"""Seconds for which a token is used; it is worth 10 min, the least that the API server gives."""
TOKEN_AGAIN: Final = 60.0
"""Seconds after which a token is requested again that the API server refused to make."""
JITTER: Final = 0.1
MARGIN: Final = 1.5
"""Seconds of an interval that are left for the answer and the write: the object is written once a second at most."""
EARLIEST: Final = 0.9
"""Share of the rest after which an informer is asked at the earliest: those that began together drift apart."""


class AskInformer(Request, frozen=True):
    """One question. `generation` of the UpdateInformer: another one is asked at once."""

    SYSTEM: ClassVar[str] = "informers"
    SECONDS: ClassVar[float] = 15.0
    SECRET: ClassVar[frozenset[str]] = frozenset({"token"})

    endpoint: Endpoint
    asked: UpdateInsightsRequest
    token: str
    generation: int

    def diff(self) -> tuple[FieldChange, ...]:
        return (FieldChange("url", None, self.endpoint.url),)


class _Asked(Struct, frozen=True):
    """When the last question was sent, about what, and after how long the next one is."""

    at: float
    pause: float
    generation: int
    update: AskedUpdate | None


Fetch = Callable[..., Awaitable[bytes]]
"""As `Fetcher` is called. Raises NoAnswer."""


class Feed:
    """What informers told. It is the carrier of `AskInformer`, and the source that wakes `key` when that changes."""

    def __init__(self, fetch: Fetch, key: str, *, clock: Clock | None = None, random: Random | None = None) -> None:
        self._fetch = fetch
        self._key = key
        self._clock = clock or SystemClock()
        self._random = random or Random()
        self._changed: Mailbox[str] = Mailbox()
        self._audit = Audit()
        self._clear()

    def attach(self, wake: Wake[str]) -> Detach:
        leave = self._changed.attach(wake)

        def detach() -> None:
            leave()
            # Another process asks from now on: what this one knows becomes old.
            self._clear()

        return detach

    def _clear(self) -> None:
        self._heard: dict[str, Heard] = {}
        self._asked: dict[str, _Asked] = {}
        self._tokens: dict[str, tuple[str, float]] = {}
        self._churn: dict[str, Churn] = {}
        self._before: dict[str, Heard] = {}
        self._said: dict[str, Informed] = {}

    @property
    def heard(self) -> Mapping[str, Heard]:
        """By the name of the informer."""
        return self._heard

    def wait(self, name: str, *, generation: int, update: AskedUpdate | None) -> float:
        """Seconds until the next question about `update`; 0: it is due."""
        last = self._asked.get(name)
        if last is None or (last.generation, last.update) != (generation, update):
            return 0.0
        return max(0.0, last.at + last.pause - self._clock.monotonic())

    def token(self, name: str) -> str:
        """One that is fresh, or ""."""
        token, until = self._tokens.get(name, ("", 0.0))
        return token if self._clock.monotonic() < until else ""

    def keep_token(self, name: str, token: str) -> None:
        self._tokens[name] = (token, self._clock.monotonic() + KEPT)

    def take_over(self, name: str, told: Iterable[InformerInsight]) -> None:
        """Before the first question: the insights that another process was told, by the UpdateStatus. They are not new,
        and count as long as silence is forgiven."""
        if name not in self._churn:
            kept = tuple(told)
            self._churn[name] = Churn(one.uid for one in kept)
            self._before[name] = Heard(insights=kept)

    def forget(self, name: str) -> None:
        """It is asked no more."""
        kept: tuple[dict[str, Any], ...]
        kept = (self._heard, self._before, self._asked, self._tokens, self._churn, self._said)
        for each in kept:
            each.pop(name, None)

    def unasked(self, name: str, why: str) -> None:
        """A question could not be sent, and will be as soon as that is possible."""
        before = self._last(name)
        after = before.failed(why, now=self.now())
        self._audit.answered(name, before, after, now=self._clock.monotonic())
        self._note(name, after)

    def without_token(self, name: str, why: str, *, generation: int, update: AskedUpdate | None) -> None:
        """The API server refused to make a token: it counts as a question, so that the next one has its time."""
        self._asked[name] = _Asked(self._clock.monotonic(), TOKEN_AGAIN, generation, update)
        self.unasked(name, why)

    async def send(self, request: AskInformer, /) -> None:
        name, endpoint, update = request.asked.informer, request.endpoint, request.asked.update
        # While it is asked, and if this is cancelled, it counts as asked.
        began = self._clock.monotonic()
        self._asked[name] = _Asked(began, endpoint.interval, request.generation, update)
        before = self._last(name)
        try:
            answer = read_answer(await self._fetch(endpoint, request.asked, token=request.token), now=self.now())
        except NoAnswer as error:
            after = before.failed(str(error), now=self.now())
            if error.refused:
                self._tokens.pop(name, None)
        else:
            churn = self._churn.setdefault(name, Churn())
            told, storm = churn.admit(answer.insights, now=self._clock.monotonic())
            refused = (*answer.refused, *((f"{storm} insights are new: too many in 10 min",) if storm else ()))
            after = before.good(told, refused, now=self.now())
        pause = self._pause(endpoint.interval, after, during=update is not None)
        # The interval is that of questions. A pause after a failure follows it, since failing may take long itself.
        since = self._clock.monotonic() if after.failures else began
        self._asked[name] = _Asked(since, pause, request.generation, update)
        self._audit.answered(name, before, after, now=self._clock.monotonic())
        self._note(name, after)

    def doubt(self, request: AskInformer, /) -> None:
        """A question changes nothing."""

    def _last(self, name: str) -> Heard:
        return self._heard.get(name) or self._before.get(name) or Heard()

    def _note(self, name: str, after: Heard) -> None:
        self._heard[name] = after
        says = after.informed(name, "", now=self.now())
        if says != self._said.get(name):
            self._said[name] = says
            self._changed.post(self._key)

    def _pause(self, interval: float, after: Heard, *, during: bool) -> float:
        """Twice as long after each failure. Jitter keeps those that failed together from being asked together."""
        if not during:
            interval = max(TRIAL, interval)
        if not after.failures:
            return (interval - MARGIN) * self._random.uniform(EARLIEST, 1.0) if during else interval
        growing = Exponential(interval).at_most(max(TRIAL, interval)).jittered(JITTER)
        return growing.delay(after.failures, self._random)

    def now(self) -> Moment:
        return of_datetime(self._clock.now())


# Logs what is taken of informers and what is refused: once when it changes, at a bounded rate for each informer.

MOST_LINES: Final = 100
"""Of one informer within `WINDOW`."""


class Audit:
    """The lines about all informers."""

    def __init__(self) -> None:
        self._log = Logger(__name__)
        self._left: dict[str, Allowance] = {}
        self._more: set[str] = set()

    def answered(self, name: str, before: Heard, after: Heard, *, now: float) -> None:
        """Log the difference between two answers, at `now` in seconds of any clock."""
        if after.trouble and after.trouble != before.trouble:
            self._line("informer does not answer", name, now, why=after.trouble)
        elif before.trouble and not after.trouble:
            self._line("informer answers again", name, now, after_failures=before.failures)
        known, stays = {one.uid for one in before.insights}, {one.uid for one in after.insights}
        for one in after.insights:
            if one.uid not in known:
                said = one.insight
                facts = {"insight_level": said.level.title, "summary": said.summary}
                self._line("insight taken", name, now, uid=one.uid, **facts)
        for one in before.insights:
            if one.uid not in stays:
                self._line("insight resolved", name, now, uid=one.uid)
        for why in after.refused:
            if why not in before.refused:
                self._line("insight refused", name, now, why=why)

    def _line(self, event: str, name: str, now: float, **facts: object) -> None:
        if self._left.setdefault(name, Allowance(MOST_LINES)).take(now=now):
            self._more.discard(name)
            self._log.info(event, informer=name, **facts)
        elif name not in self._more:
            self._more.add(name)
            self._log.warning(
                "an informer changes too often for the log", informer=name, lines=MOST_LINES, seconds=WINDOW
            )
