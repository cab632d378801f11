"""A MachineOSBuild and the status of its MachineOSConfig are as the operator's builder makes them."""

import msgspec

from tests.unit.os_build.machine_os.samples import CONFIG, DIGEST, REPOSITORY, machine_os_build, machine_os_config, pool
from windlass.os_build.machine_os import build as made
from windlass.os_build.machine_os.rebuild import build_of_current_image
from windlass.os_build.machine_os.request import requested
from windlass.os_build.request import Request

GROUP = "machineconfiguration.openshift.io"


def test_a_build_names_all_that_it_is_of() -> None:
    config = machine_os_config(uid="u-1")
    request = requested(config, pool(), architecture="amd64")
    assert isinstance(request, Request)
    assert made.machine_os_build("worker-0", config, request) == {
        "metadata": {
            "name": "worker-0",
            "labels": {
                f"{GROUP}/target-machine-config-pool": "worker",
                f"{GROUP}/rendered-machine-config": CONFIG,
                f"{GROUP}/machine-os-config": "worker",
            },
            "annotations": {f"{GROUP}/rendered-image-push-secret": "push"},
            "ownerReferences": [
                {
                    "apiVersion": f"{GROUP}/v1",
                    "kind": "MachineOSConfig",
                    "name": "worker",
                    "uid": "u-1",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {
            "machineConfig": {"name": CONFIG},
            "machineOSConfig": {"name": "worker"},
            "renderedImagePushSpec": f"{REPOSITORY}:worker-0",
        },
    }


def test_the_image_of_a_build_that_succeeded_becomes_the_current_one_and_nothing_else_is_written() -> None:
    condition = {"type": "Seeded", "status": "True", "reason": "PreBuiltImageSeeded", "message": "seeded"}
    config = machine_os_config(status={"conditions": [condition], "observedGeneration": 1})
    build = machine_os_build("worker-0")
    status = made.current_status(config, build)
    assert msgspec.to_builtins(status) == {
        "observedGeneration": 2,
        "currentImagePullSpec": f"{REPOSITORY}@{DIGEST}",
        "machineOSBuild": {"group": GROUP, "resource": "machineosbuilds", "name": "worker-0"},
    }
    assert build_of_current_image(msgspec.structs.replace(config, status=status), [build]) == build
