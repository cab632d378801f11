"""Says which addresses only this machine can reach. Importing it does not import an HTTP server."""

from ipaddress import ip_address


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server bound to `host`."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
