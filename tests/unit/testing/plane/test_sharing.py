"""Several processes, one plane: who asks gets the same answer, also when there is no plane to be had."""

from pathlib import Path

import pytest

from windlass.testing import BlockingControlPlane
from windlass.testing.binaries import UnusableAssets
from windlass.testing.plane.errors import PlaneError, StartFailed
from windlass.testing.plane.sharing import ask, shared_plane


def test_an_asker_is_told_why_the_plane_cannot_start(tmp_path: Path) -> None:
    shared = shared_plane(lambda options: BlockingControlPlane(assets=tmp_path, **options))
    try:
        address = shared.serve()
        for _ in range(2):
            with pytest.raises(StartFailed, match=f"{tmp_path} holds no executable etcd and no kube-apiserver"):
                ask(address, {})
        with pytest.raises(UnusableAssets):
            shared.start({})
    finally:
        shared.close()


def test_a_plane_that_nobody_asked_for_is_never_started(tmp_path: Path) -> None:
    shared = shared_plane(lambda options: BlockingControlPlane(directory=tmp_path / "plane", **options))
    address = shared.serve()
    shared.close()
    assert not Path(address).exists()
    assert not (tmp_path / "plane").exists()


def test_who_asks_for_other_options_than_the_first_is_refused(tmp_path: Path) -> None:
    shared = shared_plane(lambda options: BlockingControlPlane(assets=tmp_path, **options))
    with pytest.raises(UnusableAssets):
        shared.start({"controller_manager": False})
    with pytest.raises(PlaneError, match=r'started with the options \{"controller_manager": false\}.*one value'):
        shared.start({})


def test_an_option_that_does_not_exist_is_named_to_the_asker() -> None:
    shared = shared_plane(lambda options: BlockingControlPlane(**options))
    try:
        with pytest.raises(StartFailed, match="unexpected keyword argument 'kontroller'"):
            ask(shared.serve(), {"kontroller": True})
    finally:
        shared.close()
