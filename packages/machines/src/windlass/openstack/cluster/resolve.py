"""Resolves the host of an endpoint, where its address decides which floating IP or virtual address is meant."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from windlass.openstack.cluster.snapshot import Unresolved

Resolve: TypeAlias = Callable[[str], Awaitable[str | Unresolved]]
SECONDS: Final = 5.0


async def resolve(host: str) -> str | Unresolved:
    """The first IPv4 address of the host, in their order as texts."""
    try:
        async with asyncio.timeout(SECONDS):
            loop = asyncio.get_running_loop()
            found = await loop.getaddrinfo(host, None, family=socket.AF_INET, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:  # TimeoutError is an OSError
        why = str(error) or f"no answer in {SECONDS:g} s"
        text = f"spec.controlPlaneEndpoint: host {host} has no address: {why}. Correct it, or add it to DNS"
        return Unresolved(text)
    return min(str(address[0]) for *_, address in found)
