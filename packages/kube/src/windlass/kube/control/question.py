"""Questions that a decision asks, and the answers that it gets.

    observe(key)             what caches say
    decide(snapshot, now)    a Plan, or the end of this decision: `Needs` these questions
    the runtime answers      all of them at once, and decides again with the answers; no write comes in between

A rule reads as if everything were known:

    class BucketSnapshot(Asking, frozen=True, kw_only=True):
        widget: Seen[Widget]

    def decide(seen: BucketSnapshot, *, now: datetime) -> Plan:
        ...
        order, bucket = seen.need(Live(Order, name, namespace), BucketOf(mark))      # both are asked at the same time

A question is a value. `Live`, `Confirmed` and `Listed` go to the API server; `Cached` and `Indexed` follow references
in the caches, and cost nothing. A question to another system is a class that names the `SYSTEM`, and
`Controller.answerers` has who answers there. What a question reads must be declared like a
write: the reader refuses objects that the controller does not declare, and the runtime refuses questions to other
systems that are not in `asks(...)`.

| what happens | result |
|---|---|
| the API server does not answer a question | the attempt ends with that error, as when `observe` raises it |
| another system does not answer: its answerer raises a `Failure` | the failure is the answer; no Call before a pause |
| a question is asked again in the attempt | the first answer |
| the same, after a write to the system of the question: to any object, or a Call | it is asked again |
| the same, after any action, if the question is of a class with `OF_NOW`, such as `Live` | it is asked again |
| one decision needs answers more than 8 times, not counting free ones | `TooManyQuestions`, which is a bug |

`this_round` refuses answers from before the last actions. A class of questions with `KEPT` is answered once for a key:
later attempts know the answer, until one of them ends without looking at it, or the term of leadership ends. `known`
returns an answer with its time without asking, so a rule can say that it is too old, and ask with `this_attempt`.

The same snapshot with the same answers gives the same plan: `Answers` are part of the snapshot.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, ClassVar, Final, Generic, TypeVar, overload

from msgspec import Struct

from windlass.api.meta import K
from windlass.kube.control.plan import verb_of
from windlass.kube.control.seen import ForbiddenKind, Seen

KUBERNETES: Final = "kubernetes"
"""The system of questions about objects."""

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")


class Question(Struct, Generic[A], frozen=True):
    """A question with answers of type A. `SYSTEM` answers it; `KEPT`: the answer outlives the attempt; `OF_NOW`: it
    outlives no action, whatever that changes; `FREE`: it costs no request."""

    SYSTEM: ClassVar[str]
    OF_NOW: ClassVar[bool] = False
    KEPT: ClassVar[bool] = False
    FREE: ClassVar[bool] = False

    def __str__(self) -> str:
        """The question for people, in a few words: `bucket of (buckets)`."""
        return f"{verb_of(type(self))} ({self.SYSTEM})"


class _OfObject(Question[Seen[K]], Generic[K], frozen=True):
    SYSTEM: ClassVar[str] = KUBERNETES

    kind: type[K]
    name: str
    namespace: str | None = None

    def __str__(self) -> str:
        place = f"{self.namespace}/" if self.namespace else ""
        return f"{type(self).__name__.lower()} {self.kind.RESOURCE.kind} {place}{self.name}"


class Cached(_OfObject[K], Generic[K], frozen=True):
    """The object as the cache has it. Without a cache of the kind, it is read live."""

    FREE: ClassVar[bool] = True


class Live(_OfObject[K], Generic[K], frozen=True):
    """The object as the API server has it now."""

    OF_NOW: ClassVar[bool] = True


class Confirmed(_OfObject[K], Generic[K], frozen=True):
    """The object as the cache has it; of one that is not there, whether the API server has it now."""


class _IfAllowed(Question[Seen[K] | ForbiddenKind], Generic[K], frozen=True):
    """About an object that the controller may have no right to read: then the answer is ForbiddenKind."""

    SYSTEM: ClassVar[str] = KUBERNETES

    kind: type[K]
    name: str
    namespace: str | None = None

    def __str__(self) -> str:
        return str(self.plain)

    @property
    def plain(self) -> _OfObject[K]:
        """The question about an object that may be read."""
        raise NotImplementedError


class LiveIfAllowed(_IfAllowed[K], Generic[K], frozen=True):
    """As `Live`."""

    OF_NOW: ClassVar[bool] = True

    @property
    def plain(self) -> _OfObject[K]:
        return Live(self.kind, self.name, self.namespace)


class ConfirmedIfAllowed(_IfAllowed[K], Generic[K], frozen=True):
    """As `Confirmed`."""

    @property
    def plain(self) -> _OfObject[K]:
        return Confirmed(self.kind, self.name, self.namespace)


class Indexed(Question[tuple[Seen[K], ...]], Generic[K], frozen=True):
    """The cached objects for which `index` gives `value`; those that were known before while the kind is not served."""

    SYSTEM: ClassVar[str] = KUBERNETES
    FREE: ClassVar[bool] = True

    kind: type[K]
    index: str
    value: str

    def __str__(self) -> str:
        return f"{self.kind.RESOURCE.plural} by {self.index} {self.value}"


class Listed(Question[tuple[Seen[K], ...]], Generic[K], frozen=True):
    """The objects that the API server selects now, of a kind that nobody should cache; of all namespaces without
    `namespace`."""

    SYSTEM: ClassVar[str] = KUBERNETES

    kind: type[K]
    label_selector: str = ""
    field_selector: str = ""
    namespace: str | None = None

    def __str__(self) -> str:
        chosen = ", ".join(each for each in (self.label_selector, self.field_selector) if each)
        return f"list {self.kind.RESOURCE.name}{f' ({chosen})' if chosen else ''}"


class Answer(Struct, Generic[A], frozen=True):
    """The `value`, which held at the time `at`. `round`: that of the attempt that asked, 0 in an earlier attempt."""

    value: A
    at: datetime
    round: int = 0


class Needs(Exception):
    """A decision cannot go on without the answers to these questions."""

    def __init__(self, *questions: Question[Any]) -> None:
        super().__init__(*questions)
        self.questions = questions

    def __str__(self) -> str:
        return ", ".join(map(str, self.questions))


class Answers(Struct, frozen=True):
    """What is known in `round` of an attempt."""

    given: Mapping[Question[Any], Answer[Any]] = {}
    round: int = 1

    @classmethod
    def of(cls, given: Mapping[Question[Any], Any], *, at: datetime) -> "Answers":
        """These answers, given in the first round at the time `at`."""
        return cls({question: Answer(value, at, 1) for question, value in given.items()})

    def get(self, question: Question[A], *, this_round: bool = False, this_attempt: bool = False) -> Answer[A] | None:
        """The answer, unless it is too old."""
        oldest = self.round if this_round else 0 if question.KEPT and not this_attempt else 1
        answer = self.given.get(question)
        return answer if answer is not None and answer.round >= oldest else None


class Asking(Struct, frozen=True, kw_only=True):
    """The part of a snapshot by which its decision asks."""

    answers: Answers = Answers()

    @overload
    def need(self, question: Question[A], /, *, this_round: bool = ..., this_attempt: bool = ...) -> A: ...
    @overload
    def need(
        self, one: Question[A], two: Question[B], /, *, this_round: bool = ..., this_attempt: bool = ...
    ) -> tuple[A, B]: ...
    @overload
    def need(
        self,
        one: Question[A],
        two: Question[B],
        three: Question[C],
        /,
        *,
        this_round: bool = ...,
        this_attempt: bool = ...,
    ) -> tuple[A, B, C]: ...
    @overload
    def need(self, *questions: Question[Any], this_round: bool = ..., this_attempt: bool = ...) -> tuple[Any, ...]: ...
    def need(self, *questions: Question[Any], this_round: bool = False, this_attempt: bool = False) -> Any:
        """The answer; of several questions the answers. Raises Needs with those that are not answered yet.

        `this_round`: only answers that were given after the last actions. `this_attempt`: none of earlier attempts.
        """
        found = [self.answers.get(each, this_round=this_round, this_attempt=this_attempt) for each in questions]
        missing = [each for each, answer in zip(questions, found, strict=True) if answer is None]
        if missing:
            raise Needs(*missing)
        values = tuple(answer.value for answer in found if answer is not None)
        return values[0] if len(questions) == 1 else values

    def need_all(self, questions: Iterable[Question[Any]]) -> None:
        """Have all of these answered at the same time."""
        if asked := tuple(questions):
            self.need(*asked)

    def known(self, question: Question[A]) -> Answer[A] | None:
        """The answer that there is, from whatever time, without asking. With `KEPT` it may be that of an earlier
        attempt."""
        return self.answers.given.get(question)
