"""The control plane for asyncio: each method runs its blocking twin in a thread, so objects need no event loop."""

import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, Unpack

from windlass.testing.binaries import Report, to_stderr
from windlass.testing.plane.access import SETTLE_SECONDS, BlockingAccess, Document
from windlass.testing.plane.audit import AuditLog
from windlass.testing.plane.connection import ADMIN, Connection
from windlass.testing.plane.control_plane import BlockingControlPlane
from windlass.testing.plane.options import PlaneOptions
from windlass.testing.plane.webhooks import ServingCertificate


class PlaneAccess:
    """A running plane for tests, which do not start or stop it.

    `blocking` is the same plane for code without an event loop.
    """

    def __init__(self, blocking: BlockingAccess) -> None:
        self._access = blocking

    @property
    def blocking(self) -> BlockingAccess:
        """The same plane with methods that block."""
        return self._access

    @property
    def connection(self) -> Connection:
        """Address, CA file, tokens and folders, as a value. Raises NotRunning if the plane is not there."""
        return self._access.connection

    @property
    def url(self) -> str:
        """`https://127.0.0.1:<port>` of the API server."""
        return self._access.url

    @property
    def logs(self) -> Path:
        """The folder with a log for each process, and `audit.log`."""
        return self.connection.logs

    @property
    def audit(self) -> AuditLog:
        """The requests to the API server so far, and their users."""
        return self._access.audit

    def kubeconfig(self, user: str = ADMIN) -> Path:
        """A kubeconfig file for `admin` (may do everything) or one of the `users` that the plane was made with."""
        return self._access.kubeconfig(user)

    async def service_account_kubeconfig(self, namespace: str, name: str, *, seconds: int = 3600) -> Path:
        """A kubeconfig file for an existing ServiceAccount, with a token valid for `seconds`; RBAC applies to it."""
        return await asyncio.to_thread(
            self._access.service_account_kubeconfig, namespace, name, seconds=seconds
        )  # fmt: skip

    def serving_certificate(self, folder: Path) -> ServingCertificate:
        """A certificate for 127.0.0.1, put into `folder`, for webhooks that the API server calls; see `at_loopback`."""
        return self._access.serving_certificate(folder)

    async def apply(self, *documents: Document) -> list[dict[str, Any]]:
        """Server-side apply documents in order, waiting for their kinds to be served; returns the objects."""
        return await asyncio.to_thread(self._access.apply, *documents)

    async def apply_files(self, *paths: Path) -> list[dict[str, Any]]:
        """Apply YAML files and the `*.yaml` files in folders, CRDs first and waited for."""
        return await asyncio.to_thread(self._access.apply_files, *paths)

    async def apply_crds(self, *crds: Path | Document) -> list[dict[str, Any]]:
        """Apply CRDs, given as documents, files or folders, and wait until each is established and served."""
        return await asyncio.to_thread(self._access.apply_crds, *crds)

    async def create_namespace(self, prefix: str = "test-") -> str:
        """Make a namespace with a generated name; returns the name once its default ServiceAccount exists."""
        return await asyncio.to_thread(self._access.create_namespace, prefix)

    async def delete_namespace(self, name: str) -> None:
        """Start the deletion of a namespace."""
        await asyncio.to_thread(self._access.delete_namespace, name)

    async def wait_until_namespace_is_gone(self, name: str, *, seconds: float = SETTLE_SECONDS) -> None:
        """Return when a namespace does not exist any more. Raises PlaneError with what it holds after `seconds`."""
        await asyncio.to_thread(self._access.wait_until_namespace_is_gone, name, seconds=seconds)


class ControlPlane(PlaneAccess):
    """A real control plane of your own, for as long as an `async with` block lasts.

        async with ControlPlane() as plane:
            await plane.apply_crds(Path("crds"))
            client = my_client(plane.kubeconfig())

    `BlockingControlPlane` takes the same arguments, says what they mean, and is for code without an event loop.
    """

    def __init__(
        self,
        *,
        assets: str | os.PathLike[str] | None = None,
        kubernetes: str | None = None,
        directory: Path | None = None,
        keep: bool = False,
        report: Report = to_stderr,
        **options: Unpack[PlaneOptions],
    ) -> None:
        self._plane = BlockingControlPlane(
            assets=assets, kubernetes=kubernetes, directory=directory, keep=keep, report=report, **options
        )
        super().__init__(self._plane)

    @classmethod
    def around(cls, plane: BlockingControlPlane) -> Self:
        """The asyncio view of a blocking plane."""
        view = cls.__new__(cls)
        PlaneAccess.__init__(view, plane)
        view._plane = plane
        return view

    @property
    def blocking(self) -> BlockingControlPlane:
        """The same plane with methods that block."""
        return self._plane

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        """Bring everything up, about 4 s when cached. Raises StartFailed or a BinariesError; both say what to do."""
        starting = asyncio.ensure_future(asyncio.to_thread(self._plane.start))
        try:
            await asyncio.shield(starting)
        except asyncio.CancelledError:
            # The thread cannot be interrupted; let it end and then take down what it started.
            await asyncio.wait([starting])
            await self.stop()
            raise

    async def stop(self) -> None:
        """End all processes and remove the folders. Does nothing if not running."""
        await asyncio.to_thread(self._plane.stop)

    async def run(self, name: str, argv: Sequence[str | Path], *, ready: Callable[[], bool]) -> None:
        """Run another program until the plane ends; returns when `ready()`, called in a thread, is true."""
        await asyncio.to_thread(self._plane.run, name, argv, ready=ready)

    async def runs(self, name: str) -> bool:
        """Whether the program that was started as `name` by `run` has not ended."""
        return await asyncio.to_thread(self._plane.runs, name)

    async def kill_apiserver(self) -> None:
        """SIGKILL the API server. Everybody's connections break; etcd keeps the objects."""
        await asyncio.to_thread(self._plane.kill_apiserver)

    async def restart_apiserver(self) -> None:
        """Start the API server again on the same port with the same keys, killing it first; waits until ready."""
        await asyncio.to_thread(self._plane.restart_apiserver)

    async def compact(self) -> int:
        """Make etcd forget all revisions but the present one; returns it. Clients notice after restart_apiserver()."""
        return await asyncio.to_thread(self._plane.compact)

    async def forget_history(self) -> None:
        """Compact etcd and restart the API server: watches and lists from before this moment get 410."""
        await asyncio.to_thread(self._plane.forget_history)

    async def back_up(self, folder: Path) -> None:
        """Copy the data of etcd to `folder`, which does not exist yet; restarts etcd and the API server."""
        await asyncio.to_thread(self._plane.back_up, folder)

    async def restore(self, folder: Path) -> None:
        """Go back to the state that `back_up` has copied to `folder`. Resource versions are given a second time."""
        await asyncio.to_thread(self._plane.restore, folder)
