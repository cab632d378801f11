"""Reads the HTTP proxy from the environment by the rules of Go programs.

OpenShift sets `HTTPS_PROXY` and `NO_PROXY` in its pods, and lists the service network in `NO_PROXY` as a CIDR. Python's
`urllib` does not understand CIDRs there: requests to the API server would leave the cluster.
"""

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit


def from_environment(server: str, environ: Mapping[str, str]) -> str | None:
    """The proxy for requests to the URL `server`, or None to go directly."""
    parts = urlsplit(server)
    proxy = _variable(environ, f"{parts.scheme}_proxy")
    if not proxy or not parts.hostname or _is_local(parts.hostname):
        return None
    port = parts.port or (443 if parts.scheme == "https" else 80)
    if any(_covers(pattern.strip().lower(), parts.hostname, port) for pattern in _no_proxy(environ)):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _variable(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name.upper()) or environ.get(name.lower()) or ""


def _no_proxy(environ: Mapping[str, str]) -> list[str]:
    return _variable(environ, "no_proxy").split(",")


def _is_local(host: str) -> bool:
    address = _address(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def _covers(pattern: str, host: str, port: int) -> bool:
    """Whether a NO_PROXY entry (`*`, `10.0.0.0/8`, `10.1.2.3`, `.svc`, `example.com:6443`) matches this host."""
    if pattern in ("", "*"):
        return pattern == "*"
    if "/" in pattern:
        address = _address(host)
        try:
            return address is not None and address in ipaddress.ip_network(pattern, strict=False)
        except ValueError:
            return False
    if _address(pattern) is None:
        bare, colon, wanted_port = pattern.rpartition(":")
        if colon and wanted_port.isdigit():
            if int(wanted_port) != port:
                return False
            pattern = bare.strip("[]")
    if _address(pattern) is not None:
        return _address(pattern) == _address(host)
    pattern = pattern.removeprefix("*")
    if pattern.startswith("."):
        return host.endswith(pattern)
    return host == pattern or host.endswith(f".{pattern}")


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
