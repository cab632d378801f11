"""Runs the Machine Config Operator's own controllers on a plane as far as OS images are built: they render and build.

Tests check what Windlass builds, and how it names it, beside OpenShift's own code: machine-config-controller and
machine-os-builder. They are built on first use (`windlass.testing.binaries.MACHINE_CONFIG`).

    real = OsBuilder(plane, pools=[Pool(name="worker", nodes=0)], folder=tmp_path)
    real.install()
    real.start()                                            # renders
    first = real.wait_rendered("worker")
    real.configure("60-motd", pool="worker", files={"/etc/motd": "hello\\n"})
    real.wait_rendered("worker", after=first)               # about six seconds: each of its stages waits for five
    real.start_builder()                                    # builds what MachineOSConfigs ask for
    real.ask("worker", target="registry.example.com/org/os:latest")
    ...
    real.close()

The plane needs the CRDs `windlass.testing.crds.UPDATES`, and cluster-scoped objects that are its own. There is no
kubelet: a test that wants builds to end plays that for the Jobs.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from windlass.api.machineconfiguration import GROUP
from windlass.testing.binaries import MACHINE_CONFIG, obtain
from windlass.testing.plane.access import BlockingAccess, found
from windlass.testing.plane.errors import PlaneError
from windlass.testing.plane.processes import Processes
from windlass.testing.plane.waiting import wait_for
from windlass.testing.updates.layout import MCO_NAMESPACE, Pool, image
from windlass.testing.updates.machine_config import MachineConfigController

NAME: Final = "machine-os-builder"
VERSION: Final = "4.20.0"
PUSH_SECRET: Final = "push"
PULL_SECRET: Final = "global-pull-secret-copy"
RENDER_SECONDS: Final = 120.0
"""How long to wait for a rendered MachineConfig. It takes six seconds on an idle machine."""
_ENDPOINT: Final = f"/apis/{GROUP}/v1"


class OsBuilder:
    """Both processes, and the objects that they read. `folder` gets the logs.

    os_image, extensions_image  what the release names; by default images that nobody can pull
    auths                       the content of the Secrets for pulling and pushing, as `.dockerconfigjson`
    """

    def __init__(
        self,
        plane: BlockingAccess,
        *,
        pools: Sequence[Pool],
        folder: Path,
        os_image: str = "",
        extensions_image: str = "",
        auths: str = '{"auths": {"registry.example.com": {"auth": "YTpi"}}}',
    ) -> None:
        self._plane = plane
        self._auths = auths
        self._program = obtain([MACHINE_CONFIG]).program(NAME)
        self.controller = MachineConfigController(
            plane, pools=pools, folder=folder, os_image=os_image, extensions_image=extensions_image
        )
        self.log = folder / f"{NAME}.log"
        self._processes = Processes(folders=[], log=folder / f"{NAME}.supervisor.log")

    def install(self) -> None:
        """Create the pools, a MachineConfig for each, and what the operator and the installer would have made."""
        self.controller.install()
        self.controller.put(_cluster_version())
        self._plane.apply(*self._config_maps(), *(self._secret(name) for name in (PUSH_SECRET, PULL_SECRET)))

    def start(self) -> None:
        """Run machine-config-controller."""
        self.controller.start(VERSION)

    def start_builder(self) -> None:
        """Run machine-os-builder. The process takes over the builds of an earlier process."""
        environment = [f"KUBECONFIG={self._plane.kubeconfig()}", f"RELEASE_VERSION={VERSION}"]
        self._processes.start(NAME, ["/usr/bin/env", *environment, self._program, "start"], log=self.log)

    def stop_builder(self) -> None:
        """End machine-os-builder; it gives its Lease back."""
        self._processes.stop(NAME)

    def close(self) -> None:
        """End both."""
        self.stop_builder()
        self._processes.close()
        self.controller.close()

    def configure(self, name: str, *, pool: str, files: Mapping[str, str] | None = None, **spec: Any) -> None:
        """Create or change the MachineConfig `name` of a pool: with these files, and fields by their API names."""
        contents = [
            {"path": path, "mode": 0o644, "contents": {"source": f"data:,{quote(text)}"}}
            for path, text in (files or {}).items()
        ]
        config = {"ignition": {"version": "3.2.0"}, "storage": {"files": contents}}
        metadata = {"name": name, "labels": {f"{GROUP}/role": pool}}
        self._apply("MachineConfig", {"metadata": metadata, "spec": {"config": config, **spec}})

    def ask(self, pool: str, *, target: str, containerfile: str | None = None) -> None:
        """Create or change the MachineOSConfig of a pool. With `containerfile` None it has no field for it."""
        content = {} if containerfile is None else {"containerFile": [{"content": containerfile}]}
        spec = {
            "machineConfigPool": {"name": pool},
            "imageBuilder": {"imageBuilderType": "Job"},
            "renderedImagePushSecret": {"name": PUSH_SECRET},
            "renderedImagePushSpec": target,
            **content,
        }
        self._apply("MachineOSConfig", {"metadata": {"name": pool}, "spec": spec})

    def wait_rendered(self, pool: str, *, after: str = "") -> str:
        """The rendered MachineConfig that the pool wants, once it is another one than `after`. Raises PlaneError."""
        last: dict[str, Any] = {}

        def look() -> str | None:
            last.update(found(self._plane.rest, f"{_ENDPOINT}/machineconfigpools/{pool}") or {})
            name: str = last.get("spec", {}).get("configuration", {}).get("name", "")
            return name if name not in ("", after) else None

        if (name := wait_for(look, seconds=RENDER_SECONDS)) is None:
            said = [one["message"] for one in last.get("status", {}).get("conditions", ()) if one.get("message")]
            raise PlaneError(
                f"MachineConfigPool {pool} got no MachineConfig but {after!r} within {RENDER_SECONDS:g} s: "
                f"{'; '.join(said) or 'it says nothing'}; see {self.controller.log}"
            )
        return name

    def _apply(self, kind: str, tree: dict[str, Any]) -> None:
        self._plane.apply({"apiVersion": f"{GROUP}/v1", "kind": kind, **tree})

    def _config_maps(self) -> list[dict[str, Any]]:
        images = {
            "releaseVersion": VERSION,
            "machineConfigOperator": image("machine-config-operator", VERSION),
            "infraImage": image("pod", VERSION),
        }
        os_images = {
            "releaseVersion": VERSION,
            "baseOSContainerImage": self.controller.os_image(VERSION),
            "baseOSExtensionsContainerImage": self.controller.extensions_image(VERSION),
            "osImageURL": "",
        }
        return [
            _named("ConfigMap", "machine-config-operator-images", data={"images.json": json.dumps(images)}),
            _named("ConfigMap", "machine-config-osimageurl", data=os_images),
        ]

    def _secret(self, name: str) -> dict[str, Any]:
        kind = "kubernetes.io/dockerconfigjson"
        return _named("Secret", name, type=kind, stringData={".dockerconfigjson": self._auths})


def _named(kind: str, name: str, **content: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": MCO_NAMESPACE}, **content}


def _cluster_version() -> dict[str, Any]:
    then = "2026-01-01T00:00:00Z"
    update = {"version": VERSION, "image": image("release", VERSION), "state": "Completed", "verified": False}
    return {
        "apiVersion": "config.openshift.io/v1",
        "kind": "ClusterVersion",
        "metadata": {"name": "version"},
        "spec": {"clusterID": "f56f7197-9910-4e94-ac77-c25c125751f2"},
        "status": {
            "desired": {"version": VERSION, "image": update["image"]},
            "history": [{**update, "startedTime": then, "completionTime": then}],
            "observedGeneration": 1,
            "versionHash": "",
            "availableUpdates": [],
        },
    }
