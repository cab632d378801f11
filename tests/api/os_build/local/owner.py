"""Begins the build on standard input, and waits to be killed: `python -m tests.api.os_build.local.owner DIR`."""

import asyncio
import sys
from pathlib import Path

import msgspec

from windlass.os_build.backends.local.buildah import Buildah
from windlass.os_build.backends.local.builds import Builds
from windlass.os_build.backends.local.requests import StartBuild


async def main(folder: Path, request: StartBuild) -> None:
    async with Builds(folder, slots=1, buildah=Buildah(tls_verify=False)) as builds:
        await builds.start(request)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), msgspec.msgpack.decode(sys.stdin.buffer.read(), type=StartBuild)))
