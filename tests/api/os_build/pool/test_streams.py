"""The stream of the OS that a pool names, with OpenShift's own CRDs of pools and OSImageStreams."""

import pytest

from tests.api.os_build.pool.cluster import Cluster
from tests.api.os_build.pool.stage import at_work
from windlass.api.build import Build
from windlass.api.machineconfiguration import MachineConfig, OSImageStream
from windlass.kube.verbs import PatchType
from windlass.os_build.request import BackendName
from windlass.os_build.streams import SINGLETON

pytestmark = pytest.mark.registry

NINE, TEN = (f"registry.example.com/os/{name}@sha256:{digit * 64}" for name, digit in (("nine", "9"), ("ten", "a")))


async def test_a_pool_is_built_on_its_stream_on_the_default_one_or_not_at_all(cluster: Cluster) -> None:
    await cluster.configure(BackendName.OPENSHIFT)
    await cluster.put(OSImageStream, SINGLETON, {"spec": {"defaultStream": "rhel-9"}})
    images = {"rhel-9": NINE, "rhel-10": TEN}
    streams = [{"name": name, "osImage": image, "osExtensionsImage": image} for name, image in images.items()]
    status = {"status": {"availableStreams": streams, "defaultStream": "rhel-9"}}
    await cluster.client.patch(OSImageStream, SINGLETON, status, type=PatchType.MERGE, subresource="status")
    async with at_work(cluster) as stage:
        for pool, stream, image in (("nine", "", NINE), ("ten", "rhel-10", TEN)):
            await cluster.add_pool(pool, opted_in=False)
            await cluster.put(MachineConfig, f"rendered-{pool}-1", {"spec": {"osImageURL": ""}})
            if stream:
                await cluster.patch(pool, {"spec": {"osImageStream": {"name": stream}}})
            await cluster.opt(pool, into=True)
            name = await stage.begun(pool)
            build = await cluster.client.get(Build, name, namespace=cluster.namespace)
            assert f"FROM {image} AS configs" in str(build.tree()["spec"])
        await cluster.add_pool("other", opted_in=False)
        await cluster.put(MachineConfig, "rendered-other-1", {"spec": {"osImageURL": ""}})
        await cluster.patch("other", {"spec": {"osImageStream": {"name": "rhel-11"}}})
        await cluster.opt("other", into=True)
        said = "spec.osImageStream.name of MachineConfigPool other is rhel-11, and OSImageStream cluster has rhel-"
        await cluster.until("other", "BaseImageMissing", text=said)
