"""Runs the Machine Config Operator's own controller on a plane: it renders, picks Nodes and drains them.

Tests check what we say about pools and Nodes with OpenShift's own code: machine-config-controller of the module
github.com/openshift/machine-config-operator. It is built on first use (`windlass.testing.binaries.MACHINE_CONFIG`).

    judge = MachineConfigController(plane, pools=layout.pools, folder=tmp_path)
    judge.install()
    judge.start("4.16.0")
    ...
    judge.start("4.16.1")               # an update: what the operator of the next release does first
    judge.close()

The plane needs the CRDs `windlass.testing.crds.UPDATES` and a ClusterVersion, which `cvo` plays. Nobody plays the
daemons: Nodes are the test's, and each must have an annotation, or the controller panics.

`os_builder` adds what OS images are built from.
"""

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from windlass.api.machineconfiguration import GROUP
from windlass.testing import crds
from windlass.testing.binaries import MACHINE_CONFIG, MACHINE_CONFIG_API, obtain
from windlass.testing.plane.access import BlockingAccess
from windlass.testing.plane.ports import free_ports
from windlass.testing.plane.processes import Processes
from windlass.testing.plane.rest import MERGE_PATCH
from windlass.testing.updates.layout import MCO_NAMESPACE, Pool, image, release_image
from windlass.testing.updates.mco import pool_tree

NAME: Final = "machine-config-controller"
_ON: Final = ("OnClusterBuild",)
_OFF: Final = (
    "MachineConfigNodes",
    "ManagedBootImages",
    "ManagedBootImagesAWS",
    "PinnedImages",
    "SigstoreImageVerification",
)
"""The feature gates that it asks for; it panics when one is neither on nor off."""
_DOMAIN: Final = "cluster.example.com"
_PLATFORM: Final = {
    "infrastructureName": "cluster",
    "platform": "None",
    "platformStatus": {"type": "None"},
    "etcdDiscoveryDomain": "",
    "apiServerURL": f"https://api.{_DOMAIN}:6443",
    "apiServerInternalURI": f"https://api-int.{_DOMAIN}:6443",
    "controlPlaneTopology": "HighlyAvailable",
    "infrastructureTopology": "HighlyAvailable",
    "cpuPartitioning": "None",
}


