"""Makes a client of the API server from the common options.

    async with connect(settings) as client:
        ...

It does not contact the server; an unusable kubeconfig raises ConfigError here. The server's warnings are printed, as
kubectl does.
"""

import os
from pathlib import Path

from windlass.capability.conventions import complaints
from windlass.capability.conventions.settings import Settings
from windlass.kube import config
from windlass.kube.client import Client
from windlass.kube.client.warnings import Warned, once
from windlass.kube.config import ClusterConfig, Impersonation, kubeconfig
from windlass.kube.errors import ConfigError

REQUEST_TIMEOUT = 30.0
"""Seconds, unless `--request-timeout` says otherwise."""

FOREVER = 365 * 86_400.0
"""The seconds for `--request-timeout 0`: every request has a deadline, because timers need a number."""


def cluster(settings: Settings) -> ClusterConfig:
    """The connection that kubectl would use with the same flags. Raises ConfigError."""
    return config.load(
        kubeconfig=settings.kubeconfig,
        context=settings.context,
        namespace=settings.namespace,
        impersonate=impersonation(settings),
    )


def impersonation(settings: Settings) -> Impersonation | None:
    if settings.as_user is None:
        if settings.as_groups:
            raise ConfigError("--as-group needs --as USER: an API server takes groups only together with a user")
        return None
    return Impersonation(user=settings.as_user, groups=settings.as_groups or ())


def connect(settings: Settings, *, warned: Warned | None = None, user_agent: str = "") -> Client:
    """A client with the user's credentials and time limits. To be used with `async with`.

    `warned` gets the warnings of the API server; by default they are printed to standard error, each text once.
    """
    return Client(
        cluster(settings),
        timeout=request_timeout(settings),
        warned=warned or once(complaints.pass_on),
        user_agent=user_agent,
    )


def request_timeout(settings: Settings) -> float:
    """Seconds for one request."""
    if settings.request_timeout is None:
        return REQUEST_TIMEOUT
    return settings.request_timeout or FOREVER


def contexts(settings: Settings) -> list[str]:
    """The names of all contexts in the kubeconfig that would be used. Raises ConfigError."""
    listed = settings.kubeconfig or os.environ.get("KUBECONFIG") or str(Path.home() / ".kube" / "config")
    files = [Path(name) for name in listed.split(os.pathsep) if name]
    return list(kubeconfig.read(file for file in files if file.exists()).contexts)
