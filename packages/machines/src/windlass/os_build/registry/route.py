"""Chooses the proxy of a request to a registry, by the rules that Go programs such as buildah follow. Pure.

| entry of NO_PROXY | hosts that are asked without a proxy |
|---|---|
| `*` | all |
| `10.0.0.1`, `10.0.0.0/8` | this address, addresses in this network |
| `example.com` | this host and those below it |
| `.example.com`, `*.example.com` | those below it |
| any of them with `:5000` | only at this port |

Loopback addresses and `localhost` are never asked through a proxy. Source: golang.org/x/net/http/httpproxy.
"""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from yarl import URL

from windlass.api.machineconfiguration import Proxy


def proxy_of(url: URL, proxy: Proxy) -> str | None:
    """The proxy of a request over TLS; None without TLS, since a proxy could then answer in the registry's name."""
    if url.scheme != "https" or not proxy.https_proxy or bypasses(proxy.no_proxy, url.host or "", url.port or 443):
        return None
    given = proxy.https_proxy
    return given if "://" in given else f"http://{given}"


def bypasses(no_proxy: str, host: str, port: int) -> bool:
    """The host is asked without a proxy."""
    address = _address(host)
    if host.lower() == "localhost" or (address is not None and address.is_loopback):
        return True
    return any(_matches(entry, host.lower(), address, port) for entry in _entries(no_proxy))


def _entries(no_proxy: str) -> Iterator[str]:
    for entry in no_proxy.lower().split(","):
        if entry := entry.strip():
            yield entry


def _matches(entry: str, host: str, address: IPv4Address | IPv6Address | None, port: int) -> bool:
    if entry == "*":
        return True
    if "/" in entry:
        try:
            return address is not None and address in ip_network(entry, strict=False)
        except ValueError:
            return False
    name, colon, wanted = entry.rpartition(":") if entry.count(":") == 1 else (entry, "", "")
    if colon and wanted != str(port):
        return False
    if address is not None:
        return _address(name) == address
    below = name.removeprefix("*") if name.startswith("*.") else name
    return host.endswith(below) if below.startswith(".") else host == below or host.endswith(f".{below}")


def _address(text: str) -> IPv4Address | IPv6Address | None:
    """The address that `text` is; None if it is a name."""
    try:
        return ip_address(text.strip("[]"))
    except ValueError:
        return None
