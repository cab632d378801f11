"""OS builds as a capability: Lease, rights and systems follow from the settings."""

from pathlib import Path
from typing import Any

import pytest

from windlass.api.coordination import Lease
from windlass.api.core import ConfigMap, Namespace, Secret
from windlass.api.machineconfiguration import MachineConfig, MachineConfigPool
from windlass.api.machineosconfig import MachineOSBuild, MachineOSConfig
from windlass.api.meta import KubernetesObject
from windlass.kube.control.permissions import Declared
from windlass.os_build.constants import NAMESPACE, OWN_LEASE, THEIR_LEASE
from windlass.os_build.installation import HOME, installation
from windlass.os_build.pool.snapshot import Settings
from windlass.os_build.service import Local, frame, lease
from windlass.os_build.settings import LocalSettings, OsBuildSettings

CLOSED = OsBuildSettings()
OPEN = OsBuildSettings(pools=Settings(machine_os_configs=True))
RIGHTS = [
    (MachineConfigPool, "patch", "status", True, True),
    (MachineConfigPool, "delete", "", False, False),
    (MachineConfig, "get", "", True, True),
    (MachineConfig, "watch", "", False, False),
    (Secret, "get", "", True, True),
    (Secret, "create", "", False, False),
    (ConfigMap, "patch", "", False, False),
    (MachineOSConfig, "watch", "", True, True),
    (MachineOSConfig, "patch", "status", False, True),
    (MachineOSConfig, "get", "", False, True),
    (MachineOSBuild, "create", "", False, True),
]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param(CLOSED, (OWN_LEASE, "here"), id="its own"),
        pytest.param(OPEN, (THEIR_LEASE, NAMESPACE), id="that of the operator's builder"),
    ],
)
def test_never_two_builders_of_machine_os_configs_at_once(settings: OsBuildSettings, expected: tuple[str, str]) -> None:
    assert lease(settings, home="here") == expected
    may = Declared(installation(home="here", settings=settings).permissions())
    for name, namespace in ((OWN_LEASE, "here"), (THEIR_LEASE, NAMESPACE)):
        assert may(Lease, "patch", namespace=namespace, name=name) is ((name, namespace) == expected)


@pytest.mark.parametrize(
    ("kind", "verb", "subresource", "closed", "served"), RIGHTS, ids=[f"{row[1]} {row[0].__name__}" for row in RIGHTS]
)
def test_machine_os_configs_are_written_only_if_they_are_served(
    kind: type[KubernetesObject], verb: str, subresource: str, closed: bool, served: bool
) -> None:
    namespace = NAMESPACE if kind.RESOURCE.namespaced else None
    for settings, expected in ((CLOSED, closed), (OPEN, served)):
        may = Declared(installation(settings=settings).permissions())
        assert may(kind, verb, subresource, namespace=namespace, name="any") is expected


@pytest.mark.parametrize(
    ("local", "systems"),
    [(None, {"registry"}), (LocalSettings(folder=Path("builds")), {"registry", "buildah"})],
    ids=["in clusters", "on this machine too"],
)
def test_builds_on_this_machine_are_a_system_only_if_they_are_allowed(local: Any, systems: set[str]) -> None:
    settings = OsBuildSettings(local=local)
    assert set(frame(settings, home=HOME).systems) == systems
    assert (Local.of(settings) is not None) == (local is not None)
    assert not Path("builds").exists(), "a folder is made when builds are opened, not before"


def test_the_names_are_those_of_the_command_line() -> None:
    found = installation()
    assert (found.name, found.service_account.namespace, found.theirs) == ("os-build", HOME, (NAMESPACE,))


def test_the_rights_to_remove_images_are_there_only_if_images_are_removed() -> None:
    for keep, expected in ((None, False), (0, True)):
        settings = OsBuildSettings(pools=Settings(keep_images=keep))
        may = Declared(installation(settings=settings).permissions())
        assert may(Namespace, "get", namespace=None, name="kube-system") is expected
        assert not may(Namespace, "get", namespace=None, name="default")
        assert ("images" in frame(settings, home=HOME).systems) is expected
