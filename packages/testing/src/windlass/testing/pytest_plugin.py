"""The pytest plugin: a control plane and an OpenStack for all xdist workers, planes and a registry for each.

Installing Windlass turns it on. Each hook and fixture imports its own modules, so that a run without them imports
nothing. Plane and cloud start when the first test asks for them. Under pytest-xdist they belong to the controller
process, so they are started once and outlive any worker; workers ask for them over a Unix socket.

Tests that use one of these fixtures get the marker `plane`, `cloud` or `registry`, so that `-m "not plane and not cloud
and not registry"` starts none.
"""

from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pytest

if TYPE_CHECKING:
    from windlass.testing.cloud.access import CloudAccess, CloudConnection
    from windlass.testing.cloud.cloud import Cloud
    from windlass.testing.cloud.layout import CloudOptions
    from windlass.testing.cloud.project import Project
    from windlass.testing.plane.connection import Connection
    from windlass.testing.plane.control_plane import BlockingControlPlane
    from windlass.testing.plane.facade import ControlPlane, PlaneAccess
    from windlass.testing.plane.options import PlaneOptions
    from windlass.testing.plane.pool import PlanePool
    from windlass.testing.plane.sharing import Shared
    from windlass.testing.registry import Registry

T = TypeVar("T")

_ADDRESS = "windlass_plane_address"
_CLOUD_ADDRESS = "windlass_cloud_address"
_MARKED = {
    "plane": {"windlass_plane", "windlass_planes", "windlass_fresh_plane"},
    "cloud": {"windlass_cloud"},
    "registry": {"windlass_registry"},
}
"""Markers, and the fixtures that others build on."""
_failed = pytest.StashKey[bool]()
_shared = pytest.StashKey["Shared[PlaneOptions, Connection]"]()
_shared_cloud = pytest.StashKey["Shared[CloudOptions, CloudConnection]"]()
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
        help="keep the logs and credentials of control planes and clouds after the run and say where they are",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "plane: needs a real control plane (etcd, kube-apiserver)")
    config.addinivalue_line("markers", "cloud: needs a real OpenStack (Keystone to Octavia)")
    config.addinivalue_line("markers", "registry: needs a real registry of container images")
    for module in ("openstack.proxy", "openstack.resource"):
        # openstacksdk 4.22 warns of its own internals at each request.
        config.addinivalue_line("filterwarnings", f"ignore::PendingDeprecationWarning:{module}")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: object) -> None:
    """Tell a new xdist worker where to ask for the plane and the cloud."""
    node.workerinput[_ADDRESS] = _shared_by(node.config).serve()  # type: ignore[attr-defined]
    node.workerinput[_CLOUD_ADDRESS] = _cloud_shared_by(node.config).serve()  # type: ignore[attr-defined]


