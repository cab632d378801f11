"""The search for programs: the user's folder, the cache, a build; each only for what the one before lacks."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from windlass.kube.folders import cache_folder
from windlass.testing.binaries import (
    CLUSTER_API,
    CORE_PARTS,
    ETCD,
    KUBERNETES,
    BuildFailed,
    Cache,
    NotEnoughCapacity,
    Part,
    Platform,
    UnusableAssets,
    capacity,
    fill,
    obtain,
)
from windlass.testing.binaries.obtain import ASSETS_VARIABLE

from .conftest import put

HERE = Platform.here()


@pytest.fixture(autouse=True)
def no_assets_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ASSETS_VARIABLE, raising=False)


@pytest.fixture
def toolchain(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where this machine has no Go, let the toolchain of the real cache serve instead of loading another.

    How much room there is for a real build at this moment does not matter.
    """
    monkeypatch.setattr(capacity, "DISK", 0)
    monkeypatch.setattr(capacity, "MEMORY", 0)
    cache.root.mkdir(parents=True, exist_ok=True)
    (cache.root / ".tools").symlink_to(cache_folder("control-plane") / ".tools")


@pytest.fixture
def assets(tmp_path: Path) -> Path:
    folder = tmp_path / "assets"
    folder.mkdir()
    for name in ("etcd", "kube-apiserver"):
        (folder / name).touch(mode=0o755)
    return folder


def test_what_is_cached_is_used_without_a_word(cache: Cache, said: list[str]) -> None:
    etcd, kubernetes = put(cache, ETCD, "etcd"), put(cache, KUBERNETES, "kube-apiserver", "kube-controller-manager")
    found = obtain(CORE_PARTS, cache=cache, report=said.append)
    assert found.programs == {
        "etcd": etcd / "etcd",
        "kube-apiserver": kubernetes / "kube-apiserver",
        "kube-controller-manager": kubernetes / "kube-controller-manager",
    }
    assert said == []


def test_the_users_programs_win_and_the_cache_provides_the_rest(cache: Cache, assets: Path, said: list[str]) -> None:
    kubernetes = put(cache, KUBERNETES, "kube-apiserver", "kube-controller-manager")
    found = obtain(CORE_PARTS, assets=assets, cache=cache, report=said.append)
    assert found.program("etcd") == assets / "etcd"
    assert found.program("kube-apiserver") == assets / "kube-apiserver"
    assert found.program("kube-controller-manager") == kubernetes / "kube-controller-manager"


def test_the_variable_of_envtest_is_understood(
    cache: Cache, assets: Path, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ASSETS_VARIABLE, str(assets))
    assert obtain([ETCD], cache=cache, report=said.append).program("etcd") == assets / "etcd"


def test_crds_come_with_the_part_that_has_them(cache: Cache, said: list[str]) -> None:
    folder = put(cache, CLUSTER_API, "cluster-api-core")
    assert obtain([CLUSTER_API], cache=cache, report=said.append).crds == {"cluster-api": folder / "crds"}


def test_a_folder_without_the_programs_is_refused_by_name(cache: Cache, assets: Path, said: list[str]) -> None:
    (assets / "kube-apiserver").chmod(0o644)
    with pytest.raises(UnusableAssets, match="holds no executable kube-apiserver: put it there"):
        obtain(CORE_PARTS, assets=assets, cache=cache, report=said.append)


def test_a_folder_that_does_not_exist_is_refused_by_name(
    cache: Cache, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ASSETS_VARIABLE, "/no/such/folder")
    with pytest.raises(UnusableAssets, match="KUBEBUILDER_ASSETS /no/such/folder is not a folder"):
        obtain(CORE_PARTS, cache=cache, report=said.append)


def test_a_program_that_nobody_asked_for_is_missed_by_name(cache: Cache, said: list[str]) -> None:
    put(cache, ETCD, "etcd")
    with pytest.raises(UnusableAssets, match="no program kubectl among the assets, which hold etcd"):
        obtain([ETCD], cache=cache, report=said.append).program("kubectl")


@pytest.mark.usefixtures("toolchain")
def test_what_is_nowhere_is_built_once_and_go_leaves_nothing_behind(cache: Cache, part: Part, said: list[str]) -> None:
    folder = fill([part], target=HERE, cache=cache, report=said.append)["formatter"]
    assert os.access(folder / "gofmt", os.X_OK)
    assert sorted(entry.name for entry in cache.root.iterdir()) == sorted([folder.name, ".lock", ".tools"])
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755
    assert any("compiling gofmt" in line for line in said)

    said.clear()
    assert fill([part], target=HERE, cache=cache, report=said.append) == {"formatter": folder}
    assert said == []


@pytest.mark.usefixtures("toolchain")
def test_a_failed_build_shows_what_go_said_and_leaves_nothing_in_the_cache(
    cache: Cache, make_part: Callable[..., Part], said: list[str]
) -> None:
    broken = make_part(package="cmd/no-such-command")
    with pytest.raises(BuildFailed, match=r"(?s)no-such-command.*GOPROXY.*KUBEBUILDER_ASSETS"):
        fill([broken], target=HERE, cache=cache, report=said.append)
    assert cache.find(broken, HERE) is None
    assert not list(cache.root.glob(".incoming-*"))


def test_too_little_disk_is_said_before_anything_is_built(
    cache: Cache, part: Part, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capacity, "DISK", 1 << 60)
    with pytest.raises(
        NotEnoughCapacity, match=r"needs 1073741824\.0 GiB of free disk and .* has .* GiB: free some, set XDG"
    ):
        fill([part], target=HERE, cache=cache, report=said.append)


def test_too_little_memory_is_said_before_anything_is_built(
    cache: Cache, part: Part, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capacity, "MEMORY", 1 << 60)
    with pytest.raises(NotEnoughCapacity, match=r"GiB of free memory and there are .* GiB: stop other programs"):
        fill([part], target=HERE, cache=cache, report=said.append)


def test_a_container_has_the_room_of_its_limit_and_files_that_can_be_forgotten_take_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capacity, "_CGROUP", tmp_path)
    assert capacity.available_memory(), "no cgroup: what the system has"
    (tmp_path / "memory.max").write_text("3000\n")
    (tmp_path / "memory.current").write_text("2500\n")
    (tmp_path / "memory.stat").write_text("anon 100\ninactive_file 2000\nactive_file 10\n")
    assert capacity.available_memory() == 2500
