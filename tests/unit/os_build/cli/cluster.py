"""A cluster in memory on which the controller itself has worked, with OpenShift's builds played."""

from datetime import UTC, datetime
from typing import Any

from tests.unit.os_build.world import TARGET, FakeRegistries, config_map, machine_config, pool, secret
from windlass.api.batch import Job
from windlass.api.build import Build
from windlass.api.core import ConfigMap, Event, Pod, Secret
from windlass.api.machineconfiguration import MachineConfig, MachineConfigPool
from windlass.api.machineosconfig import MachineOSConfig
from windlass.kube.control.executor import Executor
from windlass.model import MemoryApi
from windlass.model.reader import MemoryReader
from windlass.model.schema import rules_of_crd
from windlass.os_build.backends.job import JobBackend
from windlass.os_build.backends.openshift import OpenShiftBackend
from windlass.os_build.constants import BUILDER_CONFIG, NAMESPACE
from windlass.os_build.inputs.context import ApplyBy
from windlass.os_build.pool.controller import pool_controller
from windlass.os_build.pool.snapshot import Settings, Timing
from windlass.os_build.request import BackendName
from windlass.testing import crds
from windlass.testing.builds.openshift import Built, PlayedBuilds

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
[BUILDS] = crds.documents(crds.BUILDS)


class Cluster:
    """A pool `worker` that asks for an image of `rendered-worker-1`."""

    def __init__(self, *, apply_by: ApplyBy = ApplyBy.IGNITION, **metadata: Any) -> None:
        kinds = (MachineConfigPool, MachineConfig, MachineOSConfig, ConfigMap, Secret, Event, Job, Pod)
        self.api = MemoryApi(*kinds, rules_of_crd(Build, BUILDS), clock=lambda: NOW)
        self.builds = PlayedBuilds(self.api, namespace=NAMESPACE)
        self.registries = FakeRegistries()
        self._apply_by = apply_by
        self.api.load(
            secret("pull", {"auths": {}}),
            secret("push", {"auths": {"registry.example.com": {"auth": "dTpw"}}}),
            config_map(
                BUILDER_CONFIG,
                baseImagePullSecretName="pull",
                finalImagePushSecretName="push",
                finalImagePullspec=TARGET,
            ),
            machine_config("rendered-worker-1"),
            pool("worker", "rendered-worker-1", **metadata),
        )

    async def reconcile(self) -> None:
        """What `windlass run os-build` does until it rests."""
        reader = MemoryReader(self.api)
        backends: dict[BackendName, Any] = {
            BackendName.OPENSHIFT: OpenShiftBackend(reader),
            BackendName.JOB: JobBackend(reader),
        }
        settings = Settings(apply_by=self._apply_by, timing=Timing(debounce=0.0))
        controller = pool_controller(reader, backends, self.registries, settings=settings)
        reader.only(controller)
        executor = Executor(self.api, ledger=reader, systems={"registry": self.registries}, now=lambda: NOW)
        for _ in range(2):
            # A builder object that has just been made concerns the pool again.
            await controller.reconcile("worker", executor=executor, now=lambda: NOW)

    async def end(self, built: Built) -> None:
        """The builder starts, runs and ends; the controller notices each."""
        await self.reconcile()
        [build] = [each.name for each in self.api.listing(Build)]
        await self.builds.run(build)
        await self.reconcile()
        await self.builds.end(build, built)
        await self.reconcile()
