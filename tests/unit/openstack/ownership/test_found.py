"""Stories of one object and its copies, moves and restores, and those that the property found (numbers: `people`)."""

import pytest

from .people import play

SERVER, MACHINE, OF_MACHINE_API, CLUSTER = range(4)
"""What `create` makes."""
NAMING, BARE, IN_OWN_PLACE, BY_ID = 1, 1, 2, 3
"""How something is copied, and forged."""
ELSEWHERE = 2
"""In the other management cluster."""


@pytest.mark.parametrize("kind", [SERVER, MACHINE, OF_MACHINE_API, CLUSTER])
@pytest.mark.parametrize("deleted", [0, 1], ids=["the original is deleted", "the copy is deleted"])
def test_a_copy_gets_its_own_and_the_deletion_of_either_leaves_the_other(kind: int, deleted: int) -> None:
    play([("create", 0, kind, 0), ("copy", 0, 0, 0), ("delete", deleted, 0, 0)])


@pytest.mark.parametrize("kind", [SERVER, MACHINE, OF_MACHINE_API])
def test_a_copy_that_names_the_server_says_whose_it_is_and_its_deletion_leaves_the_server(kind: int) -> None:
    play([("create", 0, kind, 0), ("copy", 0, NAMING, 0), ("delete", 1, 0, 0)])


@pytest.mark.parametrize("kind", [SERVER, MACHINE, OF_MACHINE_API, CLUSTER])
def test_what_is_moved_is_taken_over_and_the_move_back_as_well(kind: int) -> None:
    play([("create", 0, kind, 0), ("move", 0, 0, 0), ("move", 0, 1, 0), ("delete", 0, 0, 0)])


@pytest.mark.parametrize("kind", [SERVER, MACHINE, OF_MACHINE_API, CLUSTER])
@pytest.mark.parametrize("status", [0, 1], ids=["without status", "with status"])
def test_what_is_restored_is_taken_over(kind: int, status: int) -> None:
    play([("create", 0, kind, 0), ("lose", 0, 0, 0), ("restore", 0, status, 0), ("delete", 0, 0, 0)])


@pytest.mark.parametrize("kind", [SERVER, MACHINE, OF_MACHINE_API, CLUSTER])
def test_of_two_management_clusters_the_one_in_which_it_was_restored_last_has_it(kind: int) -> None:
    play([("create", 0, kind, 0), ("backup", 0, 0, 0), ("restore", 0, 0, ELSEWHERE), ("install", 0, 1, 0)])


@pytest.mark.parametrize("kind", [SERVER, MACHINE, CLUSTER])
def test_what_is_restored_in_another_namespace_waits_until_somebody_confirms_it(kind: int) -> None:
    play([("create", 0, kind, 0), ("lose", 0, 0, 0), ("restore", 0, 0, 1), ("confirm", 0, 0, 0), ("delete", 0, 0, 0)])


# What the property found


def test_a_copied_machine_cannot_hand_over_the_server_of_the_original() -> None:
    """The original is being deleted by nobody, because its cluster is without us; its copy is in the other cluster."""
    copied = ("rename", 0, NAMING, ELSEWHERE)
    play([("create", 0, OF_MACHINE_API, 0), ("uninstall", 0, 0, 0), copied, ("hand", 0, 0, 0), ("install", 0, 0, 0)])


def test_a_machine_does_not_take_the_server_of_an_openstackserver_of_its_name_in_another_management_cluster() -> None:
    play([("create", 0, SERVER, 0), ("forge", 0, BY_ID, ELSEWHERE + 1)])


@pytest.mark.parametrize("kind", [SERVER, OF_MACHINE_API, CLUSTER])
@pytest.mark.parametrize("how", [BARE, IN_OWN_PLACE], ids=["the root alone", "the root in its own place"])
def test_who_takes_the_root_of_a_mark_does_not_stop_its_owner(kind: int, how: int) -> None:
    play([("create", 0, kind, 0), ("forge", 0, how, 0)])


@pytest.mark.parametrize("how", [BARE, IN_OWN_PLACE], ids=["the root alone", "the root in its own place"])
@pytest.mark.parametrize("where", [0, ELSEWHERE], ids=["here", "in the other management cluster"])
def test_who_forges_the_mark_of_an_earlier_version_gets_nothing_of_its_server(how: int, where: int) -> None:
    play([("create", 0, SERVER, 0), ("earlier", 0, 0, 0), ("forge", 0, how, where), ("install", 0, 1, 0)])


@pytest.mark.parametrize("kind", [SERVER, OF_MACHINE_API, CLUSTER])
@pytest.mark.parametrize("first", [0, 1], ids=["the cluster of the copy", "the cluster of the original"])
def test_a_copy_of_an_object_of_an_earlier_version_in_the_other_management_cluster_takes_nothing(
    first: int, kind: int
) -> None:
    earlier, copied = ("earlier", 0, 0, 0), ("copy", 0, 0, ELSEWHERE)
    play([("create", 0, kind, ELSEWHERE), earlier, copied, ("install", 0, 0, first), ("delete", 1, 0, 0)])


@pytest.mark.parametrize("kind", [SERVER, OF_MACHINE_API, CLUSTER])
def test_what_was_made_elsewhere_after_the_last_list_is_taken_over_and_not_made_again(kind: int) -> None:
    before = [("create", 0, kind, 0), ("delete", 0, 0, 0)]
    play([*before, ("create", 0, kind, ELSEWHERE), ("move", 0, 0, 0)])


def test_a_confirmed_machine_of_the_machine_api_takes_the_server_over() -> None:
    play([("create", 0, OF_MACHINE_API, 0), ("copy", 0, 0, ELSEWHERE), ("confirm", 0, 0, 0), ("delete", 1, 0, 0)])


@pytest.mark.parametrize("back", [False, True], ids=["handed over", "and back"])
def test_a_machine_that_was_restored_in_another_cluster_keeps_its_server_when_it_is_handed_over_there(
    back: bool,
) -> None:
    restored = [("create", 0, OF_MACHINE_API, 0), ("backup", 0, 0, 0), ("restore", 0, 0, ELSEWHERE)]
    play([*restored, ("hand", 1, 0, 0), *([("hand", 1, 0, 0)] if back else [])])


def test_copies_of_an_object_of_an_earlier_version_take_nothing_of_it_after_it_was_moved() -> None:
    copied = [("uninstall", 0, 0, 0), ("copy", 0, 0, 0), ("copy", 0, 0, 0)]
    play([("create", 0, SERVER, 0), *copied, ("move", 0, 0, 0), ("earlier", 0, 1, 0)])


def test_a_confirmed_object_that_is_moved_before_it_took_the_server_over_takes_it_over_there() -> None:
    lost = [("uninstall", 0, 0, 0), ("copy", 0, 0, 0), ("force", 0, 0, 0)]
    play([("create", 0, SERVER, 0), *lost, ("confirm", 0, 0, 0), ("move", 0, 0, 0)])


@pytest.mark.parametrize("kind", [SERVER, OF_MACHINE_API])
def test_a_server_that_is_being_deleted_while_the_program_is_upgraded_goes_with_its_ports(kind: int) -> None:
    play([("create", 0, kind, 0), ("hurry", 0, 1, 0), ("delete", 0, 0, 0), ("earlier", 0, 1, 0)])
