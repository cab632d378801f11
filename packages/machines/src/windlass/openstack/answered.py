"""What a controller remembers of the cloud between two visits, so that not every visit asks for it again."""

from collections.abc import Callable
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from windlass.kube.object import NamespacedName
from windlass.openstack.cloud.account import Account
from windlass.openstack.cloud.query import Answers, Query


class Answered(Struct, frozen=True):
    """Answers to `queries`, of the time `at`; they are not asked for again before `until`."""

    queries: tuple[Query, ...]
    answers: Answers
    at: datetime
    until: datetime


class KeptAnswers:
    """Answers of the cloud to what specs name, by object."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._kept: dict[NamespacedName, Answered] = {}

    async def of(self, key: NamespacedName, wanted: tuple[Query, ...], project: Account) -> Answered:
        """The kept answers, if they are still valid; else new answers, which the caller may keep."""
        kept = self._kept.get(key)
        if kept is not None and kept.queries == wanted and self._now() < kept.until:
            return kept
        self.forget(key)
        at = self._now()
        return Answered(wanted, await project.find(wanted), at, at)

    def keep(self, key: NamespacedName, answered: Answered, until: datetime) -> None:
        """Use them again until then."""
        self._kept[key] = replace(answered, until=until)

    def forget(self, key: NamespacedName) -> None:
        """Ask again at the next visit."""
        self._kept.pop(key, None)
