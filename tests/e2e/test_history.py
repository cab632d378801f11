"""The record of what happened to machines admits what it did not see, as when the API server was away."""

from typing import Any

from windlass.api import capi, mapi
from windlass.kube.client.watch import INITIAL_EVENTS_END, Event, EventType
from windlass.kube.object import Object
from windlass.machine_sync.constants import CLUSTER_API, MACHINE_API, PAUSED_ANNOTATION

from .history import Follower, History

PAUSED: dict[str, Any] = {"metadata": {"annotations": {PAUSED_ANNOTATION: ""}}}


class Watched:
    """The two sides of machine w-0, each followed by a watch of its own."""

    def __init__(self) -> None:
        self.history = History()
        self._mirror, self._source = Follower("mirror", self.history), Follower("source", self.history)
        self.begin()

    def begin(self) -> None:
        self._mirror.begin()
        self._source.begin()

    def mirror(self, version: int, authority: str) -> None:
        self._mirror.see(event(mapi.Machine, version, {"status": {"authoritativeAPI": authority}}))

    def source(self, version: int, **body: Any) -> None:
        self._source.see(event(capi.Machine, version, body))

    def sent_all(self, version: int) -> None:
        end = {"metadata": {"annotations": {INITIAL_EVENTS_END: "true"}}}
        self._mirror.see(event(mapi.Machine, version, end, EventType.BOOKMARK))
        self._source.see(event(capi.Machine, version, end, EventType.BOOKMARK))

    def authorities(self) -> list[str]:
        """What was known of authority after each write."""
        moments = (sides.get("mirror") for _, sides in self.history.moments())
        return [mirror["status"]["authoritativeAPI"] if mirror else "" for mirror in moments]


def event(kind: Any, version: int, body: dict[str, Any], happened: EventType = EventType.MODIFIED) -> Event[Any]:
    metadata = {"name": "w-0", "uid": "u", "resourceVersion": str(version), **body.get("metadata", {})}
    tree = {"apiVersion": kind.RESOURCE.api_version, "kind": kind.RESOURCE.kind, **body, "metadata": metadata}
    return Event(happened, Object.of(kind, tree))


def test_states_are_ordered_by_the_writes_whichever_watch_tells_first() -> None:
    watched = Watched()
    watched.source(4)
    watched.mirror(3, CLUSTER_API)
    watched.source(6, **PAUSED)
    watched.mirror(5, MACHINE_API)

    assert watched.authorities() == [CLUSTER_API, CLUSTER_API, MACHINE_API, MACHINE_API]
    assert len(watched.history.two_authorities()) == 1


def test_who_was_in_charge_while_the_api_server_was_away_is_not_known() -> None:
    watched = Watched()
    watched.source(3, **PAUSED)
    watched.mirror(4, MACHINE_API)
    watched.begin()
    watched.source(8)
    watched.mirror(9, CLUSTER_API)

    assert watched.authorities() == ["", MACHINE_API, MACHINE_API, "", "", CLUSTER_API]
    assert watched.history.two_authorities() == []


def test_what_was_not_written_meanwhile_is_known_all_along() -> None:
    watched = Watched()
    watched.source(3, **PAUSED)
    watched.mirror(4, MACHINE_API)
    watched.begin()
    watched.mirror(4, MACHINE_API)
    watched.source(8)

    assert watched.authorities() == ["", MACHINE_API, MACHINE_API, MACHINE_API]
    assert len(watched.history.two_authorities()) == 1


def test_what_went_meanwhile_is_gone_once_all_that_is_there_was_sent() -> None:
    watched = Watched()
    watched.mirror(4, MACHINE_API)
    watched.begin()
    watched.source(8)
    watched.sent_all(9)

    assert watched.authorities() == [MACHINE_API, "", ""]
    watched.mirror(10, CLUSTER_API)
    assert watched.authorities()[-1] == CLUSTER_API
