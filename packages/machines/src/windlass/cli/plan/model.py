"""Builds a model of a cluster from objects in files."""

import sys
from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any

from windlass.api.core import Event
from windlass.capability.conventions import complaints
from windlass.capability.documents import read_inputs
from windlass.capability.planning import Given, Planner, Scope, take_in
from windlass.capability.planning.fields import shown
from windlass.model import MemoryApi
from windlass.model.checks import EVENT
from windlass.model.schema import Rules


def read(sources: Sequence[str], planners: Sequence[Planner]) -> list[Given] | None:
    """The objects in `sources` that each capability reads; None if anything is wrong, after the error was printed."""
    interest = reduce(or_, (planner.interest for planner in planners))
    documents, problems = read_inputs(sources, stdin=sys.stdin.buffer, interest=interest)
    for text in problems:
        complaints.say("error", text)
    taken = [take_in(documents, planner.scope) for planner in planners]
    for text in dict.fromkeys(text for given in taken for text in given.notes):
        complaints.say("note", text)
    for text in dict.fromkeys(text for given in taken for text in given.errors):
        complaints.say("error", text)
    return None if problems or any(given.errors for given in taken) else taken


def model(given: Given, scope: Scope, *, rules: Iterable[Rules], clock: Callable[[], datetime]) -> MemoryApi:
    """An API server in memory with these objects as it would store them, including uids and versions.

    `rules`: those of kinds in `scope` that an open spec and status would not do for.
    """
    api = MemoryApi(*scope.kinds, Rules(Event, checks=(EVENT,)), *rules, clock=clock)
    api.load(*map(_stored, given.trees))
    return api


def _stored(tree: dict[str, Any]) -> dict[str, Any]:
    """The object as an API server stores it: `stringData` of a Secret becomes `data`."""
    text = tree.get("stringData")
    if (tree.get("apiVersion"), tree.get("kind")) != ("v1", "Secret") or not isinstance(text, dict):
        return tree
    encoded = {key: b64encode(str(value).encode()).decode() for key, value in text.items()}
    rest = {name: value for name, value in tree.items() if name != "stringData"}
    return {**rest, "data": {**(tree.get("data") or {}), **encoded}}


def changed(api: MemoryApi, *, since: int) -> list[dict[str, Any]]:
    """The objects that were written after the model's version `since`, in their present state.

    Events are left out, and so is the data of Secrets.
    """
    written = {
        (change.kind, change.tree["metadata"].get("namespace"), change.tree["metadata"]["name"]): None
        for change in api.changes_since(since)
        if change.kind is not Event
    }
    there = (api.peek(kind, name, namespace=namespace) for kind, namespace, name in written)
    return [shown(found) for found in there if found is not None]
