"""Twins that users make by hand, on a real API server."""

import pytest

from windlass.api import capi, mapi
from windlass.machine_sync.constants import MACHINE_SET_LABEL, PAUSED_ANNOTATION, SET_NAME_LABEL

from .policed import Kind, Policed, Tree

PAUSED = {PAUSED_ANNOTATION: ""}

# Kind, twin, and how messages call them.
CLUSTER_API: list[tuple[Kind, Kind, str, str]] = [
    (capi.Machine, mapi.Machine, "Machine", "machine"),
    (capi.MachineSet, mapi.MachineSet, "MachineSet", "machine set"),
]
TO_CLUSTER_API = pytest.mark.parametrize(("kind", "twin", "called", "noun"), CLUSTER_API, ids=lambda one: str(one))


def unpaused(name: str, called: str, noun: str) -> str:
    return (
        f"Can't create Cluster API {called} {name} in an un-paused state. Either pause the {noun}, or change the "
        f"authoritative API of the MAPI {noun}: {name}."
    )


def twin_unpaused(name: str, called: str) -> str:
    return (
        f"Can't create Cluster API {called} {name} as a Machine API {called} with status.authoritativeAPI: ClusterAPI "
        "already exists and is not paused."
    )


def status(authority: str, *, paused: str = "") -> Tree:
    condition = {"type": "Paused", "status": paused, "lastTransitionTime": "2026-01-26T01:30:52Z"}
    return {"authoritativeAPI": authority, "conditions": [condition] if paused else []}


@TO_CLUSTER_API
async def test_beside_an_authoritative_twin_it_must_be_paused(
    policed: Policed, kind: Kind, twin: Kind, called: str, noun: str
) -> None:
    name = await policed.make(twin, status=status("MachineAPI", paused="False"))
    await policed.twins_seen(twin)
    assert await policed.creation_refusal(kind, name=name) == unpaused(name, called, noun)
    assert await policed.creation_refusal(kind, name=name, annotations=PAUSED) == ""


@TO_CLUSTER_API
async def test_beside_a_twin_that_is_a_mirror_that_one_must_be_paused(
    policed: Policed, kind: Kind, twin: Kind, called: str, noun: str
) -> None:
    for paused, message in (("True", ""), ("False", "no"), ("", "no")):
        name = await policed.make(twin, {"authoritativeAPI": "ClusterAPI"}, status=status("ClusterAPI", paused=paused))
        await policed.twins_seen(twin)
        expected = message and twin_unpaused(name, called)
        assert await policed.creation_refusal(kind, name=name) == expected, paused
        assert await policed.creation_refusal(kind, name=name, annotations=PAUSED) == expected, paused


@TO_CLUSTER_API
async def test_without_a_twin_of_this_name_it_may_be_as_it_likes(
    policed: Policed, kind: Kind, twin: Kind, called: str, noun: str
) -> None:
    await policed.make(twin, status=status("MachineAPI"))
    await policed.twins_seen(twin)
    assert await policed.creation_refusal(kind, name="nobody-else") == ""


@TO_CLUSTER_API
@pytest.mark.parametrize("authority", ["Migrating", None])
async def test_beside_a_twin_without_a_stable_authority_it_may_be_made(
    policed: Policed, kind: Kind, twin: Kind, called: str, noun: str, authority: str | None
) -> None:
    name = await policed.make(twin, status={"authoritativeAPI": authority} if authority else None)
    await policed.twins_seen(twin)
    assert await policed.creation_refusal(kind, name=name) == ""


async def test_controllers_may_make_what_they_need(
    policed: Policed, machine_sync: str, controllers: tuple[str, ...]
) -> None:
    name = await policed.make(mapi.Machine, status=status("MachineAPI"))
    await policed.twins_seen(mapi.Machine)
    for user in (machine_sync, *controllers):
        assert await policed.creation_refusal(capi.Machine, name=name, by=user) == "", user


async def test_the_label_of_a_set_exempts_no_machine(policed: Policed) -> None:
    """Its author chooses its labels."""
    name = await policed.make(mapi.Machine, status=status("MachineAPI"))
    await policed.twins_seen(mapi.Machine)
    assert await policed.creation_refusal(capi.Machine, name=name, labels={SET_NAME_LABEL: "ms"}) != ""
    name = await policed.make(capi.Machine)
    await policed.twins_seen(capi.Machine)
    assert await policed.creation_refusal(mapi.Machine, name=name, labels={MACHINE_SET_LABEL: "ms"}) != ""


@pytest.mark.parametrize(
    ("kind", "twin", "message"),
    [
        (
            *(mapi.Machine, capi.Machine),
            "Can't create Machine API Machine {name} with authoritativeAPI=MachineAPI because a Cluster API Machine "
            "with the same name already exists.",
        ),
        (
            *(mapi.MachineSet, capi.MachineSet),
            "Can't create Machine API MachineSet {name} with spec.authoritativeAPI: MachineAPI because a Cluster API "
            "MachineSet with the same name already exists.",
        ),
    ],
    ids=lambda one: str(one)[:40],
)
async def test_in_the_machine_api_it_must_be_a_mirror_of_what_cluster_api_has(
    policed: Policed, kind: Kind, twin: Kind, message: str, machine_sync: str
) -> None:
    name = await policed.make(twin)
    await policed.twins_seen(twin)
    assert await policed.creation_refusal(kind, name=name) == message.format(name=name)
    assert await policed.creation_refusal(kind, {"authoritativeAPI": "ClusterAPI"}, name=name) == ""
    assert await policed.creation_refusal(kind, name="nobody-else") == ""
    assert await policed.creation_refusal(kind, name=name, by=machine_sync) == ""
