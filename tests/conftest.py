"""What holds for all tests."""

import gc
import importlib
import logging
import pkgutil
import signal
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import windlass
from tests.explore import EXPLORING, sampled
from windlass.kube.logger import Logger
from windlass.testing.cloud import Project
from windlass.testing.pytest_plugin import planes_of
from windlass.testing.registry import Registry

# How long an example takes, or its making, says something about the machine and nothing about the code.
# The same examples in each run, so that nobody's first run fails by chance; `make explore` draws others.
settings.register_profile(
    "windlass", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=not EXPLORING
)
settings.load_profile("windlass")

CLUSTER_API_PLANE = "cluster-api"
"""The plane of tests/e2e: see its conftest."""
FOUNDATION = {"api", "capability", "kube", "model", "testing"}
"""The packages of windlass that a capability stands on; `cli` and the other packages do not."""
SLOWEST_FIRST = ("e2e", "api", "unit")
"""The folders of tests, by how long a file of theirs takes."""

pytest_plugins = ["tests.scheduling"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--only",
        metavar="CAPABILITY",
        choices=sorted(_packages() - FOUNDATION - {"cli"}),
        help="leave out the tests of the command line and of other capabilities (by the folders that they are in)",
    )


def _packages() -> set[str]:
    return {module.name for module in pkgutil.iter_modules(windlass.__path__) if module.ispkg}


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "sampled: a story on real parts, of which the suite plays a third")
    config.addinivalue_line("markers", "slow: takes more than three seconds; `make check` leaves it out")
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


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with the slowest, so that with `--dist loadfile` many quick files are left to even out the workers."""
    items.sort(key=lambda item: SLOWEST_FIRST.index(_folders(item)[0]))
    if [Path(argument).resolve() for argument in config.args] == [Path(__file__).parent]:
        _leave_out(config, items, _of_other_turns(items))
    if (only := config.getoption("--only")) is not None:
        others = {*_packages(), "deploy"} - FOUNDATION - {only}
        _leave_out(config, items, {item for item in items if not others.isdisjoint(_folders(item))})


def _of_other_turns(items: Iterable[pytest.Item]) -> set[pytest.Item]:
    marked = [item for item in items if item.get_closest_marker("sampled")]
    return {*marked} - {*sampled(marked)}


def _leave_out(config: pytest.Config, items: list[pytest.Item], unwanted: set[pytest.Item]) -> None:
    config.hook.pytest_deselected(items=[*unwanted])
    items[:] = [item for item in items if item not in unwanted]


def _folders(item: pytest.Item) -> tuple[str, ...]:
    """Those between tests/ and the file: the kind of test, then the package that it is about."""
    return item.path.relative_to(Path(__file__).parent).parts[:-1]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Stop planes that no later test of this worker wants: an idle one costs CPU, and the more, the more is on it."""
    match _folders(item)[0]:
        case "api":
            planes_of(item.config).stop(CLUSTER_API_PLANE)
        case "unit":
            planes_of(item.config).close()


@pytest.fixture
def project(windlass_project: Project) -> Project:
    """A project of the test's own on the shared cloud; a test that passes must leave nothing there."""
    return windlass_project


@pytest.fixture
def registry(windlass_registry: Registry) -> Iterator[Registry]:
    """The worker's registry, without faults and with an empty log: use a repository of the test's own."""
    windlass_registry.forget_requests()
    yield windlass_registry
    windlass_registry.clear_faults()


@pytest.fixture(autouse=True)
def untouched_logs() -> Iterator[None]:
    """A command that a test runs in this process sets up its logs; the next test expects none."""
    root = logging.getLogger()
    handlers, level, output = root.handlers[:], root.level, Logger.output
    yield
    Logger.output = output
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture
def untouched_gc() -> Iterator[None]:
    """The service tunes the garbage collector of its process, which is that of the tests."""
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)
    gc.unfreeze()
