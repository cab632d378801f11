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
from windlass.kube.control.seen import ForbiddenKind, IndexedReader, ListingReader, Reader, seen
from windlass.kube.errors import Failure, Forbidden, KubeError, Undeclared
from windlass.kube.together import together

MOST: Final = 8
MOST_FREE: Final = 200
"""How often one decision may need answers: such that may cost requests, and any."""

SnapshotT = TypeVar("SnapshotT")


class TooManyQuestions(Exception):
    """A bug of a controller: its decision does not come to an end."""


class Answerer(Protocol):
    """Answers the questions to one system. It is shared by all workers."""

    async def answer(self, question: Any, /) -> Any:
        """The answer. Raises leaves of `Failure`. Several questions are asked at the same time."""
        ...


@runtime_checkable
class Instant(Protocol):
    """An answerer that has some answers at once, so that the decision need not be made again for them."""

    def instantly(self, question: Any, /) -> Any:
        """The answer to a FREE question; KeyError for one that has to be awaited."""
        ...


@runtime_checkable
class Follower(Protocol):
    """An answerer of a system that is polled."""

    def attended(self, key: Any, answers: Mapping[Any, Any], /) -> None:
        """An attempt at `key` has ended without an exception, and depends on these answers of the system alone. The
        later ones are last."""
        ...


class ObjectAnswerer:
    """Answers questions about objects by a reader."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def instantly(self, question: Question[Any], /) -> Any:
        if not isinstance(question, Indexed):
            raise KeyError(question)
        indexed = cast(IndexedReader, self._reader)
        return tuple(seen(each) for each in indexed.known(question.kind, question.index, question.value))

    async def answer(self, question: Question[Any], /) -> Any:
        """Raises KubeErrors, and Undeclared."""
        match question:
            case Live(kind=kind, name=name, namespace=namespace):
                return await self._reader.see(kind, name, namespace=namespace, live=True)
            case Confirmed(kind=kind, name=name, namespace=namespace):
                return await self._reader.see(kind, name, namespace=namespace, confirm=True)
            case Cached(kind=kind, name=name, namespace=namespace):
                return await self._reader.see(kind, name, namespace=namespace)
            case LiveIfAllowed() | ConfirmedIfAllowed():
                try:
                    return await self.answer(question.plain)
                except (Undeclared, Forbidden) as error:
                    return ForbiddenKind(str(error))
            case Listed(kind=kind, label_selector=labels, field_selector=fields, namespace=place):
                lists = cast(ListingReader, self._reader)
                found = await lists.listed(kind, label_selector=labels, field_selector=fields, namespace=place)
                return tuple(found)
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
        self._instant = {system: each for system, each in answerers.items() if isinstance(each, Instant)}
        self._followers = {system: each for system, each in answerers.items() if isinstance(each, Follower)}
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

    def instantly(self, question: Question[Any], *, number: int) -> Answer[Any]:
        """The answer, without asking anybody. KeyError: it has to be awaited."""
        answerer = self._instant.get(question.SYSTEM) if question.FREE else None
        if answerer is None:
            raise KeyError(question)
        require_question(self._permits, question)
        return Answer(answerer.instantly(question), self._now(), number)

    def end(self, key: Hashable, answers: Mapping[Question[Any], Any]) -> None:
        """Tell those who poll what an attempt at `key` has asked."""
        for system, answerer in self._followers.items():
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
        self._decided = 0
        self._every: dict[Question[Any], Any] = {}
        self._round = 1

    @property
    def asked(self) -> tuple[tuple[Question[Any], ...], ...]:
        """What was asked so far, the questions of one moment together."""
        return tuple(self._asked)

    @property
    def answers(self) -> Mapping[Question[Any], Any]:
        """The answers in this attempt, the later ones last."""
        return self._every

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
            answers = Answers(_Watched(self, self._known, self._looked_at), self._round)
            try:
                return decide(replace(snapshot, answers=answers))
            except Needs as needs:
                self._asked.append(needs.questions)
            self._refuse_more(self._asked[self._decided :])
            found = await self._asker.ask(self._asked[-1], number=self._round)
            self._known |= found
            for question, answer in found.items():
                self._every.pop(question, None)
                self._every[question] = answer.value

    def _refuse_more(self, asked: Sequence[tuple[Question[Any], ...]]) -> None:
        costly = [some for some in asked if not all(each.FREE for each in some)]
        if len(costly) > MOST or len(asked) > MOST_FREE:
            every = "\n".join(", ".join(map(str, some)) for some in asked)
            raise TooManyQuestions(f"one decision asked more than {MOST} times:\n{every}")

    def instantly(self, question: Question[Any]) -> Answer[Any]:
        """The answer to a free question. KeyError: it has to be awaited."""
        return self._asker.instantly(question, number=self._round)

    def acted(self, outcome: Outcome) -> None:
        """Forget the answers that these actions may have changed."""
        self._decided = len(self._asked)
        tried = [result.action for result in outcome.results if not isinstance(result.action, Emit)]
        systems = {each.system if isinstance(each, Call) else KUBERNETES for each in tried}

        def stays(question: Question[Any], answer: Answer[Any]) -> bool:
            if question.KEPT:
                return True
            # A system that did not answer is not asked again in the attempt, unless it has answered a Call since.
            is_of_now = question.OF_NOW and bool(tried) and not isinstance(answer.value, Failure)
            return question.SYSTEM not in systems and not is_of_now

        self._known = {one: answer for one, answer in self._known.items() if stays(one, answer)}
        self._round += 1

    def end(self) -> None:
        """The attempt has ended without an exception: keep what is `KEPT` and was looked at, and tell who polls."""
        kept = {one: answer for one, answer in self._known.items() if one.KEPT and one in self._looked_at}
        self._asker.keep(self._key, {one: each for one, each in kept.items() if not isinstance(each.value, Failure)})
        self._asker.end(self._key, self._every)


class _Watched(Mapping[Question[Any], Answer[Any]]):
    """Answers that take note of which are looked at. What costs nothing is answered then, and stays so."""

    def __init__(
        self, inquiry: Inquiry, known: dict[Question[Any], Answer[Any]], looked_at: set[Question[Any]]
    ) -> None:
        self._inquiry = inquiry
        self._known = known
        self._looked_at = looked_at

    def __getitem__(self, question: Question[Any]) -> Answer[Any]:
        self._looked_at.add(question)
        if question not in self._known:
            self._known[question] = self._inquiry.instantly(question)
        return self._known[question]

    def __iter__(self) -> Iterator[Question[Any]]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)
