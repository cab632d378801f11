"""Controllers that somebody runs by hand: what other machines can reach, and the form of log lines."""

from typing import Any

import click
import pytest

from windlass.cli.run import _settings, command
from windlass.kube.process.serving import TlsFiles

TLS = ("--metrics-tls-cert=tls.crt", "--metrics-tls-key=tls.key")


def chosen(*flags: str) -> Any:
    """The settings that `windlass run machine-sync` has with these flags."""
    found = command.get_command(click.Context(command), "machine-sync")
    assert found is not None
    return _settings(found.make_context("machine-sync", list(flags)).params, request_timeout=30.0)


def test_without_flags_other_machines_reach_nothing() -> None:
    settings = chosen()
    assert (settings.probes.host, settings.probes.port) == ("127.0.0.1", 8081)
    assert (settings.metrics.host, settings.metrics.port) == ("127.0.0.1", 8443)


def test_metrics_for_others_need_tls_because_tokens_are_sent_for_them() -> None:
    settings = chosen("--metrics-bind-address=:8443", *TLS)
    assert settings.metrics.host == "0.0.0.0"
    assert isinstance(settings.metrics_tls, TlsFiles)
    with pytest.raises(click.UsageError, match=r"0\.0\.0\.0:8443: tokens would cross .* give --metrics-tls-cert"):
        chosen("--metrics-bind-address=:8443")


@pytest.mark.parametrize("address", ["0", "127.0.0.1:9000", "[::1]:9000", "localhost:9000"])
def test_this_machine_needs_no_tls(address: str) -> None:
    settings = chosen(f"--metrics-bind-address={address}")
    assert settings.metrics is None or settings.metrics.port == 9000
