"""`windlass run`: runs controllers until they are told to stop."""

from typing import TYPE_CHECKING, Any

import click

from windlass.capability.capability import Capability
from windlass.capability.conventions.exit_codes import Exit
from windlass.capability.conventions.options import Duration, ListenOn
from windlass.capability.conventions.settings import Settings, settings_of
from windlass.cli.capabilities import CommandOfEach

if TYPE_CHECKING:
    from windlass.capability import service
    from windlass.kube.process.logs import Format

SECONDS = Duration()
_FORMATS: "dict[str | None, Format]" = {None: "auto", "text": "console", "json": "json"}


def _of(name: str, capability: Capability) -> click.Command:
    """`windlass run NAME`: the options of every capability after its own."""

    @click.command(name, help=capability.run)
    @capability.options
    @click.option("--leader-elect/--no-leader-elect", default=True, show_default=True, help=capability.elected)
    @click.option(
        "--leader-elect-lease-duration",
        type=SECONDS,
        default="15s",
        show_default=True,
        help="How long others wait for a holder that no longer renews.",
    )
    @click.option(
        "--leader-elect-renew-deadline",
        type=SECONDS,
        default="10s",
        show_default=True,
        help="How long the holder tries to renew before it gives up.",
    )
    @click.option(
        "--leader-elect-retry-period", type=SECONDS, default="2s", show_default=True, help="Time between tries."
    )
    @click.option("--workers", type=click.IntRange(1, 256), default=16, show_default=True, help=capability.workers)
    @click.option(
        "--resync",
        type=SECONDS,
        default="10m",
        show_default=True,
        help="Interval at which everything is reconciled again.",
    )
    @click.option("--drain", type=SECONDS, default="20s", show_default=True, help="Time to finish work after SIGTERM.")
    @click.option(
        "--health-probe-bind-address",
        type=ListenOn(),
        metavar="ADDRESS",
        default="127.0.0.1:8081",
        show_default=True,
        help="Address of /healthz and /readyz; 0 disables them. In a pod: `:8081`.",
    )
    @click.option(
        "--metrics-bind-address",
        type=ListenOn(),
        metavar="ADDRESS",
        default="127.0.0.1:8443",
        show_default=True,
        help="Address of /metrics; 0 disables it. With TLS also `:8443`.",
    )
    @click.option(
        "--metrics-open", is_flag=True, help="Serve /metrics without authentication; needs a loopback address."
    )
    @click.option("--metrics-tls-cert", type=click.Path(), help="Certificate of /metrics. Default: no TLS.")
    @click.option("--metrics-tls-key", type=click.Path(), help="Private key of that certificate.")
    @click.option(
        "--log-format",
        type=click.Choice(["text", "json"]),
        help="Form of log lines. Default: text on a terminal, else json.",
    )
    @settings_of
    def command(settings: Settings, /, **values: Any) -> int:
        return _run(settings, capability, values)

    return command


@click.group(cls=CommandOfEach, of=_of)
def command() -> None:
    """Run controllers until SIGTERM or Ctrl-C.

    Credentials are those of the pod, else of the kubeconfig. A second signal stops at once.
    """


def _run(settings: Settings, capability: Capability, values: dict[str, Any]) -> int:
    import gc
    import signal

    # Until the process handles SIGTERM itself: PID 1 of a container ignores a signal that has no handler.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # Modules stay: looking for garbage among them while they are imported would take a tenth of the start.
    gc.disable()
    try:
        import asyncio

        from windlass.capability import service
        from windlass.capability.conventions import connection
        from windlass.capability.installed import Own
        from windlass.kube.process import logs

        frame_settings = _settings(values, request_timeout=connection.request_timeout(settings))
        installed = capability.install(home=settings.namespace or capability.home, **capability.own(values))
        frame = installed.frame()
        own = Own(installed.name, tuple(owned.kind for owned in installed.owned))
    finally:
        gc.enable()
    logs.configure(level=settings.log_level or "info", format=_FORMATS[values["log_format"]])
    asyncio.run(service.run(connection.cluster(settings), frame_settings, frame, own=own))
    return Exit.OK


def _settings(values: dict[str, Any], *, request_timeout: float) -> "service.ProcessSettings":
    """The settings from the options of every capability. Raises UsageError."""
    from pathlib import Path

    from windlass.capability import service
    from windlass.kube.process.lease import LeaseTimes
    from windlass.kube.process.loopback import is_loopback

    cert, key = values["metrics_tls_cert"], values["metrics_tls_key"]
    if (cert is None) != (key is None):
        raise click.UsageError("--metrics-tls-cert and --metrics-tls-key belong together: give both or neither")
    probes, metrics = values["health_probe_bind_address"], values["metrics_bind_address"]
    tls = None
    if cert and key:
        from windlass.kube.process.serving import TlsFiles

        tls = TlsFiles(Path(cert), Path(key))
    elif metrics and not is_loopback(metrics[0]):
        raise click.UsageError(
            f"--metrics-bind-address {metrics[0]}:{metrics[1]}: tokens would cross the network in clear text: give "
            "--metrics-tls-cert and --metrics-tls-key, or an address of this machine such as 127.0.0.1:8443"
        )
    times = None
    if values["leader_elect"]:
        asked = ("lease_duration", "renew_deadline", "retry_period")
        try:
            times = LeaseTimes(*(values[f"leader_elect_{one}"] for one in asked))
        except ValueError as error:
            raise click.UsageError(f"leader election: {error}") from error
    return service.ProcessSettings(
        times=times,
        workers=values["workers"],
        resync=values["resync"],
        request_timeout=request_timeout,
        drain=values["drain"],
        probes=probes and service.Address(*probes),
        metrics=metrics and service.Address(*metrics),
        metrics_open=values["metrics_open"],
        metrics_tls=tls,
    )
