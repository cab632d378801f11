"""Builds by OpenShift: a Build without BuildConfig and ImageStream, and a ConfigMap with the files of its context.

The rendered Containerfile is the Build's inline Dockerfile, and not a file of the ConfigMap. OpenShift's documentation
says that the inline one overwrites any other file named Dockerfile; its Machine Config Operator relied on a mounted
ConfigMap that overwrites the inline one. With one Containerfile in one place both are right, `oc describe` shows it,
and the labels that OpenShift adds to the inline Dockerfile (`imageLabels`) reach the image.

The user's Secrets are referred to, not copied, so OpenShift reads them when the build runs.
"""

from typing import Any, Final

from windlass.api.build import GROUP, Build
from windlass.kube.control.permissions import Declaration, Permission
from windlass.kube.control.plan import Action
from windlass.kube.control.seen import IndexedReader
from windlass.os_build.backends.openshift_state import says
from windlass.os_build.backends.owned import ClusterBackend, Placement
from windlass.os_build.builder import BuildState, Order
from windlass.os_build.constants import NAMESPACE
from windlass.os_build.inputs.context import CONTAINERFILE, Context, fits_build
from windlass.os_build.request import BackendName, Problem, Request

POOL_IMAGE_LABEL: Final = "io.openshift.machineconfig.pool"


class OpenShiftBackend(ClusterBackend[Build]):
    """Builds of OpenShift in `namespace`."""

    def __init__(
        self, reader: IndexedReader, *, namespace: str = NAMESPACE, placement: Placement | None = None
    ) -> None:
        super().__init__(reader, Build, name=BackendName.OPENSHIFT, namespace=namespace, says=says)
        self._placement = placement or Placement()

    @property
    def permissions(self) -> tuple[Declaration, ...]:
        return (*super().permissions, skips_layers(namespace=self._namespace))

    def unfit(self, context: Context, request: Request) -> Problem | None:
        return super().unfit(context, request) or fits_build(context, request)

    def start(self, order: Order) -> tuple[Action, ...]:
        files = {name: content for name, content in order.context.files.items() if name != CONTAINERFILE}
        return self._create(order, spec=build_spec(order, self._placement), files=files)

    def cancel(self, state: BuildState, *, why: str) -> tuple[Action, ...]:
        """Ask OpenShift to cancel it: the Build stays, with the phase Cancelled."""
        return self._end(state, {"status": {"cancelled": True}}, why=why)


def skips_layers(*, namespace: str) -> Permission:
    """Builds may have imageOptimizationPolicy SkipLayers: OpenShift's admission asks for this virtual resource."""
    return Permission(GROUP, "builds", ("create",), "optimizeddocker", namespace)


def build_spec(order: Order, placement: Placement) -> dict[str, Any]:
    """The `spec` of the Build."""
    request, deadlines = order.request, order.deadlines
    config_maps = [{"configMap": {"name": order.name}, "destinationDir": "."}]
    return {
        "source": {"type": "Dockerfile", "dockerfile": order.context.containerfile, "configMaps": config_maps},
        "strategy": {
            "type": "Docker",
            "dockerStrategy": {
                "pullSecret": {"name": request.pull_secret},
                "noCache": True,
                "forcePull": True,
                "imageOptimizationPolicy": "SkipLayers",
            },
        },
        "output": {
            "to": {"kind": "DockerImage", "name": order.image},
            "pushSecret": {"name": request.push_secret},
            "imageLabels": [{"name": POOL_IMAGE_LABEL, "value": order.pool.name}],
        },
        # Builds cannot tell building and pushing apart.
        "completionDeadlineSeconds": int(deadlines.build + deadlines.push),
        "mountTrustedCA": True,
        **({"nodeSelector": dict(placement.node_selector)} if placement.node_selector else {}),
        **({"resources": dict(placement.resources)} if placement.resources else {}),
    }
