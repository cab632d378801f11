"""The pytest plugin: a control plane for the whole run, shared by all xdist workers, and others that are not shared.

Installing `windlass[testing]` turns it on. Each hook and fixture imports what it needs, so that a run that uses none of
them pays nothing. The plane starts when the first test asks for it. Under pytest-xdist it belongs
to the controller process, so it is started once and outlives any worker; workers ask for it over a Unix socket.

Tests that use one of these fixtures get the marker `plane`, so that `-m "not plane"` starts no plane.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from windlass.testing.plane.connection import Connection
    from windlass.testing.plane.control_plane import BlockingControlPlane
    from windlass.testing.plane.facade import ControlPlane, PlaneAccess
    from windlass.testing.plane.options import PlaneOptions
    from windlass.testing.plane.pool import PlanePool
    from windlass.testing.plane.sharing import SharedPlane

_ADDRESS = "windlass_plane_address"
_FIXTURES = {"windlass_plane", "windlass_planes", "windlass_fresh_plane"}
"""Those that others build on."""
_shared = pytest.StashKey["SharedPlane"]()
_pool = pytest.StashKey["PlanePool"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("windlass", "control plane for tests")
    group.addoption(
        "--windlass-assets",
        metavar="DIR",
        default=None,
        help="folder with etcd and kube-apiserver (default: $KUBEBUILDER_ASSETS, else cached or built)",
    )
    group.addoption(
        "--windlass-kubernetes",
        metavar="VERSION",
        default=None,
        help="Kubernetes version that planes must be of, for example 1.35 (default: the setting windlass_kubernetes)",
    )
    parser.addini("windlass_kubernetes", "Kubernetes version that planes must be of, for example 1.35", default="")
    group.addoption(
        "--windlass-keep",
        action="store_true",
        help="keep the logs and kubeconfigs of control planes after the run and say where they are",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "plane: needs a real control plane (etcd, kube-apiserver)")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: object) -> None:
    """Tell a new xdist worker where to ask for the plane."""
    node.workerinput[_ADDRESS] = _shared_by(node.config).serve()  # type: ignore[attr-defined]


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
def windlass_plane_options() -> "PlaneOptions":
    """Options of `windlass_plane` and `windlass_fresh_plane`, see `PlaneOptions`; override it in your conftest.py."""
    return {}


@pytest.fixture(scope="session")
def windlass_plane(request: pytest.FixtureRequest, windlass_plane_options: "PlaneOptions") -> "PlaneAccess":
    """The control plane of this test run. Do not kill it: others use it; take `windlass_fresh_plane` for that."""
    from windlass.testing.plane.access import BlockingAccess
    from windlass.testing.plane.facade import PlaneAccess
    from windlass.testing.plane.sharing import ask

    config = request.config
    if _is_worker(config):
        address = config.workerinput[_ADDRESS]  # type: ignore[attr-defined]
        return PlaneAccess(BlockingAccess(ask(address, windlass_plane_options)))
    return PlaneAccess(BlockingAccess(_start_aloud(config, windlass_plane_options)))


@pytest.fixture
def windlass_kubeconfig(windlass_plane: "PlaneAccess") -> Path:
    """A kubeconfig file for the administrator of the shared plane."""
    return windlass_plane.kubeconfig()


@pytest.fixture
def windlass_namespace(windlass_plane: "PlaneAccess") -> str:
    """The name of a new, empty namespace on the shared plane. It stays when the test is over, and goes with the plane.

    Deletion costs the API server more than the plane's end does, and for ever when a finalizer is left that nobody
    removes. A test that is about deletion calls `delete_namespace` and `wait_until_namespace_is_gone`.
    """
    return windlass_plane.blocking.create_namespace()


@pytest.fixture
def windlass_fresh_plane(
    request: pytest.FixtureRequest, windlass_plane_options: "PlaneOptions"
) -> "Iterator[ControlPlane]":
    """A control plane for one test alone, which may kill and compact it. Costs about 4 s and 500 MB."""
    from windlass.testing.plane.facade import ControlPlane

    with _new_plane(request.config, windlass_plane_options) as plane:
        yield ControlPlane.around(plane)


@pytest.fixture(scope="session")
def windlass_planes(request: pytest.FixtureRequest) -> "PlanePool":
    """Planes by name, for this worker alone; they stop with it, or when they are told to."""
    return planes_of(request.config)


@pytest.fixture(scope="module")
def windlass_module_plane(windlass_planes: "PlanePool") -> "ControlPlane":
    """A control plane for the tests of one module, which may write cluster-scoped objects, kill it and compact it.

    Modules that run in the same worker have it one after the other: what they leave in namespaces and their CRDs stay,
    see `windlass.testing.plane.pool.clear`.
    """
    return windlass_planes.plane("module")


def planes_of(config: pytest.Config) -> "PlanePool":
    """What `windlass_planes` is, for hooks: a suite that knows that a plane is not needed any more may stop it."""
    if _pool not in config.stash:
        from windlass.testing.plane.pool import PlanePool

        config.stash[_pool] = PlanePool(lambda options: _new_plane(config, options))
    return config.stash[_pool]


def _shared_by(config: pytest.Config) -> "SharedPlane":
    if _shared not in config.stash:
        from windlass.testing.plane.sharing import SharedPlane

        config.stash[_shared] = SharedPlane(lambda options: _new_plane(config, options))
    return config.stash[_shared]


def _is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


def _new_plane(config: pytest.Config, options: "PlaneOptions") -> "BlockingControlPlane":
    from windlass.testing.plane.control_plane import BlockingControlPlane

    return BlockingControlPlane(
        assets=config.getoption("windlass_assets"),
        kubernetes=config.getoption("windlass_kubernetes") or config.getini("windlass_kubernetes") or None,
        keep=config.getoption("windlass_keep"),
        **options,
    )


def _start_aloud(config: pytest.Config, options: "PlaneOptions") -> "Connection":
    """Start the shared plane with output capture off: a first-time build talks for minutes."""
    capture = config.pluginmanager.getplugin("capturemanager")
    if capture is None:
        return _shared_by(config).start(options)
    with capture.global_and_fixture_disabled():
        return _shared_by(config).start(options)
