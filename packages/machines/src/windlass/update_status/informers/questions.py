"""The questions of decisions about UpdateInformers, and who answers them.

| system | questions | answered by |
|---|---|---|
| informers | `Hearing`, `CannotAsk`, `NewToken`, `NoToken` | the feed, which keeps what informers told |
| services | `ServiceOf` | one GET in an attempt: nobody caches the Services of a cluster |

An informer that no attempt has a question about is not asked any more, so the feed forgets it.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from msgspec import Struct

from windlass.api.authentication import TokenRequestStatus
from windlass.api.core import Service
from windlass.api.update import UPDATE_STATUS, UpdateStatus
from windlass.api.update_informer import AskedUpdate
from windlass.kube.control.question import Question
from windlass.kube.control.seen import Present, Reader, Seen
from windlass.update_status.document import informed_of
from windlass.update_status.informers.feed import AskInformer, Feed
from windlass.update_status.informers.heard import Heard

SERVICES: Final = "services"


class ServiceOf(Question[Seen[Service]], frozen=True):
    """The Service of an informer. Writes of the attempt do not change it."""

    SYSTEM: ClassVar[str] = SERVICES

    name: str
    namespace: str


class FeedState(Struct, frozen=True):
    """What is known of an informer.

    heard  what it answered; None: it was not asked by this process
    wait   seconds until it is asked next, 0 if it is due
    token  one for it that is fresh, or ""
    """

    heard: Heard | None = None
    wait: float = 0.0
    token: str = ""


class _OfInformer(Question[FeedState], frozen=True):
    SYSTEM: ClassVar[str] = AskInformer.SYSTEM
    FREE: ClassVar[bool] = True

    name: str
    generation: int
    update: AskedUpdate | None


class Hearing(_OfInformer, frozen=True):
    """What is known of the informer, as it is asked about `update`."""


class CannotAsk(_OfInformer, frozen=True):
    """The same, when it cannot be asked now because of `why`: that is a silence."""

    why: str


class NewToken(_OfInformer, frozen=True):
    """The same, with this token."""

    made: TokenRequestStatus


class NoToken(_OfInformer, frozen=True):
    """The same, when the API server makes no token for it because of `why`: that counts as a question."""

    why: str


QUESTIONS: Final = (ServiceOf, Hearing, CannotAsk, NewToken, NoToken)


class ServiceAnswerer:
    """Reads Services. Raises KubeErrors."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def answer(self, question: ServiceOf, /) -> Seen[Service]:
        return await self._reader.see(Service, question.name, namespace=question.namespace)


class FeedAnswerer:
    """Answers by the feed. What the UpdateStatus says of an informer counts until that answers this process."""

    def __init__(self, reader: Reader, feed: Feed) -> None:
        self._reader = reader
        self._feed = feed

    async def answer(self, question: Hearing | CannotAsk | NewToken | NoToken, /) -> FeedState:
        name, generation, update = question.name, question.generation, question.update
        if name not in self._feed.heard:
            stored = await self._reader.see(UpdateStatus, UPDATE_STATUS)
            stood = informed_of(stored.object.status, now=self._feed.now()) if isinstance(stored, Present) else ()
            self._feed.take_over(name, (told for one in stood if one.name == name for told in one.insights))
        match question:
            case CannotAsk(why=why):
                self._feed.unasked(name, why)
            case NewToken(made=made):
                self._feed.keep_token(name, made.token)
            case NoToken(why=why):
                self._feed.without_token(name, why, generation=generation, update=update)
        wait = self._feed.wait(name, generation=generation, update=update)
        return FeedState(self._feed.heard.get(name), wait, self._feed.token(name))

    def attended(self, key: str, answers: Mapping[Any, Any], /) -> None:
        """Forget an informer that is asked no more."""
        if not answers:
            self._feed.forget(key)
