"""The stage of a story: its own control plane, the processes beside it, and the actions of a user.

All processes started here end with this process, even when this process is killed.
"""

import asyncio
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from importlib import resources
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, ClassVar, Final, Generic, Self, TypeVar

import yaml
from msgspec.structs import replace

from windlass.api import config
from windlass.api.coordination import Lease
from windlass.api.meta import KubernetesObject
from windlass.capability.installation import Installation
from windlass.capability.manifests import rights
from windlass.demo.scene import Scene
from windlass.kube import config as kubeconfig
from windlass.kube.cache import Cache
from windlass.kube.client import Client
from windlass.kube.control.seen import Present, seen
from windlass.kube.errors import NotFound
from windlass.kube.verbs import PatchType
from windlass.testing import ControlPlane
from windlass.testing.plane.access import Document
from windlass.testing.plane.errors import PlaneError
from windlass.testing.plane.ports import free_ports
from windlass.testing.plane.processes import Processes
from windlass.testing.plane.rest import Rest

USER: Final = "demo-user"
SIMULATORS: Final = "demo-simulators"
_ADMINISTRATORS: Final = "system:masters"

_TOKEN_SECONDS: Final = 7 * 86_400
"""A week: with `--keep`, the token is not renewed."""

_WITH_STATUS: Final[Mapping[str, type[KubernetesObject]]] = {
    kind.RESOURCE.kind: kind for kind in (config.FeatureGate, config.ClusterVersion, config.Infrastructure)
}

C = TypeVar("C", bound=Scene)


