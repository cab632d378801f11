"""Several processes, one plane: who asks gets the same answer, also when there is no plane to be had."""

from pathlib import Path

import pytest

from windlass.testing import BlockingControlPlane
from windlass.testing.binaries import UnusableAssets
from windlass.testing.plane.errors import StartFailed
from windlass.testing.plane.sharing import SharedPlane, ask


def test_an_asker_is_told_why_the_plane_cannot_start(tmp_path: Path) -> None:
    shared = SharedPlane(BlockingControlPlane(assets=tmp_path))
    try:
        address = shared.serve()
        for _ in range(2):
            with pytest.raises(StartFailed, match=f"{tmp_path} holds no executable etcd and no kube-apiserver"):
                ask(address)
        with pytest.raises(UnusableAssets):
            shared.start()
    finally:
        shared.close()


def test_a_plane_that_nobody_asked_for_is_never_started(tmp_path: Path) -> None:
    shared = SharedPlane(BlockingControlPlane(directory=tmp_path / "plane"))
    address = shared.serve()
    shared.close()
    assert not Path(address).exists()
    assert not (tmp_path / "plane").exists()
