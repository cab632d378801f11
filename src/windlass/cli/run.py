"""`windlass run`: controllers, until they are told to stop."""

from typing import TYPE_CHECKING, Any

import click

from windlass.cli.conventions.exit_codes import Exit
from windlass.cli.conventions.options import Duration
from windlass.cli.conventions.settings import Settings, settings_of
from windlass.cli.machine_sync import sides

if TYPE_CHECKING:
    from windlass.capability.service import Address

SECONDS = Duration()


class ListenOn(click.ParamType[Any]):
    """`HOST:PORT`, `:PORT` for all addresses, or `0` for not at all."""

    name = "address"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> "Address | None":
        from windlass.capability.service import Address

        if value is None or isinstance(value, Address):
            return value
        if value == "0":
            return None
        host, _, port = str(value).rpartition(":")
        if not port.isdigit() or int(port) > 65535 or ":" not in value:
            self.fail(f"{value!r} is not an address: write HOST:PORT, :PORT (all addresses) or 0 (none)", param, ctx)
        return Address(host.strip("[]") or "0.0.0.0", int(port))


@click.group()
def command() -> None:
    """Run controllers until SIGTERM or Ctrl-C.

    Credentials are those of the pod, else of the kubeconfig. A second signal stops at once.
    """


@command.command("machine-sync")
@sides.namespace_options
@click.option(
    "--leader-elect/--no-leader-elect",
    default=True,
    show_default=True,
    help="Work only while holding the Lease of OpenShift's migration operator, so that several replicas may run, and "
    "never beside that operator.",
)
@click.option("--leader-elect-lease-duration", type=SECONDS, default="15s", show_default=True, help="Its length.")
@click.option(
    "--leader-elect-renew-deadline", type=SECONDS, default="10s", show_default=True, help="How long to try to renew."
)
@click.option("--leader-elect-retry-period", type=SECONDS, default="2s", show_default=True, help="Time between tries.")
@click.option("--workers", type=click.IntRange(1, 256), default=16, show_default=True, help="Machines at a time.")
@click.option("--resync", type=SECONDS, default="10m", show_default=True, help="Look at everything this often.")
@click.option("--drain", type=SECONDS, default="20s", show_default=True, help="Time to finish work after SIGTERM.")
@click.option(
    "--health-probe-bind-address",
    type=ListenOn(),
    metavar="ADDRESS",
    default=":8081",
    show_default=True,
    help="Where /healthz and /readyz are served; 0 for nowhere.",
)
@click.option(
    "--metrics-bind-address",
    type=ListenOn(),
    metavar="ADDRESS",
    default=":8443",
    show_default=True,
    help="Where /metrics is served; 0 for nowhere.",
)
@click.option("--metrics-open", is_flag=True, help="Ask nobody who they are; needs a loopback address.")
@click.option("--metrics-tls-cert", type=click.Path(), help="Certificate of /metrics. Default: no TLS.")
@click.option("--metrics-tls-key", type=click.Path(), help="Its private key.")
@settings_of
def machine_sync(
    settings: Settings,
    *,
    machine_api_namespace: str,
    cluster_api_namespace: str,
    leader_elect: bool,
    leader_elect_lease_duration: float,
    leader_elect_renew_deadline: float,
    leader_elect_retry_period: float,
    workers: int,
    resync: float,
    drain: float,
    health_probe_bind_address: Any,
    metrics_bind_address: Any,
    metrics_open: bool,
    metrics_tls_cert: str | None,
    metrics_tls_key: str | None,
) -> int:
    """Keep Machines and MachineSets of the Machine API and of Cluster API in sync, both ways, and move authority from
    one API to the other, while the feature gate MachineAPIMigration is enabled."""
    import signal

    # Until the manager handles it: PID 1 of a container ignores SIGTERM otherwise.
    signal.signal(signal.SIGTERM, signal.default_int_handler)

    import asyncio
    from pathlib import Path

    from windlass.capability import service
    from windlass.cli.conventions import connection
    from windlass.kube.process import logs
    from windlass.kube.process.lease import LeaseTimes
    from windlass.kube.process.serving import TlsFiles
    from windlass.machine_sync.constants import Namespaces
    from windlass.machine_sync.service import frame

    if (metrics_tls_cert is None) != (metrics_tls_key is None):
        raise click.UsageError("--metrics-tls-cert and --metrics-tls-key belong together: give both or neither")
    tls = TlsFiles(Path(metrics_tls_cert), Path(metrics_tls_key)) if metrics_tls_cert and metrics_tls_key else None
    times = None
    if leader_elect:
        try:
            times = LeaseTimes(leader_elect_lease_duration, leader_elect_renew_deadline, leader_elect_retry_period)
        except ValueError as error:
            raise click.UsageError(f"leader election: {error}") from error
    logs.configure(level=settings.log_level or "info")
    asyncio.run(
        service.run(
            connection.cluster(settings),
            service.Settings(
                times=times,
                workers=workers,
                resync=resync,
                request_timeout=connection.request_timeout(settings),
                drain=drain,
                probes=health_probe_bind_address,
                metrics=metrics_bind_address,
                metrics_open=metrics_open,
                metrics_tls=tls,
            ),
            frame(Namespaces(machine_api_namespace, cluster_api_namespace)),
        )
    )
    return Exit.OK
