"""Declares the controller of UpdateInformers: what wakes it, and what it may read and write."""

from collections.abc import Iterable
from functools import partial
from typing import Any, Final

from msgspec import Struct

from windlass.api.core import Service
from windlass.api.update import UPDATE_STATUS, UpdateStatus
from windlass.api.update_informer import UpdateInformer
from windlass.capability.manifests.rights import ServiceAccount
from windlass.kube.control.controller import Controller, Watch
from windlass.kube.control.permissions import asks, calls, emits_events, permission, requests_tokens, writes
from windlass.kube.control.plan import Outcome
from windlass.kube.control.population import Population
from windlass.kube.object import Object
from windlass.update_status.informers.admission import MOST_ENABLED
from windlass.update_status.informers.decide import decide
from windlass.update_status.informers.feed import AskInformer, Feed
from windlass.update_status.informers.questions import QUESTIONS, SERVICES, FeedAnswerer, ServiceAnswerer
from windlass.update_status.informers.settings import InformersSettings
from windlass.update_status.informers.snapshot import InformerSnapshot

CONTROLLER: Final = "update-informers"
ALL: Final = "all"
"""Index of all UpdateInformers, under its own name."""


def informers_controller(
    reader: Any, *, feed: Feed, settings: InformersSettings, account: ServiceAccount
) -> Controller[str, InformerSnapshot]:
    """Asks each informer at its interval. Each has a worker, so that a slow one delays no other."""

    async def observe(name: str, last: Outcome) -> InformerSnapshot:
        found = await reader.see_all(UpdateInformer)
        return InformerSnapshot(
            informer=await reader.see(UpdateInformer, name),
            every=tuple(found.readable) if isinstance(found, Population) else (),
            stored=await reader.see(UpdateStatus, UPDATE_STATUS),
            last=last,
        )

    def every(_: Object[Any]) -> Iterable[str]:
        return [found.name for found in reader.known(UpdateInformer, ALL, ALL)]

    return Controller(
        name=CONTROLLER,
        watches=(
            Watch(UpdateInformer, lambda found: [found.name], indexes={ALL: lambda _: [ALL]}),
            Watch(UpdateStatus, every, cache_only=True, when=_update_differs),
        ),
        permissions=(
            writes(UpdateInformer, "patch", subresource="status"),
            permission(Service, "get"),
            requests_tokens(account.name, namespace=account.namespace),
            emits_events(namespace="default"),
            calls(AskInformer),
            asks(*QUESTIONS),
        ),
        answerers={SERVICES: ServiceAnswerer(reader), AskInformer.SYSTEM: FeedAnswerer(reader, feed)},
        observe=observe,
        decide=partial(decide, settings=settings, account=account),
        workers=MOST_ENABLED,
    )


class _Overview(Struct, frozen=True, gc=False):
    state: str = ""
    target: str = ""


class _Status(Struct, frozen=True, gc=False):
    overview: _Overview = _Overview()


class _Glimpsed(Struct, frozen=True, gc=False):
    """Whether an update is going on, and which: all that a question depends on of an UpdateStatus."""

    status: _Status = _Status()


def _update_differs(old: Object[Any] | None, new: Object[Any] | None) -> bool:
    if old is None or new is None:
        return True
    before, after = old.glimpse(_Glimpsed), new.glimpse(_Glimpsed)
    return before is None or after is None or before != after
