"""A cluster with pools, a registry, and `windlass run os-build` with buildah on this machine; and buildah without it.

Rendered MachineConfigs are written by the benchmark, as the Machine Config Operator would write them.
"""

import base64
import json
import os
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from bench.contestant import Contestant
from bench.os_build_inputs import build_request, machine_config
from bench.requests import RequestLog
from windlass.api.machineconfiguration import GROUP
from windlass.os_build.backends.job import SERVICE_ACCOUNT
from windlass.os_build.backends.local.buildah import Buildah, environment
from windlass.os_build.constants import BUILDER_CONFIG, CONTAINERFILES, IMAGE, LAYERING, NAMESPACE, OS_IMAGES
from windlass.os_build.inputs.context import ApplyBy, Context, rendered
from windlass.os_build.pullspec import Target
from windlass.os_build.request import BUILDER_TYPE, PULL_SECRET, PULLSPEC, PUSH_SECRET
from windlass.testing import crds
from windlass.testing.builder import push_base, push_layers
from windlass.testing.plane.control_plane import BlockingControlPlane
from windlass.testing.plane.ports import free_ports
from windlass.testing.plane.rest import MERGE_PATCH, Rest, answers
from windlass.testing.registry import Registry

USER: Final = "windlass"
ADMIN: Final = "admin"
REPOSITORY: Final = "bench/os"
PATIENCE: Final = 600.0
_API: Final = f"/apis/{GROUP}/v1"
_BUILDAH: Final = Buildah(tls_verify=False)
Tree = dict[str, Any]


