"""Names that OS builds share with the Machine Config Operator and its users."""

import platform
from typing import Final

from windlass.api.machineconfiguration import GROUP

ARCHITECTURE: Final = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
"""Of this machine, and so of the images: backends build for the machine that they run on."""

NAMESPACE: Final = "openshift-machine-config-operator"
"""Where ConfigMaps, Secrets and builder objects are."""

OWN_LEASE: Final = "windlass-os-build"
THEIR_LEASE: Final = "machine-os-builder"
"""The Lease of the operator's builder, in `NAMESPACE`."""

GLOBAL_PULL_SECRET: Final = "global-pull-secret-copy"
"""There, a copy of the cluster's pull secret, which the operator makes."""

LAYERING: Final = f"{GROUP}/layering-enabled"
"""Opts a pool in by its presence, as annotation or label. The operator itself reads only the label, and then wants a
MachineOSConfig for each labelled pool."""
REBUILD: Final = f"{GROUP}/rebuild"
"""An annotation: another value asks for another build of the same inputs."""
ARCHITECTURES: Final = f"{GROUP}/architectures"
"""An annotation of a pool: architectures of Nodes that are still to come, with commas between them."""

IMAGE: Final = f"{GROUP}/desired-os-image"
IMAGE_CONFIG: Final = f"{GROUP}/desired-os-image-config"
"""The rendered MachineConfig that the image was built from."""
IMAGE_INPUTS: Final = f"{GROUP}/desired-os-image-inputs"
"""The identity of the build (`identity.Inputs`)."""
IMAGE_ALIAS: Final = f"{GROUP}/newestImageEquivalentConfig"
"""The name that the operator had for `desired-os-image`."""
RESULT: Final = (IMAGE, IMAGE_CONFIG, IMAGE_INPUTS, IMAGE_ALIAS)
"""The annotations that are written together when a build has succeeded."""

BUILDER_CONFIG: Final = "machine-os-builder-config"
BUILDER_CONFIG_ALIAS: Final = "on-cluster-build-config"
"""The operator's name of it: read only if the other does not exist, and never merged with it."""
CONTAINERFILES: Final = "on-cluster-build-custom-dockerfile"
OS_IMAGES: Final = "machine-config-osimageurl"

RELEASE: Final = f"{GROUP}/release-image-version"
"""An annotation of rendered MachineConfigs."""

POOL_LABEL: Final = f"{GROUP}/targetMachineConfigPool"
CONFIG_LABEL: Final = f"{GROUP}/desiredConfig"
BUILD_LABEL: Final = f"{GROUP}/buildPod"
"""On every builder object: the labels of the operator's first builder, which its later ones do not read."""
EPHEMERAL_LABEL: Final = f"{GROUP}/ephemeral-build-object"
"""On the objects of builds of the Machine Config Operator."""
INPUTS_ANNOTATION: Final = f"{GROUP}/build-inputs"
ATTEMPT_ANNOTATION: Final = f"{GROUP}/build-attempt"
SECRETS_ANNOTATION: Final = f"{GROUP}/build-secrets"
"""On every builder object: which build it is, which attempt, and the versions of the Secrets when it began."""
ARCHITECTURE_ANNOTATION: Final = f"{GROUP}/build-architecture"
LIST_ANNOTATION: Final = f"{GROUP}/build-list"
"""On builder objects whose Node is chosen by its architecture: that, and the tag of the list that names the image."""
CANCELLED_ANNOTATION: Final = f"{GROUP}/build-cancelled"
"""On a Job that was suspended: the cause."""
BACKEND_ANNOTATION: Final = f"{GROUP}/build-backend"
BUILD_IMAGE_ANNOTATION: Final = f"{GROUP}/build-image"
"""On builder objects in the cluster: the backend, and the pullspec that is pushed to."""

EVENT_SOURCE: Final = "windlass-os-build"
BOOTC_LINT: Final = "bootc container lint"
"""The command of an image that looks whether bootc could boot it."""
