"""Labels and annotations of a mirror: what the authority has appears and goes, what others put there stays.

A mirror remembers in two annotations of its own which labels and annotations the sync gave it. So when the authority
drops one, it is known whose it is:

| on the mirror | remembered | the authority has it | then |
|---|---|---|---|
| any value | | yes | gets the authority's value, and is remembered |
| yes | yes | no | goes |
| yes | no | no | stays: somebody else put it there |

Owner references are replaced whole.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from windlass.api.meta import OwnerReference, tree
from windlass.machine_sync.constants import (
    MIRRORED_ANNOTATIONS_ANNOTATION,
    MIRRORED_LABELS_ANNOTATION,
)

Tree = Mapping[str, Any]

COMPARED = ("labels", "annotations", "ownerReferences")
"""The metadata that a mirror takes over."""


def compared(metadata: Tree) -> dict[str, Any]:
    """Of the metadata of an object, as the API server sent it, what a mirror's is compared by."""
    return {key: metadata[key] for key in COMPARED if metadata.get(key)}


def mirrored(
    observed: Tree,
    *,
    labels: Mapping[str, str],
    annotations: Mapping[str, str],
    owners: Sequence[OwnerReference],
    marks: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """What `compared` should give: `observed` is the mirror's metadata, empty for one that is to be created.

    `labels`, `annotations` and `owners` are those of the authority, converted. `marks` are annotations that say
    something about the mirror itself.
    """
    before: Tree = observed.get("annotations") or {}
    memory = {
        MIRRORED_LABELS_ANNOTATION: ",".join(f"{key}={labels[key]}" for key in sorted(labels)),
        MIRRORED_ANNOTATIONS_ANNOTATION: ",".join(sorted(annotations)),
    }
    put_there = _keys(before.get(MIRRORED_LABELS_ANNOTATION)), _keys(before.get(MIRRORED_ANNOTATIONS_ANNOTATION))
    kept_labels = _without(observed.get("labels") or {}, put_there[0])
    kept_annotations = _without(before, (*put_there[1], *memory))
    desired = {
        "labels": {**kept_labels, **labels},
        "annotations": {
            **kept_annotations,
            **annotations,
            **(marks or {}),
            **{key: value for key, value in memory.items() if value},
        },
        "ownerReferences": tree(owners),
    }
    return {key: value for key, value in desired.items() if value}


def _keys(remembered: str | None) -> list[str]:
    """The keys in a list of keys or of `key=value`."""
    return [item.partition("=")[0] for item in remembered.split(",")] if remembered else []


def _without(values: Mapping[str, str], keys: Iterable[str]) -> dict[str, str]:
    dropped = set(keys)
    return {key: value for key, value in values.items() if key not in dropped}
