"""Starts, disturbs and stops a real etcd, kube-apiserver and kube-controller-manager.

Blocking; `windlass.testing.ControlPlane` offers the same to asyncio.
"""

import base64
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from types import TracebackType
from typing import Self

from windlass.testing.binaries import CORE_PARTS, Assets, Report, obtain, to_stderr
from windlass.testing.plane import audit
from windlass.testing.plane.access import BlockingAccess, Document, found
from windlass.testing.plane.commands import APISERVER, CONTROLLER_MANAGER, ETCD, Commands, Ports
from windlass.testing.plane.connection import ADMIN, Connection
from windlass.testing.plane.errors import NotRunning, PlaneError, StartFailed
from windlass.testing.plane.ports import HeldPorts
from windlass.testing.plane.processes import Processes
from windlass.testing.plane.rest import Rest, answers
from windlass.testing.plane.waiting import wait_for

START_SECONDS = 180.0
"""How long one process may take to get ready. On an idle machine it is 2 s; test machines are not idle."""

_MASTERS = "system:masters"
_SYSTEM_USERS: Mapping[str, Sequence[str]] = {
    ADMIN: [_MASTERS],
    # The name that the API server's built-in roles are bound to.
    "system:kube-controller-manager": [],
}


class BlockingControlPlane(BlockingAccess):
    """A control plane of our own, from `start` to `stop` or within a `with` block.

    crds             CRDs as documents, files or folders, applied before kube-controller-manager starts. Objects of CRDs
                     that come later are garbage collected only after up to 30 s
    controller_manager
                     run kube-controller-manager. Without it nothing collects garbage, empties namespaces or fills
                     aggregated ClusterRoles (`view`, `edit`, `admin`), and an assets folder need not hold it
    admission_plugins
                     admission plugins to enable beside the API server's defaults
    feature_gates    switched on or off in kube-apiserver and kube-controller-manager
    users            names and groups of users that get a token, beside `admin`; see `kubeconfig`
    apiserver_flags  appended to kube-apiserver's command line, for example `--runtime-config=...`
    assets           a folder with etcd and kube-apiserver, instead of KUBEBUILDER_ASSETS or what we build
    kubernetes       the version that is wanted, for example `1.35`; an error names the remedy where it is not there
    directory        where logs and kubeconfigs go, kept after the end; without it a temporary folder that is removed
    keep             keep the temporary folder
    report           takes the lines that tell of a first-time build
    """

    def __init__(
        self,
        *,
        crds: Sequence[Path | Document] = (),
        controller_manager: bool = True,
        admission_plugins: Sequence[str] = (),
        feature_gates: Mapping[str, bool] | None = None,
        users: Mapping[str, Sequence[str]] | None = None,
        apiserver_flags: Sequence[str] = (),
        assets: str | os.PathLike[str] | None = None,
        kubernetes: str | None = None,
        directory: Path | None = None,
        keep: bool = False,
        report: Report = to_stderr,
    ) -> None:
        super().__init__(None)
        self._crds = tuple(crds)
        self._controller_manager = controller_manager
        self._admission_plugins = tuple(admission_plugins)
        self._feature_gates = dict(feature_gates or {})
        self._users = {**(users or {}), **_SYSTEM_USERS}
        self._apiserver_flags = tuple(apiserver_flags)
        self._assets = assets
        self._kubernetes = kubernetes
        self._directory = directory
        self._keep = keep
        self._report = report
        self._processes: Processes | None = None
        self._held: HeldPorts | None = None
        self._guests: list[str] = []
        self._commands: Commands | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Bring everything up; returns when the API server and the managers are ready, about 4 s when cached.

        Raises StartFailed with the end of the failing process's log; a BinariesError if programs cannot be obtained.
        """
        if self._processes is not None:
            raise PlaneError("the control plane is running already: make another ControlPlane for a second one")
        unneeded = () if self._controller_manager else (CONTROLLER_MANAGER,)
        assets = obtain(
            CORE_PARTS, assets=self._assets, kubernetes=self._kubernetes, unneeded=unneeded, report=self._report
        )
        self._start(assets)

    def stop(self) -> None:
        """End all processes in order (SIGTERM, then SIGKILL) and remove the folders. Does nothing if not running."""
        processes, self._processes = self._processes, None
        if processes is None:
            return
        self._connection, self._commands, self._rest = None, None, None
        self._served.clear()
        guests, self._guests = self._guests, []
        try:
            processes.stop(*guests, CONTROLLER_MANAGER)
            processes.stop(APISERVER)
            processes.stop(ETCD)
        finally:
            processes.close()
            if self._held is not None:
                self._held.close()

    def run(self, name: str, argv: Sequence[str | Path], *, ready: Callable[[], bool]) -> None:
        """Run another program until the plane ends; returns when `ready()` is true. Its log is among the plane's.

        Raises StartFailed with the end of the log if the program ends before that.
        """
        built = self._built
        self._guests.append(name)
        self._run(name, argv, built)
        self._wait_until_ready(name, ready, built)

    def runs(self, name: str) -> bool:
        """Whether the program that was started as `name` by `run` has not ended."""
        return name in self._guests and self._running.exit_code(name) is None

    def kill_apiserver(self) -> None:
        """SIGKILL the API server. Everybody's connections break; etcd keeps the objects, and nobody gets the port."""
        self._running.kill(APISERVER)

    def restart_apiserver(self) -> None:
        """Start the API server again, on the same port with the same keys; kill it first if it runs. Waits until ready.

        Its watch cache starts empty: it answers 410 to a watch from a resource version that etcd has compacted away.
        """
        self.kill_apiserver()
        self._start_apiserver(self._built)
        self._wait_until_api_ready(self._built)

    def revive_apiserver(self) -> None:
        """Start the API server again if it was killed."""
        if self._running.exit_code(APISERVER) is not None:
            self.restart_apiserver()

    def compact(self) -> int:
        """Make etcd forget every revision but the present one; returns that revision.

        Clients notice nothing at first: the API server serves watches, continue tokens and exact resource versions from
        memory. After a restart it answers 410 to all of them; `forget_history` does both.
        """
        etcd = Rest(self._built.etcd_url)
        any_key = base64.b64encode(b"\0").decode()
        revision = int(etcd.request("POST", "/v3/kv/range", {"key": any_key, "count_only": True})["header"]["revision"])
        etcd.request("POST", "/v3/kv/compaction", {"revision": str(revision), "physical": True})
        return revision

    def forget_history(self) -> None:
        """Compact etcd and restart the API server, so that watches and lists from before this moment get 410."""
        self.compact()
        self.restart_apiserver()

    def back_up(self, folder: Path) -> None:
        """Copy the data of etcd to `folder`, which does not exist yet; restarts etcd and the API server."""
        self._while_etcd_is_down(lambda data: shutil.copytree(data, folder))

    def restore(self, folder: Path) -> None:
        """Go back to the state that `back_up` has copied to `folder`. Resource versions are given a second time."""

        def replace(data: Path) -> None:
            shutil.rmtree(data)
            shutil.copytree(folder, data)

        self._while_etcd_is_down(replace)

    def _while_etcd_is_down(self, act: Callable[[Path], object]) -> None:
        self.kill_apiserver()
        self._running.stop(ETCD)
        act(self._built.data)
        self._start_etcd(self._built)
        self.restart_apiserver()

    @property
    def _running(self) -> Processes:
        if self._processes is None:
            raise NotRunning("the control plane is not running: use it inside `with`, or call start() first")
        return self._processes

    @property
    def _built(self) -> Commands:
        if self._commands is None:
            raise NotRunning("the control plane is not running: use it inside `with`, or call start() first")
        return self._commands

    def _start(self, assets: Assets) -> None:
        data = data_folder()
        directory = self._directory.absolute() if self._directory else plane_folder()
        temporary = [data] if self._directory or self._keep else [data, directory]
        for folder in ("logs", "pki"):
            (directory / folder).mkdir(parents=True, exist_ok=True)
        self._processes = Processes(folders=temporary, log=directory / "logs" / "supervisor.log")
        self._held = HeldPorts(len(fields(Ports)))
        ports = Ports(*self._held.ports)
        built = self._commands = Commands(assets, ports, directory, data, self._feature_gates)
        try:
            self._start_etcd(built)
            tokens = {user: secrets.token_urlsafe(24) for user in self._users}
            self._write_apiserver_files(built, tokens)
            self._start_apiserver(built)
            self._connection = Connection(
                f"https://127.0.0.1:{ports.apiserver}",
                built.ca_file,
                tokens,
                built.directory,
                controller_manager=self._controller_manager,
            )
            self._wait_until_api_ready(built)
            self.apply_crds(*self._crds)
            if self._controller_manager:
                self._start_controller_manager(built)
            else:
                self._do_without_controller_manager()
        except BaseException as problem:
            if isinstance(problem, StartFailed) and self._directory is None:
                # The message points at the logs.
                self._processes.keep_folders()
                shutil.rmtree(data, ignore_errors=True)
            self.stop()
            raise

    def _start_etcd(self, built: Commands) -> None:
        self._run(ETCD, built.etcd(), built)
        health = Rest(built.etcd_url)
        self._wait_until_ready(ETCD, lambda: answers(health, "/readyz"), built)

    def _write_apiserver_files(self, built: Commands, tokens: Mapping[str, str]) -> None:
        lines = []
        for number, (user, token) in enumerate(tokens.items()):
            groups = ",".join(self._users[user])
            lines.append(f'{token},"{user}",{number},"{groups}"\n')
        (built.pki / "tokens.csv").write_text("".join(lines), encoding="utf-8")
        (built.pki / "audit-policy.json").write_text(json.dumps(audit.POLICY), encoding="utf-8")

    def _start_apiserver(self, built: Commands) -> None:
        argv = built.apiserver(
            token_file=built.pki / "tokens.csv",
            audit_policy=built.pki / "audit-policy.json",
            admission_plugins=self._admission_plugins,
            flags=self._apiserver_flags,
        )
        self._run(APISERVER, argv, built)

    def _wait_until_api_ready(self, built: Commands) -> None:
        def ready() -> bool:
            try:
                rest = self.rest
            except OSError:
                # The API server writes its certificate a moment after its start: not there yet, or not all of it.
                return False
            return answers(rest, "/readyz")

        self._wait_until_ready(APISERVER, ready, built)

    def _start_controller_manager(self, built: Commands) -> None:
        kubeconfig = self.kubeconfig("system:kube-controller-manager")
        self._run(CONTROLLER_MANAGER, built.controller_manager(kubeconfig=kubeconfig), built)
        # It reports healthy before its controllers work, so wait for an object that one of them creates.
        account, rest = "/api/v1/namespaces/default/serviceaccounts/default", self.rest
        self._wait_until_ready(CONTROLLER_MANAGER, lambda: found(rest, account) is not None, built)

    def _do_without_controller_manager(self) -> None:
        path, rest = "/api/v1/namespaces/default", self.rest
        # The API server creates the namespace a moment after it is ready.
        if wait_for(lambda: found(rest, path), seconds=START_SECONDS) is None:
            raise StartFailed(f"{APISERVER} did not create the namespace `default` within {START_SECONDS:.0f} s")
        self.create_default_service_account("default")

    def _run(self, name: str, argv: Sequence[str | Path], built: Commands) -> None:
        self._running.start(name, argv, log=built.directory / "logs" / f"{name}.log")

    def _wait_until_ready(self, name: str, ready: Callable[[], bool], built: Commands) -> None:
        log = built.directory / "logs" / f"{name}.log"

        def look() -> bool | None:
            if (code := self._running.exit_code(name)) is not None:
                problem = f"{name} ended with code {code} before it was ready"
                raise _diagnosis(problem, log)
            return True if ready() else None

        if wait_for(look, seconds=START_SECONDS) is None:
            raise _diagnosis(f"{name} was not ready within {START_SECONDS:.0f} s", log)


def _diagnosis(problem: str, log: Path) -> StartFailed:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    tail = "\n".join(f"    {line[:500]}" for line in lines[-20:]) or "    (it wrote nothing)"
    return StartFailed(f"{problem}. The end of its log, {log}:\n{tail}")


# Creates the folders of one plane: logs and credentials on disk, etcd's data on tmpfs if there is room.

_SHARED_MEMORY = Path("/dev/shm")
# etcd reserves 64 MB for each of two log segments from the start; a container's default /dev/shm holds just that.
_MEMORY_NEEDED = 1 << 30


def data_folder() -> Path:
    """A new folder for etcd's data: on tmpfs if there is one with room, else in the temporary directory."""
    return Path(tempfile.mkdtemp(prefix="windlass-etcd-", dir=_SHARED_MEMORY if _roomy(_SHARED_MEMORY) else None))


def plane_folder() -> Path:
    """A new folder for a plane's logs, keys and kubeconfigs, readable by us alone."""
    return Path(tempfile.mkdtemp(prefix="windlass-plane-"))


def _roomy(folder: Path) -> bool:
    try:
        return shutil.disk_usage(folder).free >= _MEMORY_NEEDED
    except OSError:
        return False
