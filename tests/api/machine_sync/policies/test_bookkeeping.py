"""What Machine sync writes down on objects, on a real API server."""

import pytest

from windlass.api import capi, mapi
from windlass.machine_sync.constants import (
    AUTHORITY_ANNOTATION,
    MIRRORED_LABELS_ANNOTATION,
    PAUSED_ANNOTATION,
    SYNC_FINALIZER,
)
from windlass.machine_sync.platforms import AWS, OPENSTACK
from windlass.machine_sync.policies.bookkeeping import FORGED, KEPT_FINALIZER, MESSAGE

from .messages import annotation_message
from .policed import Kind, Policed, Tree

MIRRORED = {MIRRORED_LABELS_ANNOTATION: "team=blue"}
KINDS: tuple[Kind, ...] = (
    *(mapi.Machine, mapi.MachineSet, capi.Machine, capi.MachineSet),
    *(OPENSTACK.infra_machine, AWS.infra_machine),
)

CHANGES: list[Tree] = [
    {MIRRORED_LABELS_ANNOTATION: "team=green"},
    {MIRRORED_LABELS_ANNOTATION: ""},
    {MIRRORED_LABELS_ANNOTATION: None},
    {AUTHORITY_ANNOTATION: "MachineAPI"},
    {"sync.machine.openshift.io/new": ""},
]


@pytest.fixture
async def editor(policed: Policed) -> str:
    """Somebody who may read and write all objects of Cluster API, and nothing else."""
    return await policed.may("some-editor", "get", "patch", "update")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.RESOURCE))
async def test_it_is_not_for_users_while_the_object_is_held(policed: Policed, kind: Kind) -> None:
    name = await policed.make(kind, finalizers=[SYNC_FINALIZER], annotations=MIRRORED)
    for change in CHANGES:
        assert await policed.refusal(kind, name, {"metadata": {"annotations": change}}) == MESSAGE, change
    assert await policed.refusal(kind, name, {"metadata": {"annotations": {"own": ""}}}) == ""


async def test_a_mark_without_our_finalizer_binds_nobody(policed: Policed, editor: str) -> None:
    """Anybody may have put it there; Cluster API has to write such a Machine, and its users too."""
    name = await policed.make(capi.Machine, annotations={**MIRRORED, AUTHORITY_ANNOTATION: "MachineAPI"})
    for change in ({"spec": {"providerID": "openstack:///1"}}, {"metadata": {"annotations": {PAUSED_ANNOTATION: ""}}}):
        assert await policed.refusal(capi.Machine, name, change, by=editor) == "", change
    for removed in ({AUTHORITY_ANNOTATION: None}, {AUTHORITY_ANNOTATION: None, MIRRORED_LABELS_ANNOTATION: None}):
        assert await policed.refusal(capi.Machine, name, {"metadata": {"annotations": removed}}, by=editor) == ""


async def test_an_object_is_not_made_to_look_like_a_mirror(policed: Policed, editor: str) -> None:
    """It could then be changed by nobody, and its deletion would not wait for hooks."""
    name = await policed.make(capi.Machine, finalizers=["other.io/f"], annotations=MIRRORED)
    held = ["other.io/f", SYNC_FINALIZER]
    for metadata in (
        {"annotations": {AUTHORITY_ANNOTATION: "MachineAPI"}},
        {"annotations": {MIRRORED_LABELS_ANNOTATION: "team=green"}},
        {"finalizers": held},
        {"finalizers": held, "annotations": {AUTHORITY_ANNOTATION: "MachineAPI", PAUSED_ANNOTATION: ""}},
    ):
        assert await policed.refusal(capi.Machine, name, {"metadata": metadata}, by=editor) == FORGED, metadata
    for harmless in ({"annotations": {"own": "1"}}, {"finalizers": ["other.io/f", "another.io/f"]}):
        assert await policed.refusal(capi.Machine, name, {"metadata": harmless}, by=editor) == ""