class Place:
    """The cluster and the registry, while `open` lasts."""

    def __init__(
        self, plane: BlockingControlPlane, registry: Registry, folder: Path, *, layers: Sequence[bytes] = ()
    ) -> None:
        self.plane = plane
        self.registry = registry
        self.folder = folder
        self._base = push_layers(registry, layers, "os/large", "v1") if layers else push_base(registry)
        self._containerfiles: dict[str, str] = {}

    @classmethod
    @contextmanager
    def open(cls, folder: Path, *, layers: Sequence[bytes] = ()) -> Iterator["Place"]:
        """`layers`: those of the base image of its pools; none: the small one of tests."""
        with (
            Registry() as registry,
            BlockingControlPlane(
                directory=folder / "plane", users={USER: ["system:masters"]}, crds=crds.documents(*crds.UPDATES)
            ) as plane,
        ):
            place = cls(plane, registry, folder, layers=layers)
            place.configure()
            yield place

    def configure(self, *, password: str = "", builder: str = "local") -> None:
        """Where images go, by which builder, and with which Secrets; a `password` that the registry does not take."""
        for name in (NAMESPACE, "windlass-os-build"):
            self.plane.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        self._put("Secret", "pull", type="kubernetes.io/dockerconfigjson", stringData=self._auths("puller", ""))
        self._put("Secret", "push", type="kubernetes.io/dockerconfigjson", stringData=self._auths("pusher", password))
        data = {PULL_SECRET: "pull", PUSH_SECRET: "push", PULLSPEC: self.target, BUILDER_TYPE: builder}
        self._put("ConfigMap", BUILDER_CONFIG, data=data)
        self._put("ServiceAccount", SERVICE_ACCOUNT)
        self._put("ConfigMap", OS_IMAGES, data={"baseOSContainerImage": self._base})

    @property
    def target(self) -> str:
        return f"{self.registry.host}/{REPOSITORY}"

    def _auths(self, user: str, password: str) -> Tree:
        auths = self.registry.auths(user)
        if password:
            packed = base64.b64encode(f"{user}:{password}".encode()).decode()
            auths = {"auths": {self.registry.host: {"auth": packed}}}
        return {".dockerconfigjson": json.dumps(auths)}

    def _put(self, kind: str, name: str, **content: Any) -> None:
        metadata = {"name": name, "namespace": NAMESPACE}
        self.plane.apply({"apiVersion": "v1", "kind": kind, "metadata": metadata, **content})

    # pools

    def add(self, *pools: str) -> None:
        """Make pools that are not opted in."""
        for name in pools:
            self.add_config(f"rendered-{name}", machine_config())
            spec = {"configuration": {"name": f"rendered-{name}"}, "paused": False}
            tree = {"apiVersion": f"{GROUP}/v1", "kind": "MachineConfigPool", "metadata": {"name": name}, "spec": spec}
            self.plane.apply(tree)

    def add_config(self, name: str, spec: Mapping[str, Any]) -> None:
        tree = {"apiVersion": f"{GROUP}/v1", "kind": "MachineConfig", "metadata": {"name": name}, "spec": spec}
        self.plane.rest.request("POST", f"{_API}/machineconfigs", tree)

    def opt_in(self, *pools: str) -> None:
        for name in pools:
            body = {"metadata": {"annotations": {LAYERING: ""}}}
            self.plane.rest.request("PATCH", f"{_API}/machineconfigpools/{name}", body, content_type=MERGE_PATCH)

    def write_containerfile(self, pool: str, text: str) -> None:
        self._containerfiles[pool] = text
        self._put("ConfigMap", CONTAINERFILES, data=self._containerfiles)

    def built(self, *pools: str) -> bool:
        items = self.plane.rest.request("GET", f"{_API}/machineconfigpools")["items"]
        found = {item["metadata"]["name"] for item in items if IMAGE in item["metadata"].get("annotations", {})}
        return found >= {*pools}

    def says(self, pool: str, condition: str) -> str:
        """The reason of a condition that is True; empty if it is not."""
        status = self.plane.rest.request("GET", f"{_API}/machineconfigpools/{pool}").get("status", {})
        true = (each for each in status.get("conditions", ()) if (each["type"], each["status"]) == (condition, "True"))
        return next((each["reason"] for each in true), "")

    def log(self, user: str) -> RequestLog:
        return RequestLog(self.plane.connection.directory / "logs" / "audit.log", user=user)

    # Windlass

    @contextmanager
    def at_work(self, name: str, *flags: str) -> Iterator[Contestant]:
        """`windlass run os-build` with a folder of this name, ready."""
        (port,) = free_ports(1)
        argv = [sys.executable, "-m", "windlass", "run", "os-build", f"--kubeconfig={self.plane.kubeconfig(USER)}"]
        argv += [f"--local-builds={self.builds(name).parent}", "--apply-by=tree", "--debounce=0s"]
        argv += [f"--insecure-registry={self.registry.host}", f"--health-probe-bind-address=127.0.0.1:{port}"]
        argv += ["--metrics-bind-address=0", *flags]
        with Contestant(argv, log=self.folder / f"{name}.log") as process:
            probes = Rest(f"http://127.0.0.1:{port}")
            until(lambda: answers(probes, "/readyz"), pace=0.01)
            yield process

    def builds(self, name: str) -> Path:
        """The folder of the builds of `at_work(name)`."""
        return self.folder / name / "builds"

    # buildah without it

    def raw(self, *queues: Sequence[str], stores: str = "raw") -> float:
        """Build and push an image of each pool by buildah alone: a shell loop and a store for each queue; seconds.

        `stores`: their name. Nobody tidies them, and buildah is slower the more images a store has.
        """
        scripts = [self._script(pools, self.folder / f"{stores}-{number}") for number, pools in enumerate(queues)]
        began = time.monotonic()
        # Sessions of their own, as Windlass's builds have: on a busy machine Linux shares the cores among sessions.
        loops = [
            subprocess.Popen(["sh", "-e", script], env=environment(temporary=script.parent), start_new_session=True)
            for script in scripts
        ]
        codes = [loop.wait() for loop in loops]
        if any(codes):
            raise RuntimeError(f"buildah failed without Windlass: see the logs in {self.folder}")
        return time.monotonic() - began

    def _script(self, pools: Sequence[str], place: Path) -> Path:
        """The loop over these pools, whose contexts it writes. The store is that of the loop before."""
        place.mkdir(exist_ok=True)
        commands = []
        for user in ("puller", "pusher"):
            (place / f"{user}.json").write_text(json.dumps(self.registry.auths(user)), encoding="utf-8")
        for pool in pools:
            context, image = place / pool, f"{self.target}:raw-{pool}"
            context.mkdir()
            for name, content in self._context(pool).files.items():
                (context / name).write_bytes(content)
            build = _BUILDAH.build(place, context=context, image=image, auth=place / "puller.json")
            push = _BUILDAH.push(place, image=image, auth=place / "pusher.json", digest=place / f"{pool}.digest")
            commands += [f"{shlex.join(argv)} > {place}/log 2>&1" for argv in (build, push)]
        script = place / "loop.sh"
        script.write_text("\n".join(commands), encoding="utf-8")
        return script

    def _context(self, pool: str) -> Context:
        request = build_request(pool, Target.parse(self.target), base=self._base)
        document = self.plane.rest.text("GET", f"{_API}/machineconfigs/rendered-{pool}").encode()
        context = rendered(request, document, apply_by=ApplyBy.TREE)
        assert isinstance(context, Context)
        return context


class Starts:
    """When the folders of builds came and went, seen every few milliseconds: each comes right before its buildah."""

    def __init__(self, builds: Path) -> None:
        self.came: dict[str, float] = {}
        self.went: dict[str, float] = {}
        self._builds = builds
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(0.005):
            there, now = {*os.listdir(self._builds)}, time.time()
            for name in there - self.came.keys():
                self.came[name] = now
            for name in self.came.keys() - there - self.went.keys():
                self.went[name] = now


def until(holds: Callable[[], bool], *, pace: float = 0.2) -> None:
    """Wait for it."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(f"it did not come true in {PATIENCE:.0f} s")
        time.sleep(pace)
