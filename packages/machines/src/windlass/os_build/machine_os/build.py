"""Makes a MachineOSBuild, and makes its image the current one of its MachineOSConfig, as the operator does both. Pure.

The operator's builder takes such a build for its own: of an image that is current it builds nothing.
"""

from typing import Any, Final

from windlass.api.machineconfiguration import GROUP
from windlass.api.machineosconfig import (
    MachineOSBuild,
    MachineOSBuildSpec,
    MachineOSConfig,
    MachineOSConfigStatus,
    ResourceReference,
)
from windlass.api.meta import NamedReference, ObjectMeta, owner_reference, tree
from windlass.os_build.request import Request

CURRENT: Final = f"{GROUP}/current-machine-os-build"
"""On a MachineOSConfig: the name of the build that pool and nodes go by."""
PUSH_SECRET: Final = f"{GROUP}/rendered-image-push-secret"
"""On a MachineOSBuild: the Secret with which others look for the image, and delete it."""
POOL_LABEL: Final = f"{GROUP}/target-machine-config-pool"
CONFIG_LABEL: Final = f"{GROUP}/rendered-machine-config"
OWNER_LABEL: Final = f"{GROUP}/machine-os-config"


def machine_os_build(name: str, config: MachineOSConfig, request: Request) -> dict[str, Any]:
    """The object, without a status; `name` is that of `machine_os.name`. The object is deleted with its
    MachineOSConfig.

    The operator adds the finalizer `foregroundDeletion`, which has Kubernetes delete the Job of a build first. Here the
    builder object belongs to the pool.
    """
    owner = owner_reference(MachineOSConfig, config.metadata, controller=True, block_owner_deletion=True)
    metadata = ObjectMeta(
        name=name,
        labels={POOL_LABEL: request.pool, CONFIG_LABEL: request.config, OWNER_LABEL: config.metadata.name},
        annotations={PUSH_SECRET: request.push_secret},
        owner_references=[owner],
    )
    spec = MachineOSBuildSpec(
        machine_config=NamedReference(name=request.config),
        machine_os_config=NamedReference(name=config.metadata.name),
        rendered_image_push_spec=request.target.tagged(name),
    )
    return {"metadata": tree(metadata), "spec": tree(spec)}


def current_status(config: MachineOSConfig, build: MachineOSBuild) -> MachineOSConfigStatus:
    """What the status of a MachineOSConfig says whose current image is that of `build`, which succeeded; less what
    others say there.

    Its annotation `CURRENT` must name the build, too.
    """
    return MachineOSConfigStatus(
        current_image_pull_spec=build.status.digested_image_push_spec,
        observed_generation=config.metadata.generation,
        machine_os_build=ResourceReference(group=GROUP, resource=build.RESOURCE.plural, name=build.metadata.name),
    )
