"""The page /metrics of a process that builds, as Prometheus reads it."""

from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.api.os_build.pool.cluster import Cluster
from tests.api.os_build.pool.process import running
from tests.program import ALONE
from tests.waiting import eventually
from windlass.os_build.request import BackendName

pytestmark = pytest.mark.plane


async def test_a_build_is_counted_and_its_end_shown(operated: Cluster, account: Path, tmp_path: Path) -> None:
    host, builds = operated.registry.host, tmp_path / "builds"
    await operated.configure(BackendName.LOCAL)
    await operated.containerfile("worker", "RUN true")
    async with running(
        account, tmp_path, *ALONE, "--metrics-open", registry=host, builds=builds, metrics=True
    ) as process:
        await operated.add_pool("worker")
        await operated.until_built("worker")
        counted = 'ocl_build_total{pool="worker",state="succeeded"}'
        await eventually(process.figures, lambda found: found.get(counted) == 1, what="the build is counted")
        families = {each.name: each for each in text_string_to_metric_families(await process.scrape())}
        samples = {
            (sample.name, *sorted(sample.labels.items())): sample.value
            for name, family in families.items()
            if name.startswith(("ocl_", "mco_"))
            for sample in family.samples
        }
        pool, succeeded = ("pool", "worker"), ("state", "succeeded")
        assert samples["ocl_build_state", pool, succeeded] == 1
        assert samples["ocl_build_job_state", pool, succeeded] == 1
        assert samples["ocl_image_push_total", pool, succeeded] == 1
        assert samples["ocl_build_duration_seconds_count", pool, succeeded] == 1
        assert samples["ocl_image_push_duration_seconds_sum", pool, succeeded] > 0
        assert samples["mco_mosc_count",] == 0
        assert families["ocl_build_duration_seconds"].type == "histogram"
        assert families["ocl_build"].type == "counter"
