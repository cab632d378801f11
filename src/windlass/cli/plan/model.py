"""A model of a cluster with the objects of files in it."""

import sys
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from windlass.api import mapi
from windlass.api.core import Event
from windlass.api.meta import KubernetesObject
from windlass.cli import complaints
from windlass.machine_sync.constants import Namespaces
from windlass.machine_sync.documents import Document, Unreadable, read_path, read_stream
from windlass.machine_sync.planning.deciders import kinds
from windlass.machine_sync.planning.given import Given, take_in
from windlass.testing.memory import MemoryApi
from windlass.testing.memory.checks import EVENT, machine_api
from windlass.testing.memory.schema import Rules

STDIN = "-"


def read(sources: Sequence[str], places: Namespaces) -> Given | None:
    """The objects in `sources`; None if anything cannot be read, which has been said then."""
    documents: list[Document] = []
    readable = True
    for source in sources:
        try:
            documents += read_stream(sys.stdin.buffer) if source == STDIN else read_path(Path(source))
        except Unreadable as problem:
            readable = False
            complaints.say("error", str(problem))
    given = take_in(documents, places)
    for text in given.notes:
        complaints.say("note", text)
    for text in given.errors:
        complaints.say("error", text)
    return given if readable and not given.errors else None


def model(given: Given, *, clock: Callable[[], datetime]) -> MemoryApi:
    """An API server in memory that holds the objects as they are, uids and versions included."""
    api = MemoryApi(*map(_rules, kinds()), clock=clock)
    api.load(*given.trees)
    return api


def changed(api: MemoryApi, *, since: int) -> list[dict[str, Any]]:
    """The objects that were written after the model's version was `since`, as they are now. Events are left out."""
    written = {
        (change.kind, change.tree["metadata"].get("namespace"), change.tree["metadata"]["name"]): None
        for change in api.changes_since(since)
        if change.kind is not Event
    }
    there = (api.peek(kind, name, namespace=namespace) for kind, namespace, name in written)
    return [found.tree() for found in there if found is not None]


def _rules(kind: type[KubernetesObject]) -> Rules:
    if kind in (mapi.Machine, mapi.MachineSet):
        return machine_api(kind)
    return Rules(kind, checks=(EVENT,)) if kind is Event else Rules(kind)
