"""The Kubernetes version that is asked for: there, or refused with the remedy."""

from pathlib import Path

import pytest

from windlass.testing.binaries import UnusableAssets, obtain, versions
from windlass.testing.binaries.parts import KUBERNETES_VERSION


@pytest.fixture
def given(tmp_path: Path) -> dict[str, Path]:
    """A folder with a kube-apiserver that says it is v1.35.2."""
    program = tmp_path / "kube-apiserver"
    program.write_text("#!/bin/sh\necho Kubernetes v1.35.2\n")
    program.chmod(0o755)
    (tmp_path / "etcd").touch(mode=0o755)
    return {"kube-apiserver": program}


@pytest.mark.parametrize("wanted", ["1.35", "v1.35", "1.35.2", "v1.35.2"])
def test_a_version_is_written_with_or_without_v_and_patch(given: dict[str, Path], wanted: str) -> None:
    versions.check(wanted, given, controller_manager=False)


@pytest.mark.parametrize("wanted", ["1.34", "1.35.1", "1.3"])
def test_a_folder_of_another_version_is_refused(given: dict[str, Path], wanted: str, tmp_path: Path) -> None:
    with pytest.raises(UnusableAssets, match=rf"Kubernetes {wanted} is wanted, and {tmp_path} holds v1\.35\.2"):
        versions.check(wanted, given, controller_manager=False)


@pytest.mark.parametrize("wanted", ["latest", "1", "1.35.x", "1.35.2.1", ""])
def test_what_is_no_version_is_refused(wanted: str) -> None:
    with pytest.raises(UnusableAssets, match=r"is not a version: write it like 1\.35"):
        versions.check(wanted, {}, controller_manager=True)


def test_the_pinned_version_can_be_asked_for_without_a_folder() -> None:
    versions.check(KUBERNETES_VERSION, {}, controller_manager=True)


def test_a_version_that_cannot_be_built_is_refused_with_the_pinned_one_and_the_remedy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    with pytest.raises(
        UnusableAssets, match=rf"only {KUBERNETES_VERSION}, .*setup-envtest use 1\.35.*--windlass-assets"
    ):
        obtain(kubernetes="1.35")


def test_a_controller_manager_newer_than_the_api_server_is_not_mixed_in(given: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(
        UnusableAssets, match=r"no kube-controller-manager, .*or make the plane with controller_manager=F"
    ):
        obtain(assets=tmp_path, kubernetes="1.35")


def test_a_program_that_cannot_run_is_named(tmp_path: Path) -> None:
    (tmp_path / "kube-apiserver").write_text("not a program")
    with pytest.raises(
        UnusableAssets, match=r"kube-apiserver --version failed: .*put a program for this machine there"
    ):
        versions.version_of(tmp_path / "kube-apiserver")
