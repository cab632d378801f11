"""Labels and annotations of a mirror: those of the authority are copied and removed, those of others stay.

Two annotations on a mirror record which labels and annotations we copied. So when the authority drops one, we know
whether it is ours:

| on the mirror | recorded | the authority has it | then |
|---|---|---|---|
| any value | | yes | gets the authority's value, and is recorded |
| yes | yes | no | is removed |
| yes | no | no | stays: somebody else set it |
| any value | | | stays while another controller keeps writing this key: `Claimed` |

Owner references are replaced whole.
"""

from collections.abc import Container, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from windlass.api.meta import OwnerReference, tree
from windlass.machine_sync.constants import (
    AUTHORITY_ANNOTATION,
    MACHINE_API,
    MIRRORED_ANNOTATIONS_ANNOTATION,
    MIRRORED_LABELS_ANNOTATION,
    PAUSED_ANNOTATION,
)

Tree = Mapping[str, Any]

_NONE: frozenset[str] = frozenset()


class Claimed(Struct, frozen=True):
    """Keys of labels and annotations that another controller writes to the mirror again and again.

    Their values on the mirror stay. The record of such a key stays too, so that the key is removed when neither the
    authority nor the other controller has it any more.
    """

    labels: frozenset[str] = _NONE
    annotations: frozenset[str] = _NONE


NOTHING_CLAIMED = Claimed()

MARKS: Final = {PAUSED_ANNOTATION: "", AUTHORITY_ANNOTATION: MACHINE_API}
"""Annotations of a Machine or MachineSet of Cluster API while it is the mirror."""

COMPARED = ("labels", "annotations", "ownerReferences")
"""The metadata that is copied to a mirror."""


def compared(metadata: Tree) -> dict[str, Any]:
    """The part of an object's metadata, as the API server sent it, by which mirrors are compared."""
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
    """The desired result of `compared`. `observed` is the mirror's metadata, empty if the mirror is to be created.

    `labels`, `annotations` and `owners` are those of the authority, converted. `marks` are annotations about the mirror
    itself; `claimed` are keys that another controller writes.
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
