"""Our own writes, coming back through a watch: no news to their writer, news to everybody else."""

from windlass.kube.control.echoes import REMEMBERED, Echoes
from windlass.kube.object import Object
from windlass.testing.scripted import Widget


def widget(version: int, *, uid: str = "u1") -> Object[Widget]:
    return Object.of(Widget, {"metadata": {"name": "a", "uid": uid, "resourceVersion": str(version)}})


def test_the_echo_of_a_write_does_not_wake_its_writer() -> None:
    echoes: Echoes[str] = Echoes()
    echoes.expect("a", widget(5))
    assert echoes.holds("a", widget(5))


def test_it_wakes_every_other_key() -> None:
    echoes: Echoes[str] = Echoes()
    echoes.expect("a", widget(5))
    assert not echoes.holds("b", widget(5))


def test_what_another_wrote_wakes_and_so_does_an_object_of_the_same_version_number() -> None:
    echoes: Echoes[str] = Echoes()
    echoes.expect("a", widget(5))
    assert not echoes.holds("a", widget(6))
    assert not echoes.holds("a", widget(5, uid="u2"))


def test_an_object_that_is_gone_always_wakes() -> None:
    echoes: Echoes[str] = Echoes()
    echoes.begin("a")
    assert not echoes.holds("a", None)


def test_an_echo_that_comes_before_the_answer_is_no_news() -> None:
    echoes: Echoes[str] = Echoes()
    echoes.begin("a")
    assert echoes.holds("a", widget(5))
    echoes.expect("a", widget(5))
    assert not echoes.end("a")


def test_what_another_wrote_while_the_key_was_in_work_wakes_it_at_the_end() -> None:
    echoes: Echoes[str] = Echoes()
    echoes.begin("a")
    assert echoes.holds("a", widget(5))
    echoes.expect("a", widget(6))
    assert echoes.end("a")
    assert not echoes.holds("a", widget(5)), "and only what comes while it is in work is kept"


def test_only_so_many_writes_are_remembered() -> None:
    echoes: Echoes[str] = Echoes()
    for version in range(1, REMEMBERED + 2):
        echoes.expect("a", widget(version))
    assert not echoes.holds("a", widget(1))
    assert echoes.holds("a", widget(2))
