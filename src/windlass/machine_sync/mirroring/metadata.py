"""Labels and annotations of a mirror: what the authority has appears and goes, what others put there stays.

A mirror remembers in two annotations of its own which labels and annotations the sync gave it. So when the authority
drops one, it is known whose it is:

| on the mirror | remembered | the authority has it | then |
|---|---|---|---|
| any value | | yes | gets the authority's value, and is remembered |
| yes | yes | no | goes |
| yes | no | no | stays: somebody else put it there |
| any value | | | stays while somebody else keeps writing this key: `Claimed` |

Owner references are replaced whole.
"""

from collections.abc import Container, Mapping, Sequence
from typing import Any

from msgspec import Struct

from windlass.api.meta import OwnerReference, tree
from windlass.machine_sync.constants import (
    MIRRORED_ANNOTATIONS_ANNOTATION,
    MIRRORED_LABELS_ANNOTATION,
)

Tree = Mapping[str, Any]

_NONE: frozenset[str] = frozenset()


class Claimed(Struct, frozen=True):
    """Keys of labels and annotations that another controller writes to the mirror again and again.

    Their values on the mirror stay. What the sync gave under such a key stays remembered, so that it goes when neither
    the authority nor the other controller has it any more.
    """

    labels: frozenset[str] = _NONE
    annotations: frozenset[str] = _NONE


NOTHING_CLAIMED = Claimed()

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
    claimed: Claimed = NOTHING_CLAIMED,
) -> dict[str, Any]:
    """What `compared` should give: `observed` is the mirror's metadata, empty for one that is to be created.

    `labels`, `annotations` and `owners` are those of the authority, converted. `marks` are annotations that say
    something about the mirror itself; `claimed` is what somebody else keeps there.
    """
    labels_before: Tree = observed.get("labels") or {}
    annotations_before: Tree = observed.get("annotations") or {}
    remembered_labels = _remembered(annotations_before.get(MIRRORED_LABELS_ANNOTATION))
    remembered_annotations = _remembered(annotations_before.get(MIRRORED_ANNOTATIONS_ANNOTATION))
    their_labels = _only(labels_before, claimed.labels)
    their_annotations = _only(annotations_before, claimed.annotations)
    noted_labels = {**_only(remembered_labels, their_labels), **labels}
    noted_annotations = {**_only(remembered_annotations, their_annotations), **annotations}
    memory = {
        MIRRORED_LABELS_ANNOTATION: ",".join(f"{key}={noted_labels[key]}" for key in sorted(noted_labels)),
        MIRRORED_ANNOTATIONS_ANNOTATION: ",".join(sorted(noted_annotations)),
    }
    desired = {
        "labels": {**_without(labels_before, remembered_labels), **labels, **their_labels},
        "annotations": {
            **_without(annotations_before, {*remembered_annotations, *memory}),
            **annotations,
            **(marks or {}),
            **their_annotations,
            **{key: value for key, value in memory.items() if value},
        },
        "ownerReferences": tree(owners),
    }
    return {key: value for key, value in desired.items() if value}


def _remembered(note: str | None) -> dict[str, str]:
    """The keys in a list of keys or of `key=value`, with the values; empty where there is none."""
    return {key: value for key, _, value in (item.partition("=") for item in (note or "").split(",")) if key}


def _only(values: Mapping[str, str], keys: Container[str]) -> dict[str, str]:
    return {key: value for key, value in values.items() if key in keys}


def _without(values: Mapping[str, str], keys: Container[str]) -> dict[str, str]:
    return {key: value for key, value in values.items() if key not in keys}
