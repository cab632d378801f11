"""Reads what the decision about one UpdateInformer needs: objects, what was heard of it, the token that was made."""

from typing import Any, Final

from msgspec import Struct, structs

from windlass.api.core import Service
from windlass.api.update import UPDATE_STATUS, UpdateStatus, UpdateStatusStatus
from windlass.api.update_informer import AskedUpdate, UpdateInformer
from windlass.api.update_insights import INSTALLATION
from windlass.capability.manifests.rights import ServiceAccount
from windlass.kube.clock import Clock
from windlass.kube.control.plan import Outcome, RequestToken
from windlass.kube.control.population import Population
from windlass.kube.control.seen import Absent, Present, Seen
from windlass.update_status.document import informed_of
from windlass.update_status.informers.admission import MOST_ENABLED, Denied, Endpoint, Reason, admitted, candidates
from windlass.update_status.informers.feed import Feed
from windlass.update_status.informers.settings import InformersSettings
from windlass.update_status.informers.snapshot import InformerSnapshot
from windlass.update_status.times import of_datetime

_NOT_OURS: Final = frozenset({Reason.DISABLED, Reason.NAMESPACE_NOT_ALLOWED, Reason.TOO_MANY})
"""Those who are not asked for one of these have no place in the report."""


class InformerObserver:
    """Takes snapshots. A Service is read once in an attempt: nobody caches the Services of a cluster."""

    def __init__(
        self, reader: Any, feed: Feed, settings: InformersSettings, account: ServiceAccount, clock: Clock
    ) -> None:
        self._reader = reader
        self._feed = feed
        self._settings = settings
        self._account = account
        self._clock = clock
        self._services: dict[str, Seen[Service]] = {}

    async def __call__(self, name: str, last: Outcome) -> InformerSnapshot:
        found = await self._reader.see(UpdateInformer, name)
        shot = InformerSnapshot(informer=found, account=self._account)
        if not isinstance(found, Present):
            self._services.pop(name, None)
            return shot
        endpoint = await self._endpoint(found.object, last)
        stored = await self._reader.see(UpdateStatus, UPDATE_STATUS)
        status = stored.object.status if isinstance(stored, Present) else UpdateStatusStatus()
        generation, update = found.metadata.generation, asked_update(status)
        if name not in self._feed.heard:
            stood = informed_of(status, now=of_datetime(self._clock.now()))
            self._feed.take_over(name, (told for one in stood if one.name == name for told in one.insights))
        for result in last.results:
            if not isinstance(result.action, RequestToken):
                continue
            if result.error is None:
                self._feed.keep_token(name, result.answer.token)
            else:
                why = f"the API server makes no token for it: {result.error}"
                self._feed.without_token(name, why, generation=generation, update=update)
        if isinstance(endpoint, Denied) and endpoint.reason not in _NOT_OURS:
            self._feed.unasked(name, endpoint.message)
        return structs.replace(
            shot,
            endpoint=endpoint,
            heard=self._feed.heard.get(name),
            update=update,
            wait=self._feed.wait(name, generation=generation, update=update),
            token=self._feed.token(name),
        )

    async def _endpoint(self, informer: UpdateInformer, last: Outcome) -> Endpoint | Denied:
        every = await self._reader.see_all(UpdateInformer)
        readable = every.readable if isinstance(every, Population) else ()
        names = [one.metadata.name for one in candidates(readable, self._settings.namespaces)]
        self._feed.only(names[:MOST_ENABLED])
        name, at = informer.metadata.name, informer.spec.client_config.service
        place = names.index(name) if name in names else len(names)
        if name in names[:MOST_ENABLED] and (not last.results or name not in self._services):
            self._services[name] = await self._reader.see(Service, at.name, namespace=at.namespace)
        return admitted(
            informer,
            self._services.get(name, Absent()),
            place=place,
            namespaces=self._settings.namespaces,
            forbidden=self._settings.forbidden,
        )


def asked_update(status: UpdateStatusStatus) -> AskedUpdate | None:
    """The update that is going on by the UpdateStatus; None: there is none."""
    if status.overview is None or not status.overview.updating or status.control_plane is None:
        return None
    entries = (entry.insight for one in status.control_plane.informers for entry in one.insights)
    version = next((each.cluster_version for each in entries if each.cluster_version), None)
    if version is None or version.versions is None:
        return AskedUpdate()
    previous, target = version.versions.previous, version.versions.target
    new = any(each.key == INSTALLATION for each in previous.metadata)
    return AskedUpdate(previous="" if new else previous.version, target=target.version, started_at=version.started_at)


class _Overview(Struct, frozen=True, gc=False):
    updating: bool = False
    target: str = ""


class _Status(Struct, frozen=True, gc=False):
    overview: _Overview = _Overview()


class Glimpsed(Struct, frozen=True, gc=False):
    """Whether an update is going on, and which: all that a question depends on of an UpdateStatus."""

    status: _Status = _Status()
