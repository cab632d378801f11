"""The pytest plugin: a control plane for the whole run, shared by all xdist workers, and others that are not shared.

Turn it on with `-p windlass.testing`. The plane starts when the first test asks for it. Under pytest-xdist it belongs
to the controller process, so it is started once and outlives any worker; workers ask for it over a Unix socket.

Tests that use one of these fixtures get the marker `plane`, so that `-m "not plane"` starts no plane.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from windlass.testing.plane.access import BlockingAccess
from windlass.testing.plane.connection import Connection
from windlass.testing.plane.control_plane import BlockingControlPlane
from windlass.testing.plane.facade import ControlPlane, PlaneAccess
from windlass.testing.plane.pool import PlanePool
from windlass.testing.plane.sharing import SharedPlane, ask

_ADDRESS = "windlass_plane_address"
_FIXTURES = {"windlass_plane", "windlass_planes", "windlass_fresh_plane"}
"""Those that others build on."""
_shared = pytest.StashKey[SharedPlane]()
_pool = pytest.StashKey[PlanePool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("windlass", "control plane for tests")
    group.addoption(
        "--windlass-assets",
        metavar="DIR",
        default=None,
        help="folder with etcd and kube-apiserver (default: $KUBEBUILDER_ASSETS, else cached or built)",
    )
    group.addoption(
        "--windlass-keep",
        action="store_true",
        help="keep the logs and kubeconfigs of control planes after the run and say where they are",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "plane: needs a real control plane (etcd, kube-apiserver)")
    config.stash[_pool] = PlanePool(assets=config.getoption("windlass_assets"), keep=config.getoption("windlass_keep"))
    if not _is_worker(config):
        config.stash[_shared] = SharedPlane(_new_plane(config))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: object) -> None:
    """Tell a new xdist worker where to ask for the plane."""
    node.workerinput[_ADDRESS] = node.config.stash[_shared].serve()  # type: ignore[attr-defined]


def pytest_itemcollected(item: pytest.Item) -> None:
    if not _FIXTURES.isdisjoint(getattr(item, "fixturenames", ())):
        item.add_marker("plane")


def pytest_unconfigure(config: pytest.Config) -> None:
    if (pool := config.stash.get(_pool, None)) is not None:
        pool.close()
    if (shared := config.stash.get(_shared, None)) is not None:
        shared.close()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    shared = config.stash.get(_shared, None)
    if shared is not None and config.getoption("windlass_keep") and (connection := shared.connection) is not None:
        terminalreporter.write_line(f"windlass: logs and kubeconfigs are kept in {connection.directory}")


@pytest.fixture(scope="session")
def windlass_plane(request: pytest.FixtureRequest) -> PlaneAccess:
    """The control plane of this test run. Do not kill it: others use it; take `windlass_fresh_plane` for that."""
    config = request.config
    if _is_worker(config):
        return PlaneAccess(BlockingAccess(ask(config.workerinput[_ADDRESS])))  # type: ignore[attr-defined]
    return PlaneAccess(BlockingAccess(_start_aloud(config)))


@pytest.fixture
def windlass_kubeconfig(windlass_plane: PlaneAccess) -> Path:
    """A kubeconfig file for the administrator of the shared plane."""
    return windlass_plane.kubeconfig()


@pytest.fixture
def windlass_namespace(windlass_plane: PlaneAccess) -> Iterator[str]:
    """The name of a new, empty namespace on the shared plane; its deletion is started after the test."""
    name = windlass_plane.blocking.create_namespace()
    yield name
    windlass_plane.blocking.delete_namespace(name)


@pytest.fixture
def windlass_fresh_plane(request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    """A control plane for one test alone, which may kill and compact it. Costs about 4 s and 500 MB."""
    with _new_plane(request.config) as plane:
        yield ControlPlane.around(plane)


@pytest.fixture(scope="session")
def windlass_planes(request: pytest.FixtureRequest) -> PlanePool:
    """Planes by name, for this worker alone; they stop with it, or when they are told to."""
    return planes_of(request.config)


@pytest.fixture(scope="module")
def windlass_module_plane(windlass_planes: PlanePool) -> ControlPlane:
    """A control plane for the tests of one module, which may write cluster-scoped objects, kill it and compact it.

    Modules that run in the same worker have it one after the other: what they leave in namespaces and their CRDs stay,
    see `windlass.testing.plane.pool.clear`.
    """
    return windlass_planes.plane("module")


def planes_of(config: pytest.Config) -> PlanePool:
    """What `windlass_planes` is, for hooks: a suite that knows that a plane is not needed any more may stop it."""
    return config.stash[_pool]


def _is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


def _new_plane(config: pytest.Config) -> BlockingControlPlane:
    return BlockingControlPlane(assets=config.getoption("windlass_assets"), keep=config.getoption("windlass_keep"))


def _start_aloud(config: pytest.Config) -> Connection:
    """Start the shared plane with output capture off: a first-time build talks for minutes."""
    capture = config.pluginmanager.getplugin("capturemanager")
    if capture is None:
        return config.stash[_shared].start()
    with capture.global_and_fixture_disabled():
        return config.stash[_shared].start()
