"""Starts and stops a real OpenStack of our own on loopback."""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self, Unpack

from windlass.testing.authority import new_authority
from windlass.testing.binaries.progress import Report, to_stderr
from windlass.testing.cloud import clouds, packages, seed
from windlass.testing.cloud.access import CloudAccess, CloudConnection
from windlass.testing.cloud.errors import CloudError, StartFailed
from windlass.testing.cloud.layout import HOST, OPTIONAL, SERVICES, CloudOptions, Layout
from windlass.testing.cloud.services import Services
from windlass.testing.plane.ports import HeldPorts


def install(*, cache: Path | None = None, report: Report = to_stderr) -> tuple[Path, Path]:
    """The virtual environment and the seed, made now if they are not there: 100 s on two cores.

    `cache` is a folder to use in place of the user's cache. Raises InstallFailed.
    """
    folders = packages.folders(cache)
    environment, planted = folders.get(packages.key()), folders.get(seed.key())
    if environment is None or planted is None:
        with folders.filling(report):
            environment = packages.obtain(folders, report=report)
            planted = seed.obtain(folders, report=report)
    return environment, planted


class Cloud(CloudAccess):
    """A cloud of our own, from `start` to `stop` or within a `with` block. See `CloudOptions` for `options`.

    directory      where its files go, kept after the end; without it a temporary folder that is removed
    keep           keep the temporary folder
    report         takes the lines that tell of the installation
    """

    def __init__(
        self,
        *,
        directory: Path | None = None,
        keep: bool = False,
        report: Report = to_stderr,
        **options: Unpack[CloudOptions],
    ) -> None:
        if unknown := {*options.get("skip", ())} - {*OPTIONAL}:
            raise CloudError(f"a cloud cannot do without {', '.join(sorted(unknown))}: skip {' or '.join(OPTIONAL)}")
        self._options = options
        self._directory = directory
        self._keep = keep
        self._report = report
        self._layout: Layout | None = None
        self._services: Services | None = None
        self._ports: HeldPorts | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def connection(self) -> CloudConnection:
        return CloudConnection.to(self._running[0])

    def start(self) -> None:
        """Start all services; returns when they are ready: 10 s, the first time on a machine 100 s more.

        Raises InstallFailed, and StartFailed with the end of the log of the service that did not start.
        """
        if self._services is not None:
            raise CloudError("the cloud is running already: make another Cloud for a second one")
        environment, planted = install(report=self._report)
        names = [service for service in SERVICES if service not in self._options.get("skip", ())]
        self._ports = HeldPorts(len(names))
        try:
            self._start(environment, planted, dict(zip(names, self._ports.ports, strict=True)))
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End all services and remove the folder. Does nothing if not running."""
        services, self._services = self._services, None
        ports, self._ports = self._ports, None
        for name in ("admin", "_roles", "_fronts"):
            self.__dict__.pop(name, None)
        if services is not None:
            services.close()
        if ports is not None:
            ports.close()

    def start_service(self, service: str) -> None:
        """Start one service again; returns when it is ready. Its faults and its log of requests are gone."""
        self._running[1].start(service)

    def stop_service(self, service: str) -> None:
        """End one service; connections to it are refused then, and nobody else gets its port."""
        self._running[1].stop(service)

    def runs(self, service: str) -> bool:
        """Whether a service has been started and not ended."""
        return self._running[1].runs(service)

    @property
    def _running(self) -> tuple[Layout, Services]:
        if self._services is None or self._layout is None:
            raise CloudError("the cloud is not running: use it inside `with`, or call start() first")
        return self._layout, self._services

    def _start(self, environment: Path, planted: Path, ports: Mapping[str, int]) -> None:
        with self._folder() as folder:
            layout = self._layout = Layout(folder, environment, ports, self._options)
            seed.plant(planted, layout)
            if layout.ca_file is not None:
                write_certificate(layout)
            clouds.write(layout)
            self._services = Services(layout, temporary=[] if self._directory or self._keep else [folder])
            try:
                self._services.start(*ports)
            except StartFailed:
                # The message points at the logs.
                self._services.keep_folders()
                raise

    @contextlib.contextmanager
    def _folder(self) -> Iterator[Path]:
        """The folder of a cloud, readable by us alone; what remains of an earlier one there is removed."""
        if self._directory is None:
            yield Path(tempfile.mkdtemp(prefix="windlass-cloud-"))
            return
        folder = self._directory.absolute()
        for name in ("state", "logs", "etc"):
            shutil.rmtree(folder / name, ignore_errors=True)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        yield folder


# The certificate of a cloud with TLS, and its authority.


def write_certificate(layout: Layout) -> None:
    """Write the files that a layout with TLS names. Raises CloudError without `trustme`."""
    assert layout.ca_file is not None
    assert layout.certificate is not None
    try:
        authority = new_authority()
    except ModuleNotFoundError as error:
        raise CloudError(str(error)) from None
    authority.cert_pem.write_to_path(layout.ca_file)
    authority.issue_cert(HOST, "localhost").private_key_and_cert_chain_pem.write_to_path(layout.certificate)
    layout.certificate.chmod(0o600)
