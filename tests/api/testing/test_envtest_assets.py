"""A folder as `setup-envtest` unpacks it is enough for a plane without kube-controller-manager."""

import asyncio
from pathlib import Path

import pytest

from windlass.testing import ControlPlane
from windlass.testing.binaries import obtain
from windlass.testing.plane.errors import PlaneError

pytestmark = pytest.mark.plane


@pytest.fixture
def envtest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """etcd and kube-apiserver, on a machine where nothing is cached and nothing could be built."""
    folder = tmp_path / "envtest"
    folder.mkdir()
    for name in ("etcd", "kube-apiserver"):
        (folder / name).symlink_to(obtain().program(name))
    for name, value in {
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "PATH": "/usr/bin:/bin",
        "GOPROXY": "off",
        "UV_OFFLINE": "1",
        "PIP_NO_INDEX": "1",
        "KUBEBUILDER_ASSETS": str(folder),
    }.items():
        monkeypatch.setenv(name, value)
    return folder


@pytest.mark.usefixtures("envtest")
async def test_an_envtest_folder_runs_a_plane_and_nothing_is_built(tmp_path: Path) -> None:
    def never(line: str) -> None:
        raise AssertionError(f"something is built: {line}")

    async with ControlPlane(controller_manager=False, report=never) as plane:
        namespaces = ["default", await plane.create_namespace()]
        for namespace in namespaces:
            assert (await plane.service_account_kubeconfig(namespace, "default")).exists()
        container = {"name": "c", "image": "registry.example.com/nothing"}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [container]}}
        [made] = await plane.apply(pod)
        assert made["spec"]["serviceAccountName"] == "default"
        assert not (plane.logs / "kube-controller-manager.log").exists()
        with pytest.raises(PlaneError, match="cannot be deleted: this plane runs no kube-controller-manager"):
            await plane.delete_namespace(namespaces[1])
    assert not await asyncio.to_thread((tmp_path / "cache").exists)
