"""MachineConfigPools for tests that block; the test itself is their controller."""

import json
from datetime import UTC, datetime
from typing import Any, Final

from windlass.api.core import ConfigMap
from windlass.api.machineconfiguration import MachineConfigPool
from windlass.api.meta import KubernetesObject
from windlass.kube.clock import rfc3339
from windlass.os_build.constants import BUILDER_CONFIG, IMAGE, IMAGE_CONFIG, IMAGE_INPUTS, LAYERING, NAMESPACE, REBUILD
from windlass.os_build.pool.conditions import VECTOR
from windlass.testing import BlockingAccess
from windlass.testing.plane.access import found
from windlass.testing.plane.rest import MERGE_PATCH

ANY_IMAGE: Final = "registry.example.com/machines/os@sha256:" + "ab12" * 16
Tree = dict[str, Any]


class Pools:
    def __init__(self, plane: BlockingAccess) -> None:
        self._plane = plane
        self._made: list[str] = []

    def prepare(self) -> None:
        """The namespace with the ConfigMap that names target and Secrets."""
        data = {
            "baseImagePullSecretName": "pull",
            "finalImagePushSecretName": "push",
            "finalImagePullspec": "registry.example.com/machines/os",
        }
        self._plane.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        if found(self._plane.rest, ConfigMap.RESOURCE.path(BUILDER_CONFIG, namespace=NAMESPACE)):
            self.unprepare()  # another module's: applying would keep its other keys
        self._plane.apply(
            {**_named(ConfigMap, BUILDER_CONFIG, namespace=NAMESPACE), "data": data},
        )

    def unprepare(self) -> None:
        self._plane.rest.request("DELETE", ConfigMap.RESOURCE.path(BUILDER_CONFIG, namespace=NAMESPACE))

    def make(self, name: str, *, opted_in: bool = True) -> None:
        spec = {
            "configuration": {"name": f"rendered-{name}-1"},
            "machineConfigSelector": {"matchLabels": {"role": name}},
            "nodeSelector": {"matchLabels": {"role": name}},
        }
        body = _named(MachineConfigPool, name, annotations={LAYERING: ""} if opted_in else {})
        self._plane.rest.request("POST", MachineConfigPool.RESOURCE.path(), {**body, "spec": spec})
        self._made.append(name)

    def says(self, name: str, true: str, *, reason: str, message: str = "", since: str = "") -> None:
        """Write the conditions as the controller does."""
        conditions = [
            {
                "type": type_,
                "status": str(type_ == true),
                "reason": reason,
                "message": message if type_ == true else "",
                "lastTransitionTime": since or rfc3339(datetime.now(UTC)),
            }
            for type_ in VECTOR
        ]
        self._patch(name, {"status": {"conditions": conditions}}, part="status")

    def built(self, name: str, *, inputs: str = "0123", config: str = "") -> None:
        """Record an image as the controller does."""
        recorded = {IMAGE: ANY_IMAGE, IMAGE_CONFIG: config or f"rendered-{name}-1", IMAGE_INPUTS: inputs}
        self._patch(name, {"metadata": {"annotations": recorded}})
        self.says(name, "BuildSuccess", reason="BuildSucceeded", message="built")

    def asked_again(self, name: str) -> str:
        """The request for a rebuild; empty if there is none."""
        tree = found(self._plane.rest, MachineConfigPool.RESOURCE.path(name))
        assert tree is not None
        asked: str = tree["metadata"].get("annotations", {}).get(REBUILD, "")
        return asked

    def let_view(self, roles: list[Tree]) -> None:
        """The user `pool-viewer` has the first of these roles in the cluster, the second in the namespace of builds."""
        self._plane.apply(*roles)
        for role, place in zip(roles, (None, NAMESPACE), strict=True):
            kind = "RoleBinding" if place else "ClusterRoleBinding"
            self._plane.apply(
                {
                    "apiVersion": "rbac.authorization.k8s.io/v1",
                    "kind": kind,
                    "metadata": {"name": "pool-viewer", **({"namespace": place} if place else {})},
                    "roleRef": {
                        "apiGroup": "rbac.authorization.k8s.io",
                        "kind": "ClusterRole",
                        "name": role["metadata"]["name"],
                    },
                    "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "pool-viewer"}],
                }
            )

    def remove(self) -> None:
        for name in self._made:
            self._plane.rest.request("DELETE", MachineConfigPool.RESOURCE.path(name))

    def _patch(self, name: str, body: Tree, *, part: str = "") -> None:
        path = MachineConfigPool.RESOURCE.path(name, subresource=part)
        self._plane.rest.request("PATCH", path, body, content_type=MERGE_PATCH)


def items(text: str) -> list[Tree]:
    """Those of `-o json`."""
    read: list[Tree] = json.loads(text)["items"]
    return read


def _named(kind: type[KubernetesObject], name: str, **metadata: Any) -> Tree:
    return {
        "apiVersion": kind.RESOURCE.api_version,
        "kind": kind.RESOURCE.kind,
        "metadata": {"name": name, **metadata},
    }