async def test_controllers_may_add_and_remove_the_finalizer(policed: Policed, controllers: tuple[str, ...]) -> None:
    name = await policed.make(capi.Machine)
    for user in controllers:
        assert await policed.refusal(capi.Machine, name, {"metadata": {"finalizers": [SYNC_FINALIZER]}}, by=user) == ""


async def test_it_goes_with_the_finalizer_when_the_object_is_let_go(policed: Policed) -> None:
    annotations = {**MIRRORED, AUTHORITY_ANNOTATION: "MachineAPI", "own": "1"}
    name = await policed.make(capi.Machine, finalizers=[SYNC_FINALIZER, "other.io/f"], annotations=annotations)
    released = {AUTHORITY_ANNOTATION: None, MIRRORED_LABELS_ANNOTATION: None}
    for metadata, message in (
        ({"finalizers": ["other.io/f"], "annotations": released}, ""),
        ({"finalizers": ["other.io/f"]}, ""),
        ({"finalizers": ["other.io/f"], "annotations": {AUTHORITY_ANNOTATION: None}}, MESSAGE),
        ({"annotations": released}, MESSAGE),
    ):
        assert await policed.refusal(capi.Machine, name, {"metadata": metadata}) == message, metadata


async def test_who_may_release_may_also_restore_the_record(policed: Policed) -> None:
    name = await policed.make(capi.Machine, annotations=MIRRORED)
    for change in CHANGES:
        assert await policed.refusal(capi.Machine, name, {"metadata": {"annotations": change}}) == "", change


async def test_only_machine_sync_is_exempt(policed: Policed, machine_sync: str, controllers: tuple[str, ...]) -> None:
    name = await policed.make(capi.Machine, finalizers=[SYNC_FINALIZER], annotations=MIRRORED)
    change = {"metadata": {"annotations": CHANGES[0]}}
    assert await policed.refusal(capi.Machine, name, change, by=machine_sync) == ""
    for user in controllers:
        assert await policed.refusal(capi.Machine, name, change, by=user) == MESSAGE, user


async def test_a_mirror_is_not_unpaused_by_two_requests_of_somebody_who_may_not_release_it(
    policed: Policed, editor: str
) -> None:
    """The first would make it an object that nobody protects, the second would set two controllers on one instance."""
    annotations = {**MIRRORED, AUTHORITY_ANNOTATION: "MachineAPI", PAUSED_ANNOTATION: ""}
    name = await policed.make(capi.Machine, finalizers=[SYNC_FINALIZER], annotations=annotations)
    record = {AUTHORITY_ANNOTATION: None, MIRRORED_LABELS_ANNOTATION: None}
    release: Tree = {"finalizers": [], "annotations": record}
    for metadata in (release, {**release, "annotations": {**record, PAUSED_ANNOTATION: None}}):
        assert await policed.refusal(capi.Machine, name, {"metadata": metadata}, by=editor) != "", metadata
    assert await policed.refusal(capi.Machine, name, {"metadata": release}, by=editor) == MESSAGE

    assert await policed.refusal(capi.Machine, name, {"metadata": {"finalizers": []}}, by=editor) == KEPT_FINALIZER
    assert await policed.refusal(capi.Machine, name, {"metadata": {"annotations": record}}, by=editor) == MESSAGE
    unpaused = {"metadata": {"annotations": {PAUSED_ANNOTATION: None}}}
    assert await policed.refusal(capi.Machine, name, unpaused, by=editor) == annotation_message(capi.Machine)


async def test_who_may_release_needs_no_more_than_that(policed: Policed) -> None:
    releaser = await policed.may("some-releaser", "get", "patch", "update", "release")
    name = await policed.make(capi.Machine, finalizers=[SYNC_FINALIZER], annotations=MIRRORED)
    release = {"finalizers": [], "annotations": {MIRRORED_LABELS_ANNOTATION: None}}
    assert await policed.refusal(capi.Machine, name, {"metadata": release}, by=releaser) == ""
