"""Answers the questions of decisions: `windlass.kube.control.question` says what may be asked, and how.

An `Asker` belongs to one controller and one term of leadership, an `Inquiry` to one attempt. An `Answerer` answers for
one system, as a `Carrier` carries the requests to it.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, Protocol, TypeVar, cast, runtime_checkable

from msgspec.structs import replace

from windlass.kube.control.permissions import Permits, require_question
from windlass.kube.control.plan import Call, Emit, Outcome, Plan
from windlass.kube.control.question import (
    KUBERNETES,
    Answer,
    Answers,
    Asking,
    Cached,
    Confirmed,
    ConfirmedIfAllowed,
    Indexed,
    Listed,
    Live,
    LiveIfAllowed,
    Needs,
    Question,
)
from windlass.kube.control.seen import ForbiddenKind, IndexedReader, ListingReader, seen
from windlass.kube.errors import Failure, Forbidden, KubeError, Undeclared
from windlass.kube.together import together

MOST: Final = 8
MOST_FREE: Final = 200
"""How often a decision may need answers before it acts: answers that cost requests, and all answers."""

SnapshotT = TypeVar("SnapshotT")


class TooManyQuestions(Exception):
    """A bug of a controller: its decision does not come to an end."""


class Answerer(Protocol):
    """Answers the questions to one system. It is shared by all workers."""

    async def answer(self, question: Any, /) -> Any:
        """The answer. Raises leaves of `Failure`. Several questions are asked at the same time."""
        ...


@runtime_checkable
class Follower(Protocol):
    """An answerer of a system that is polled."""

    def attended(self, key: Any, answers: Mapping[Any, Any], /) -> None:
        """An attempt at `key` has ended without an exception. It had these answers, the later ones last; it depends on
        nothing else here."""
        ...


class ObjectAnswerer:
    """Answers questions about objects by a reader."""

    def __init__(self, reader: IndexedReader) -> None:
        self._reader = reader

    async def answer(self, question: Question[Any], /) -> Any:
        """Raises KubeErrors, and Undeclared."""
        match question:
            case Live(kind=kind, name=name, namespace=namespace):
                return await self._reader.see(kind, name, namespace=namespace, live=True)
            case Confirmed(kind=kind, name=name, namespace=namespace):
                return await self._reader.see(kind, name, namespace=namespace, confirm=True)
            case Cached(kind=kind, name=name, namespace=namespace):
                return await self._reader.see(kind, name, namespace=namespace)
            case ConfirmedIfAllowed(kind=kind, name=name, namespace=namespace):
                try:
                    return await self._reader.see(kind, name, namespace=namespace, confirm=True)
                except Undeclared as error:
                    return ForbiddenKind(str(error))
            case LiveIfAllowed(kind=kind, name=name, namespace=namespace):
                try:
                    return await self._reader.see(kind, name, namespace=namespace, live=True)
                except Forbidden as error:
                    return ForbiddenKind(str(error))
            case Indexed(kind=kind, index=index, value=value):
                return tuple(seen(each) for each in self._reader.known(kind, index, value))
            case Listed(kind=kind, label_selector=labels, field_selector=fields):
                lists = cast(ListingReader, self._reader)
                return tuple(await lists.listed(kind, label_selector=labels, field_selector=fields))
        raise TypeError(f"{question} is no question about objects")


class Asker:
    """Asks for one controller, in one term of leadership. It keeps the answers to `KEPT` questions, by key.

    `answerers` by system; `permits` None allows all questions.
    """

    def __init__(
        self,
        answerers: Mapping[str, Answerer],
        *,
        permits: Permits | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._answerers = answerers
        self._permits = permits
        self._now = now
        self._kept: dict[Hashable, dict[Question[Any], Answer[Any]]] = {}

    def inquiry(self, key: Hashable) -> "Inquiry":
        """The questions of one attempt at `key`."""
        return Inquiry(self, key, dict(self._kept.get(key, {})))

    async def ask(self, questions: Sequence[Question[Any]], *, number: int) -> dict[Question[Any], Answer[Any]]:
        """The answers, asked at the same time. Raises KubeErrors; a Failure of another system is its answer."""
        asked = tuple(dict.fromkeys(questions))
        found = [await self._ask(asked[0])] if len(asked) == 1 else await together(map(self._ask, asked))
        return {one: Answer(value, at, number) for one, (value, at) in zip(asked, found, strict=True)}

    def end(self, key: Hashable, answers: Mapping[Question[Any], Any]) -> None:
        """Tell those who poll what an attempt at `key` has asked."""
        for system, answerer in self._answerers.items():
            if isinstance(answerer, Follower):
                answerer.attended(key, {one: value for one, value in answers.items() if system == one.SYSTEM})

    def keep(self, key: Hashable, used: Mapping[Question[Any], Answer[Any]]) -> None:
        """Keep these answers for later attempts at `key`, and no others."""
        if used:
            self._kept[key] = {question: replace(answer, round=0) for question, answer in used.items()}
        else:
            self._kept.pop(key, None)

    async def _ask(self, question: Question[Any]) -> tuple[Any, datetime]:
        answerer = self._answerers.get(question.SYSTEM)
        if answerer is None:
            raise Undeclared(f"{question}: nothing here answers for {question.SYSTEM}; name it in Controller.answerers")
        require_question(self._permits, question)
        at = self._now()
        try:
            return await answerer.answer(question), at
        except KubeError:
            raise
        except Failure as failure:
            return failure, at


class Inquiry:
    """The questions of one attempt, and what is known of their answers."""

    def __init__(self, asker: Asker, key: Hashable, known: dict[Question[Any], Answer[Any]]) -> None:
        self._asker = asker
        self._key = key
        self._known = known
        self._looked_at: set[Question[Any]] = set()
        self._asked: list[tuple[Question[Any], ...]] = []
        self._every: dict[Question[Any], Any] = {}
        self._round = 1
        self._before = 0

    @property
    def asked(self) -> tuple[tuple[Question[Any], ...], ...]:
        """What was asked so far, the questions of one moment together."""
        return tuple(self._asked)

    @property
    def failure(self) -> Failure | None:
        """The first answer that is a failure of another system."""
        failures = (answer.value for answer in self._known.values() if answer.round)
        return next((each for each in failures if isinstance(each, Failure)), None)

    async def decide(self, snapshot: SnapshotT, decide: Callable[[SnapshotT], Plan]) -> Plan:
        """The plan of `decide`, which gets the answers that it needs. Raises KubeErrors, and TooManyQuestions."""
        if not isinstance(snapshot, Asking):
            return decide(snapshot)
        while True:
            answers = Answers(_Watched(self._known, self._looked_at), self._round)
            try:
                return decide(replace(snapshot, answers=answers))
            except Needs as needs:
                self._asked.append(needs.questions)
            asked = self._asked[self._before :]
            if sum(any(not each.FREE for each in some) for some in asked) > MOST or len(asked) > MOST_FREE:
                every = "\n".join(", ".join(map(str, some)) for some in asked)
                raise TooManyQuestions(f"a decision asked more than {MOST} times before it acted:\n{every}")
            found = await self._asker.ask(self._asked[-1], number=self._round)
            self._known |= found
            for question, answer in found.items():
                self._every.pop(question, None)
                self._every[question] = answer.value

    def acted(self, outcome: Outcome) -> None:
        """Forget the answers that these actions may have changed."""
        tried = [result.action for result in outcome.results if not isinstance(result.action, Emit)]
        systems = {each.system if isinstance(each, Call) else KUBERNETES for each in tried}
        self._known = {one: answer for one, answer in self._known.items() if one.KEPT or one.SYSTEM not in systems}
        self._round += 1
        self._before = len(self._asked)

    def end(self) -> None:
        """The attempt has ended without an exception: keep what is `KEPT` and was looked at, and tell who polls."""
        kept = {one: answer for one, answer in self._known.items() if one.KEPT and one in self._looked_at}
        self._asker.keep(self._key, {one: each for one, each in kept.items() if not isinstance(each.value, Failure)})
        self._asker.end(self._key, self._every)


class _Watched(Mapping[Question[Any], Answer[Any]]):
    """Answers that take note of which are looked at."""

    def __init__(self, known: Mapping[Question[Any], Answer[Any]], looked_at: set[Question[Any]]) -> None:
        self._known = known
        self._looked_at = looked_at

    def __getitem__(self, question: Question[Any]) -> Answer[Any]:
        self._looked_at.add(question)
        return self._known[question]

    def __iter__(self) -> Iterator[Question[Any]]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)