class MachineConfigController:
    """The process, and the objects that the operator would make for it. `folder` gets the log.

    `os_image` and `extensions_image` are those of all releases; by default each release has images of its own.
    """

    def __init__(
        self,
        plane: BlockingAccess,
        *,
        pools: Sequence[Pool],
        folder: Path,
        os_image: str = "",
        extensions_image: str = "",
    ) -> None:
        self._plane = plane
        self._pools = pools
        self._os_image, self._extensions_image = os_image, extensions_image
        self._program = obtain([MACHINE_CONFIG]).program(NAME)
        self._templates = folder / "templates"
        self._templates.mkdir()
        self.log = folder / f"{NAME}.log"
        self._processes = Processes(folders=[], log=folder / f"{NAME}.supervisor.log")

    def install(self) -> None:
        """Create the pools, a MachineConfig for each, and the namespaces that the controller knows by name."""
        self._plane.apply_crds(*crds.of(MACHINE_CONFIG_API))
        self._plane.apply(*_surroundings())
        self._plane.apply(*(_whole("MachineConfigPool", pool_tree(pool)) for pool in self._pools))
        self._plane.apply(*(_user_config(pool) for pool in self._pools))

    def start(self, version: str) -> None:
        """Run the controller of this release, with which pools want its configuration; another one ends first."""
        self._processes.stop(NAME)
        self.put(*_cluster(version))
        self._plane.apply(self._controller_config(version))
        (metrics,) = free_ports(1)
        argv: list[str | Path] = [
            self._program,
            "start",
            f"--kubeconfig={self._plane.kubeconfig()}",
            # Without templates, only MachineConfigs that are there are rendered: seconds less, and 100 files.
            f"--templates={self._templates}",
            f"--resourcelock-namespace={MCO_NAMESPACE}",
            f"--payload-version={version}",
            f"--metrics-listen-address=127.0.0.1:{metrics}",
        ]
        self._processes.start(NAME, argv, log=self.log)

    def close(self) -> None:
        """End it."""
        self._processes.stop(NAME)
        self._processes.close()

    def os_image(self, version: str) -> str:
        """The pull spec of the OS of that release."""
        return self._os_image or image("rhel-coreos", version)

    def extensions_image(self, version: str) -> str:
        """The pull spec of the extensions of that release."""
        return self._extensions_image or image("rhel-coreos-extensions", version)

    def put(self, *objects: dict[str, Any]) -> None:
        """Apply objects with their status."""
        for tree in objects:
            self._plane.apply({key: value for key, value in tree.items() if key != "status"})
            if "status" in tree:
                path = f"/apis/{tree['apiVersion']}/{tree['kind'].lower()}s/{tree['metadata']['name']}/status"
                self._plane.rest.request("PATCH", path, {"status": tree["status"]}, content_type=MERGE_PATCH)

    def _controller_config(self, version: str) -> dict[str, Any]:
        """What the operator tells its controller; the image of the system is what makes releases differ here."""
        authority = base64.b64encode(self._plane.connection.ca_file.read_bytes()).decode()
        annotations = {
            # It renders nothing for another build of itself; ours has no version.
            f"{GROUP}/generated-by-version": "v0.0.0-was-not-built-properly",
            f"{GROUP}/release-image-version": version,
        }
        spec = {
            "clusterDNSIP": "10.3.0.10",
            "cloudProviderConfig": "",
            "kubeAPIServerServingCAData": authority,
            "rootCAData": authority,
            "cloudProviderCAData": None,
            "additionalTrustBundle": None,
            "internalRegistryPullSecret": None,
            "pullSecret": {"kind": "Secret", "namespace": "openshift-config", "name": "pull-secret"},
            "images": {"infraImage": image("pod", version)},
            "baseOSContainerImage": self.os_image(version),
            "baseOSExtensionsContainerImage": self.extensions_image(version),
            "osImageURL": "",
            "releaseImage": release_image(version),
            "proxy": None,
            "infra": _infrastructure(),
            "dns": _config("DNS", {"baseDomain": _DOMAIN}),
            "ipFamilies": "IPv4",
            "networkType": "OVNKubernetes",
            "network": {"mtuMigration": None},
        }
        return _whole("ControllerConfig", {"metadata": {"name": NAME, "annotations": annotations}, "spec": spec})


def _surroundings() -> list[dict[str, Any]]:
    namespaces = (MCO_NAMESPACE, "openshift-config", "openshift-machine-api")
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/dockerconfigjson",
        "metadata": {"name": "pull-secret", "namespace": "openshift-config"},
        "stringData": {".dockerconfigjson": '{"auths": {}}'},
    }
    return [
        *({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in namespaces),
        secret,
    ]


def _cluster(version: str) -> list[dict[str, Any]]:
    on, off = ([{"name": gate} for gate in gates] for gates in (_ON, _OFF))
    gates = {"version": version, "enabled": on, "disabled": off}
    custom = {"featureSet": "CustomNoUpgrade", "customNoUpgrade": {}}
    return [
        _infrastructure(),
        _config("Scheduler", {}),
        {**_config("FeatureGate", custom), "status": {"featureGates": [gates]}},
    ]


def _infrastructure() -> dict[str, Any]:
    return {**_config("Infrastructure", {"platformSpec": {"type": "None"}}), "status": _PLATFORM}


def _user_config(pool: Pool) -> dict[str, Any]:
    metadata = {"name": f"50-{pool.name}", "labels": {f"{GROUP}/role": pool.name}}
    return _whole("MachineConfig", {"metadata": metadata, "spec": {"config": {"ignition": {"version": "3.2.0"}}}})


def _config(kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "config.openshift.io/v1", "kind": kind, "metadata": {"name": "cluster"}, "spec": spec}


def _whole(kind: str, tree: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, **tree}
