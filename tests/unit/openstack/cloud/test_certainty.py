"""What a process forgets of marks that nobody asks about, and what it must look at when they come back."""

from windlass.openstack.cloud.certainty import FORGOTTEN, Knowledge, Need, Times


class Clocked:
    """A process that began to lead at 100 s."""

    def __init__(self, *unsent: str) -> None:
        self.now = 100.0
        self.knowledge = Knowledge(lambda: self.now, Times(request=31.0), set(unsent))
        self.knowledge.begin_term(self.now)


def test_a_doubt_that_was_forgotten_needs_a_list_from_after_that() -> None:
    """The lists of a project that nobody polls may be from before the doubt."""
    process = Clocked()
    process.now = 200.0
    process.knowledge.doubt("m")
    assert process.knowledge.needed("m").since == 200.0
    process.now += FORGOTTEN + 1
    process.knowledge.needed("another")
    assert process.knowledge.needed("m").since == process.now


def test_a_mark_that_is_asked_about_is_not_forgotten() -> None:
    process = Clocked()
    process.now = 200.0
    process.knowledge.doubt("m")
    for _ in range(3):
        process.now += FORGOTTEN - 1
        process.knowledge.needed(f"another at {process.now}")
        assert process.knowledge.needed("m").since == 200.0


def test_as_long_as_nothing_is_forgotten_a_list_of_this_term_is_enough() -> None:
    process = Clocked()
    process.now = 500.0
    assert process.knowledge.needed("m") == Need(since=131.0, certain=131.0)
