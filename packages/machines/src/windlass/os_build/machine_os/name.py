"""Names a MachineOSBuild as the Machine Config Operator does, so that neither builds what the other has built. Pure.

The name is a hash of the pool's `spec.configuration` (with the MachineConfigs that were merged), the `spec` of the
MachineOSConfig, and the images and the release of the rendered MachineConfig. Labels, annotations, status and
`paused` do not count.

Operators up to 4.19 take images and release from the ConfigMap `machine-config-osimageurl`. The name is the same unless
a MachineConfig has other images than the release.
"""

import hashlib
from typing import Final

from windlass.api.machineconfiguration import GROUP, MachineConfigPool, RenderedMachineConfig
from windlass.api.machineosconfig import MachineOSConfig
from windlass.api.meta import tree
from windlass.os_build.constants import RELEASE
from windlass.os_build.machine_os import go_yaml
from windlass.os_build.request import RENDERED, Problem

CONTROLLER: Final = f"{GROUP}/generated-by-controller-version"
_SALT: Final = bytes.fromhex(
    "107ccee48b38afaf4fe586769d9ad36e195d2ffdac6a2507ae0da0b96e115734db830cceda8d7487bcb5c097e93e7ea54053b3770fa8d0c5"
    "926b3ae385bcee1a211aebca20ad1fea2990944f06ce1716"
)
"""The operator's, for all its hashes."""


def build_name(config: MachineOSConfig, pool: MachineConfigPool, rendered: RenderedMachineConfig) -> str | Problem:
    """The name of the MachineOSBuild for what the MachineOSConfig and its pool ask for now.

    `rendered` is the MachineConfig that the pool's `spec.configuration` names.
    """
    if pool.metadata.name != config.spec.machine_config_pool.name:
        return Problem(
            "PoolMismatch",
            f"MachineOSConfig {config.metadata.name} is for MachineConfigPool {config.spec.machine_config_pool.name}, "
            f"not for {pool.metadata.name}: correct spec.machineConfigPool.name",
        )
    if not (wanted := rendered.metadata.name).startswith(RENDERED):
        return Problem("NotRendered", f"MachineConfig {wanted} is not a rendered one: its name begins with {RENDERED}")
    for annotation in (RELEASE, CONTROLLER):
        if not rendered.metadata.annotations.get(annotation):
            return Problem(
                "NotRendered",
                f"MachineConfig {wanted} has no annotation {annotation}: the Machine Config Operator sets it when it "
                "renders; delete the MachineConfig, and it is rendered again",
            )
    images = {
        "BaseOSContainerImage": rendered.spec.os_image_url,
        "BaseOSExtensionsContainerImage": rendered.spec.base_os_extensions_container_image,
        "OSImageURL": "",
        "ReleaseVersion": rendered.metadata.annotations[RELEASE],
    }
    return f"{config.metadata.name}-{_hashed(tree(pool.spec.configuration), tree(config.spec), images)}"


def _hashed(*trees: object) -> str:
    digest = hashlib.md5(_SALT, usedforsecurity=False)
    for one in trees:
        digest.update(go_yaml.written(one))
    return digest.hexdigest()
