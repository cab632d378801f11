"""Another MachineConfig needs another image only if what the image stands for changed (2.7 of the operator's rules)."""

from typing import Any

import pytest

from tests.unit.os_build.machine_os.samples import REPOSITORY, machine_os_build, machine_os_config, rendered
from windlass.api.machineosconfig import MachineOSBuild
from windlass.os_build.machine_os.conditions import State
from windlass.os_build.machine_os.rebuild import build_of_current_image, needs_rebuild

OLD: dict[str, Any] = {
    "osImageURL": "r.example.com/os:1",
    "baseOSExtensionsContainerImage": "r.example.com/extensions:1",
    "kernelType": "default",
    "kernelArguments": ["nosmt", "quiet"],
    "extensions": [],
}


CHANGES: dict[str, tuple[dict[str, Any], bool]] = {
    "os-image": ({"osImageURL": "r.example.com/os:2"}, True),
    "kernel-type": ({"kernelType": "realtime"}, True),
    "extension": ({"extensions": ["usbguard"]}, True),
    "kernel-argument": ({"kernelArguments": ["nosmt", "quiet", "debug"]}, True),
    "order-of-kernel-arguments": ({"kernelArguments": ["quiet", "nosmt"]}, True),
    "files-and-keys": ({"config": {"storage": {"files": [{"path": "/etc/a"}]}, "passwd": {}}}, False),
    "fips": ({"fips": True}, False),
    "extensions-image": ({"baseOSExtensionsContainerImage": "r.example.com/extensions:2"}, False),
    "missing-list-as-an-empty-one": ({"extensions": None}, False),
    "missing-kernel-type-as-the-default": ({"kernelType": None}, False),
    "nothing": ({}, False),
}
"""Fields that the new MachineConfig has otherwise (None: not at all), and whether it needs another image."""


@pytest.mark.parametrize(("change", "needed"), CHANGES.values(), ids=CHANGES)
def test_an_image_is_built_again_only_for_what_is_in_it(change: dict[str, Any], needed: bool) -> None:
    changed = {key: value for key, value in {**OLD, **change}.items() if value is not None}
    assert needs_rebuild(rendered(**OLD), rendered("rendered-worker-2", **changed)) is needed


CURRENT = {"currentImagePullSpec": f"{REPOSITORY}@sha256:{'ab' * 32}", "observedGeneration": 2}
FIRST, SECOND = machine_os_build("worker-2", made=1), machine_os_build("worker-1", made=2)
OTHER = machine_os_build("worker-3", digest=f"sha256:{'cd' * 32}", made=3)


@pytest.mark.parametrize(
    ("status", "builds", "found"),
    [
        pytest.param(CURRENT, [OTHER, FIRST], FIRST, id="the-build-of-the-current-image"),
        pytest.param(CURRENT, [SECOND, FIRST, OTHER], SECOND, id="the-newest-of-those-that-share-it"),
        pytest.param(CURRENT, [OTHER], None, id="no-build-of-it-is-left"),
        pytest.param(CURRENT, [machine_os_build(state=State.FAILED)], None, id="a-build-that-failed"),
        pytest.param({}, [FIRST], None, id="no-image-yet"),
        pytest.param({**CURRENT, "observedGeneration": 1}, [FIRST], None, id="the-spec-changed-since"),
    ],
)
def test_the_image_of_the_current_build_is_the_one_to_reuse(
    status: dict[str, Any], builds: list[MachineOSBuild], found: MachineOSBuild | None
) -> None:
    assert build_of_current_image(machine_os_config(status=status), builds) == found


def test_the_image_of_another_machine_os_config_is_not_reused() -> None:
    assert build_of_current_image(machine_os_config("infra", status=CURRENT), [FIRST]) is None
