"""The one call of a program: what it refuses, and the names that a process may have."""

import asyncio

import pytest

from windlass.kube.control.metrics import Metrics
from windlass.kube.process.figures import ProcessMetrics
from windlass.kube.process.pool import Figures
from windlass.kube.process.run import Names, run


def test_a_program_without_a_controller_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="name at least one"):
        asyncio.run(run())


def test_all_names_follow_from_that_of_the_program() -> None:
    assert Names.of("config-mirror") == Names(
        field_manager="config-mirror",
        lease_manager="config-mirror-leader-election",
        user_agent="config-mirror",
        metric_prefix="config_mirror",
        reconcile_log="config-mirror.reconcile",
        process_log="config-mirror",
    )


def test_no_metric_of_another_program_is_named_after_windlass() -> None:
    metrics, process = Metrics(prefix="mirror"), ProcessMetrics(prefix="mirror")
    metrics.caches(lambda: [Figures("configmaps", "shop", True, 3, 1.5)])
    process.add(metrics.registry)
    text = process.text().decode()
    assert 'mirror_cache_objects{kind="configmaps",namespace="shop"} 3.0' in text
    assert "mirror_loop_lag_seconds_count 0.0" in text
    assert "windlass" not in text