class Stage(Generic[C]):
    """To be used with `async with`. The steps of the story start its processes, and they are stopped at the end.

    `directory` gets logs, keys and kubeconfigs. If it is `temporary` it is removed at the end, unless `keep_logs`. A
    capability's stage declares the scene before the first step (`opening`), the package with its `MANIFESTS` beside
    those that demos share, the kinds that the scene has (`WATCHED`, each in its namespace, None: cluster-scoped), and
    the Leases of Windlass (`LEASES`, each with its namespace). It may define `crds` and `complete`.
    """

    MANIFESTS: ClassVar[str]
    WATCHED: ClassVar[Mapping[type[KubernetesObject], str | None]]
    LEASES: ClassVar[Mapping[str, str]]

    opening: C

    def __init__(self, directory: Path, *, temporary: bool = True) -> None:
        self.directory = directory
        self.plane = ControlPlane(
            users={USER: [_ADMINISTRATORS], SIMULATORS: [_ADMINISTRATORS]},
            directory=directory,
            crds=self.crds(),
        )
        self.logs.mkdir(parents=True, exist_ok=True)
        self._processes = Processes(folders=[directory] if temporary else [], log=self.logs / "supervisor.log")
        self._companions: list[str] = []
        self._ending = AsyncExitStack()
        self._client: Client | None = None
        self._watches: Watches | None = None
        self._version = ""
        self._errand = ""
        self._probes: dict[str, Rest] = {}

    def crds(self) -> Sequence[Document]:
        """The kinds with which the control plane starts: one that is added later takes it up to 30 s to serve."""
        return ()

    async def complete(self, scene: C) -> C:
        """The scene with what is not in the API server."""
        return scene

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables of a shell in which to look around."""
        return {"KUBECONFIG": str(self.plane.kubeconfig())}

    # life

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            async with self._ending:
                errand = [self._errand] if self._errand else []
                await asyncio.to_thread(self._processes.stop, *errand, *self._companions)
        finally:
            await asyncio.to_thread(self._processes.close)

    def at_end(self, end: Callable[..., object], *arguments: object) -> None:
        """Call `end`, which may block, when the processes are stopped; what was started last ends first."""
        self._ending.push_async_callback(asyncio.to_thread, end, *arguments)

    @property
    def logs(self) -> Path:
        """The folder with a log of each process."""
        return self.directory / "logs"

    def keep_logs(self) -> None:
        """Do not remove the directory at the end, so that the logs can be read."""
        self._processes.keep_folders()

    # what the steps install

    async def start_control_plane(self) -> None:
        """Start etcd, kube-apiserver, kube-controller-manager, and whatever else the story needs from its beginning."""
        self._ending.push_async_callback(self.plane.stop)
        await self.plane.start()
        self._client = Client(kubeconfig.load(kubeconfig=str(self.plane.kubeconfig(USER))), field_manager="kubectl")
        self._ending.push_async_callback(self._client.close)

    def watch(self) -> None:
        """Watch the kinds of the story from now on."""
        self._watches = Watches(self._user, self.WATCHED)
        self._ending.push_async_callback(self._watches.end)

    async def install(self, one: Installation) -> None:
        """The ServiceAccount and RBAC of a capability."""
        documents = rights.documents(one.permissions(), service_account=one.service_account, theirs=one.theirs)
        await self.plane.apply(*documents)

    async def start(
        self, name: str, module: str, *arguments: str, environment: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        """Run a Python module that keeps running, with these variables beside those of this process."""
        await self._run(name, module, *arguments, environment=environment)
        self._companions.append(name)

    async def run_windlass(self, one: Installation, *arguments: str) -> None:
        """`windlass run`, as the capability's ServiceAccount; `ready` of a scene is about all that run."""
        account = one.service_account
        kubeconfig = await self.plane.service_account_kubeconfig(
            account.namespace, account.name, seconds=_TOKEN_SECONDS
        )
        (port,) = free_ports(1)
        name = f"windlass-{one.name}"
        await self.start(
            name,
            "windlass",
            "run",
            one.name,
            *arguments,
            f"--kubeconfig={kubeconfig}",
            f"--health-probe-bind-address=127.0.0.1:{port}",
            "--metrics-bind-address=0",
        )
        self._probes[name] = Rest(f"http://127.0.0.1:{port}")

    async def kill_windlass(self, capability: str) -> None:
        """SIGKILL to `windlass run`; it can be run again."""
        name = f"windlass-{capability}"
        self._companions.remove(name)
        del self._probes[name]
        await asyncio.to_thread(self._processes.kill, name)

    async def begin(self, name: str, *arguments: str, environment: Mapping[str, str] = MappingProxyType({})) -> None:
        """Run `windlass` with the `arguments`, as the user; a scene has its exit code and its output."""
        self._errand = name
        kubeconfig = f"--kubeconfig={self.plane.kubeconfig(USER)}"
        await self._run(name, "windlass", kubeconfig, *arguments, environment=environment)

    async def _run(
        self, name: str, module: str, *arguments: str, environment: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        variables = [f"{variable}={value}" for variable, value in environment.items()]
        argv = ["env", *variables, sys.executable, "-m", module, *arguments]
        await asyncio.to_thread(self._processes.start, name, argv, log=self.logs / f"{name}.log")

    # what a user does

    async def apply(self, *names: str) -> None:
        """`kubectl apply -f`, and `--subresource=status` for documents with a status."""
        folders = [resources.files(package).joinpath("manifests") for package in (self.MANIFESTS, "windlass.demo")]
        for name in names:
            file = next(folder.joinpath(name) for folder in folders if folder.joinpath(name).is_file())
            for document in yaml.safe_load_all(file.read_text(encoding="utf-8")):
                await self.plane.apply(document)
                if kind := _WITH_STATUS.get(document["kind"]):
                    named, status = document["metadata"]["name"], {"status": document["status"]}
                    await self._user.patch(kind, named, status, type=PatchType.MERGE, subresource="status")

    async def scale(self, kind: type[KubernetesObject], name: str, *, namespace: str, replicas: int) -> None:
        """`kubectl scale`."""
        path = kind.RESOURCE.path(name, namespace=namespace, subresource="scale")
        body = {"spec": {"replicas": replicas}}
        await self._user.request("PATCH", path, body=body, content_type=PatchType.MERGE.value)

    async def delete(self, kind: type[KubernetesObject], name: str, *, namespace: str) -> None:
        """`kubectl delete --wait=false`."""
        await self._user.delete(kind, name, namespace=namespace)

    async def merge(
        self, kind: type[KubernetesObject], name: str, body: Mapping[str, Any], *, namespace: str | None = None
    ) -> None:
        """`kubectl patch --type=merge`; `namespace` None: the kind is cluster-scoped."""
        await self._user.patch(kind, name, body, type=PatchType.MERGE, namespace=namespace)

    @property
    def _user(self) -> Client:
        assert self._client is not None, "there is no control plane yet"
        return self._client

    # what the scene shows

    async def look(self) -> C:
        """The scene as it is now."""
        if self._client is None:
            return self.opening
        scene = replace(self.opening, version=await self._answer())
        if (watches := self._watches) is not None:
            scene = replace(
                scene,
                unwatched=watches.unwatched,
                objects=watches.objects,
                ready=await self._ready(),
                leaders=tuple([await self._leader(*lease) for lease in self.LEASES.items()]),
                code=await asyncio.to_thread(self._processes.exit_code, self._errand) if self._errand else None,
                printed=self._printed(),
            )
        return await self.complete(scene)

    async def _answer(self) -> str:
        """The version of the API server."""
        if not self._version:
            answer = yaml.safe_load(await self._user.request("GET", "/version"))
            self._version = answer["gitVersion"]
        return self._version

    async def _ready(self) -> bool:
        """The answer of Windlass at /readyz; False before it runs."""
        try:
            for probes in self._probes.values():
                await asyncio.to_thread(probes.text, "GET", "/readyz", seconds=5.0)
        except PlaneError:
            return False
        return bool(self._probes)

    async def _leader(self, lease: str, namespace: str) -> str:
        """The holder of the Lease; empty if there is none, and before Windlass runs."""
        if not self._probes:
            return ""
        try:
            found = await self._user.get(Lease, lease, namespace=namespace)
        except NotFound:
            return ""
        return found.decode().spec.holder_identity or ""

    def _printed(self) -> str:
        """What the last command has printed so far; empty if there is none."""
        log = self.logs / f"{self._errand}.log"
        return log.read_text(encoding="utf-8", errors="replace") if self._errand and log.exists() else ""

    async def change(self, *, seconds: float) -> None:
        """Return when something changed, or after `seconds`."""
        if self._watches is None:
            await asyncio.sleep(seconds)
            return
        try:
            async with asyncio.timeout(seconds):
                await self._watches.changed.wait()
        except TimeoutError:
            return
        self._watches.changed.clear()

    def casualty(self) -> str:
        """The process that has ended although it should run, and the end of its log; empty if none has."""
        for name in self._companions:
            if (code := self._processes.exit_code(name)) is not None:
                lines = (self.logs / f"{name}.log").read_text(encoding="utf-8", errors="replace").splitlines()
                last = lines[-1] if lines else "(it wrote nothing)"
                return f"{name} ended with code {code}; the last line of its log: {last}"
        return ""


# Watches the objects of a story: caches of its kinds, and an event that is set when anything changes.


class Watches:
    """Watches the `kinds`, each in its namespace (None: cluster-scoped), until `end`.

    `changed` is set at every change.
    """

    def __init__(self, client: Client, kinds: Mapping[type[KubernetesObject], str | None]) -> None:
        self.changed = asyncio.Event()
        self._caches: dict[type[KubernetesObject], Cache[Any]] = {}
        for kind, namespace in kinds.items():
            cache = self._caches[kind] = Cache(client, kind, namespace=namespace)
            cache.subscribe(lambda _: self.changed.set())
        self._tasks = [
            asyncio.create_task(cache.run(), name=f"watch {cache.kind.RESOURCE}") for cache in self._caches.values()
        ]

    @property
    def unwatched(self) -> tuple[str, ...]:
        """The resources whose first list has not arrived."""
        return tuple(kind.RESOURCE.name for kind, cache in self._caches.items() if not cache.synced.is_set())

    @property
    def objects(self) -> dict[type[KubernetesObject], dict[str, Present[Any]]]:
        """The readable objects of each kind, by name."""
        return {kind: dict(_readable(cache)) for kind, cache in self._caches.items()}

    async def end(self) -> None:
        """Stop watching."""
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks)


def _readable(cache: Cache[Any]) -> Iterator[tuple[str, Present[Any]]]:
    for item in cache.items():
        if isinstance(found := seen(item), Present):
            yield item.name, found
