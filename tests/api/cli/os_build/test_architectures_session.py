"""The session of docs/os-build.md with two architectures, typed as it stands, with real buildah.

Nodes are objects, and Pods run here as on a Node of the architecture that they ask for.
"""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.builder import require_builder
from tests.pages import DOCS, session
from tests.shell import Shell
from windlass.kube import config
from windlass.kube.client import Client
from windlass.kube.process.tasks import end
from windlass.os_build.constants import NAMESPACE
from windlass.os_build.installation import HOME
from windlass.testing import ControlPlane, crds
from windlass.testing.builder import push_base
from windlass.testing.builds.buildah import Buildah
from windlass.testing.builds.pods import PlayedPods
from windlass.testing.plane.pool import PlanePool
from windlass.testing.plane.ports import free_ports
from windlass.testing.registry import Registry

pytestmark = [
    pytest.mark.plane,
    pytest.mark.skipif(shutil.which("kubectl") is None, reason="pages are typed with kubectl"),
]

ADDRESS = "127.0.0.1:22558"
"""Of the registry on the page."""
RUN = "windlass run os-build"


@pytest.fixture
def plane(windlass_planes: PlanePool) -> ControlPlane:
    require_builder()
    return windlass_planes.plane("module", crds=crds.documents(*crds.OS_BUILDS))


@pytest.fixture
async def kubelets(plane: ControlPlane, registry: Registry, tmp_path: Path) -> AsyncIterator[None]:
    """What the page says is there, and the kubelets of both Nodes."""
    plane.blocking.apply(
        *({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": n}} for n in (NAMESPACE, HOME))
    )
    push_base(registry, "base/os", "v1", architectures=("amd64", "arm64"))
    auth = registry.auths("pusher")
    (tmp_path / "auth.json").write_text(json.dumps(auth))
    async with Client(config.load(kubeconfig=plane.kubeconfig())) as client:
        pods = PlayedPods(client, namespace=NAMESPACE)
        playing = asyncio.create_task(pods.play(Buildah(client, tmp_path / "pods", insecure=[registry.host]).run_pod))
        yield
        await end(playing)


async def test_the_session_with_two_architectures_can_be_typed(
    plane: ControlPlane, registry: Registry, kubelets: None, tmp_path: Path
) -> None:
    probes, metrics = free_ports(2)
    run = f"{RUN} --health-probe-bind-address 127.0.0.1:{probes} --metrics-bind-address 127.0.0.1:{metrics}"
    store = tmp_path / "storage.conf"
    store.write_text(f'[storage]\ndriver = "vfs"\ngraphroot = "{tmp_path}/images"\nrunroot = "{tmp_path}/run"\n')
    environment = {"KUBECONFIG": str(plane.kubeconfig()), "CONTAINERS_STORAGE_CONF": str(store)}
    turns = session(DOCS / "os-build.md", "### A session with two architectures")
    assert len([turn for turn in turns if turn.answer]) > 5
    with Shell(tmp_path, replaced={ADDRESS: registry.host, RUN: run}, environment=environment) as shell:
        await asyncio.to_thread(shell.types, turns)
