"""Declares the controller of UpdateInformers: what wakes it, and what it may read and write."""

from collections.abc import Iterable
from typing import Any, Final

from windlass.api.core import Service
from windlass.api.update import UpdateStatus
from windlass.api.update_informer import UpdateInformer
from windlass.capability.manifests.rights import ServiceAccount
from windlass.kube.clock import Clock, SystemClock
from windlass.kube.control.controller import Controller, Watch
from windlass.kube.control.permissions import calls, emits_events, permission, requests_tokens, writes
from windlass.kube.object import Object
from windlass.update_status.informers.admission import MOST_ENABLED
from windlass.update_status.informers.decide import decide
from windlass.update_status.informers.feed import AskInformer, Feed
from windlass.update_status.informers.observe import Glimpsed, InformerObserver
from windlass.update_status.informers.settings import InformersSettings
from windlass.update_status.informers.snapshot import InformerSnapshot

CONTROLLER: Final = "update-informers"
ALL: Final = "all"
"""Index of all UpdateInformers, under its own name."""


def informers_controller(
    reader: Any, *, feed: Feed, settings: InformersSettings, account: ServiceAccount, clock: Clock | None = None
) -> Controller[str, InformerSnapshot]:
    """Asks each informer at its interval. Each has a worker, so that a slow one delays no other."""

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
        ),
        observe=InformerObserver(reader, feed, settings, account, clock or SystemClock()),
        decide=decide,
        workers=MOST_ENABLED,
    )


def _update_differs(old: Object[Any] | None, new: Object[Any] | None) -> bool:
    if old is None or new is None:
        return True
    before, after = old.glimpse(Glimpsed), new.glimpse(Glimpsed)
    return before is None or after is None or before != after
