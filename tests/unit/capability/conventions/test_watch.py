"""How often `--watch` looks, and what it leaves on a terminal."""

import pytest

from windlass.capability.conventions.watch import InPlace, pause_after


@pytest.mark.parametrize(("took", "pause"), [(0.01, 2), (0.5, 5), (30, 60)])
def test_large_clusters_are_looked_at_less_often(took: float, pause: float) -> None:
    assert pause_after(took, shortest=2.0) == pause


def test_the_last_text_stays_when_the_watch_ends(capsys: pytest.CaptureFixture[str]) -> None:
    shown = InPlace()
    shown.show("one\ntwo")
    shown.show("three")
    shown.close()

    assert capsys.readouterr().out.splitlines()[-1].strip() == "three"