def pytest_itemcollected(item: pytest.Item) -> None:
    for marker, fixtures in _MARKED.items():
        if not fixtures.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker(marker)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remember whether the test failed: its project does not complain of leftovers then."""
    report = yield
    if report.failed:
        item.stash[_failed] = True
    return report


def pytest_unconfigure(config: pytest.Config) -> None:
    if (pool := config.stash.get(_pool, None)) is not None:
        pool.close()
    if (shared := config.stash.get(_shared, None)) is not None:
        shared.close()
    if (cloud := config.stash.get(_shared_cloud, None)) is not None:
        cloud.close()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if not config.getoption("windlass_keep"):
        return
    shared, cloud = config.stash.get(_shared, None), config.stash.get(_shared_cloud, None)
    if shared is not None and shared.connection is not None:
        terminalreporter.write_line(f"windlass: logs and kubeconfigs are kept in {shared.connection.directory}")
    if cloud is not None and cloud.connection is not None:
        terminalreporter.write_line(f"windlass: logs and clouds.yaml are kept in {cloud.connection.folder}")


@pytest.fixture(scope="session")
def windlass_plane_options() -> "PlaneOptions":
    """Options of `windlass_plane` and `windlass_fresh_plane`, see `PlaneOptions`; override it in your conftest.py."""
    return {}


@pytest.fixture(scope="session")
def windlass_plane(request: pytest.FixtureRequest, windlass_plane_options: "PlaneOptions") -> "PlaneAccess":
    """The control plane of this test run. Do not kill it: others use it; take `windlass_fresh_plane` for that."""
    from windlass.testing.plane.access import BlockingAccess
    from windlass.testing.plane.connection import Connection
    from windlass.testing.plane.facade import PlaneAccess
    from windlass.testing.plane.sharing import ask

    config = request.config
    if _is_worker(config):
        address = config.workerinput[_ADDRESS]  # type: ignore[attr-defined]
        return PlaneAccess(BlockingAccess(Connection.from_json(ask(address, windlass_plane_options))))
    return PlaneAccess(BlockingAccess(_start_aloud(config, lambda: _shared_by(config).start(windlass_plane_options))))


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


@pytest.fixture(scope="session")
def windlass_cloud_options() -> "CloudOptions":
    """Options of `windlass_cloud`, see `CloudOptions`; override it in your conftest.py."""
    return {}


@pytest.fixture(scope="session")
def windlass_cloud(request: pytest.FixtureRequest, windlass_cloud_options: "CloudOptions") -> "CloudAccess":
    """The OpenStack of this test run. Others use it at the same time: take `windlass_project` to have one's own things.

    A test that stops services makes a `Cloud` of its own.
    """
    from windlass.testing.cloud.access import CloudAccess, CloudConnection
    from windlass.testing.plane.sharing import ask

    config = request.config
    if _is_worker(config):
        address = config.workerinput[_CLOUD_ADDRESS]  # type: ignore[attr-defined]
        return CloudAccess(CloudConnection.from_json(ask(address, windlass_cloud_options)))
    return CloudAccess(_start_aloud(config, lambda: _cloud_shared_by(config).start(windlass_cloud_options)))


@pytest.fixture
def windlass_project(request: pytest.FixtureRequest, windlass_cloud: "CloudAccess") -> "Iterator[Project]":
    """A project of its own on `windlass_cloud`, deleted afterwards.

    A test that passes fails here if the project still has servers, ports, volumes or anything else that the fixture
    has not made, unless it said so (`may_leave`).
    """
    project = windlass_cloud.new_project()
    left = []
    try:
        yield project
        if not request.node.stash.get(_failed, False):
            left = project.leftovers()
    finally:
        project.delete()
    if left:
        pytest.fail("the test left behind in its project: " + ", ".join(map(str, left)), pytrace=False)


@pytest.fixture(scope="session")
def windlass_registry(request: pytest.FixtureRequest) -> "Iterator[Registry]":
    """The registry of this worker, with names and passwords (`Auth.BASIC`) and without TLS. Costs 0.2 s and 40 MB.

    Tests use the registry one after the other: each has its own repositories, and removes its faults.
    """
    from windlass.testing.binaries import DISTRIBUTION, obtain
    from windlass.testing.registry import Registry

    _start_aloud(request.config, lambda: obtain([DISTRIBUTION]))
    with Registry() as registry:
        yield registry


def planes_of(config: pytest.Config) -> "PlanePool":
    """What `windlass_planes` is, for hooks: a suite that knows that a plane is not needed any more may stop it."""
    if _pool not in config.stash:
        from windlass.testing.plane.pool import PlanePool

        config.stash[_pool] = PlanePool(lambda options: _new_plane(config, options))
    return config.stash[_pool]


def _shared_by(config: pytest.Config) -> "Shared[PlaneOptions, Connection]":
    if _shared not in config.stash:
        from windlass.testing.plane.sharing import shared_plane

        config.stash[_shared] = shared_plane(lambda options: _new_plane(config, options))
    return config.stash[_shared]


def _cloud_shared_by(config: pytest.Config) -> "Shared[CloudOptions, CloudConnection]":
    if _shared_cloud not in config.stash:
        from windlass.testing.plane.sharing import Shared

        def make(options: "CloudOptions") -> "Cloud":
            from windlass.testing.cloud.cloud import Cloud

            return Cloud(keep=config.getoption("windlass_keep"), **options)

        remedy = "return one value from windlass_cloud_options in all folders, or make a Cloud for the test"
        config.stash[_shared_cloud] = Shared(make, what="cloud", remedy=remedy)
    return config.stash[_shared_cloud]


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


def _start_aloud(config: pytest.Config, start: Callable[[], T]) -> T:
    """Start something shared with output capture off: a first-time build talks for minutes."""
    capture = config.pluginmanager.getplugin("capturemanager")
    if capture is None:
        return start()
    with capture.global_and_fixture_disabled():
        return start()
