"""What holds for all tests."""

import importlib
import pkgutil
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import windlass
from windlass.testing.pytest_plugin import planes_of

# How long an example takes, or its making, says something about the machine and nothing about the code.
settings.register_profile("windlass", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("windlass")

CLUSTER_API_PLANE = "cluster-api"
"""The plane of tests/e2e: see its conftest."""
SLOWEST_FIRST = ("e2e", "api", "unit")
"""The folders of tests, by how long a file of theirs takes."""


def pytest_configure(config: pytest.Config) -> None:
    if settings.default is not None and settings.default.derandomize:
        _load_all_of_windlass()
    # pytest-xdist would begin with the files that have most tests, which are the quickest here, and would leave one
    # worker alone with the last of the slowest.
    config.option.loadscopereorder = False
    # What a script starts in the background ignores Ctrl-C, and so would the processes that tests start and interrupt.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _load_all_of_windlass() -> None:
    """Hypothesis draws from constants of the modules that are loaded: where they are to be the
    same each time, that must not depend on which tests ran before."""
    for module in pkgutil.walk_packages(windlass.__path__, "windlass."):
        if module.name.rpartition(".")[2] not in ("__main__", "_supervisor"):
            importlib.import_module(module.name)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the slowest, so that with `--dist loadfile` many quick files are left to even out the workers."""
    tests = Path(__file__).parent
    items.sort(key=lambda item: SLOWEST_FIRST.index(item.path.relative_to(tests).parts[0]))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Stop planes that no later test of this worker wants: an idle one costs CPU, and the more, the more is on it."""
    match item.path.relative_to(Path(__file__).parent).parts[0]:
        case "api":
            planes_of(item.config).stop(CLUSTER_API_PLANE)
        case "unit":
            planes_of(item.config).close()
