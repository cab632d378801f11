"""Measures the bare protocol: sends recorded requests again in a loop around aiohttp.

    python -m bench.replay SCRIPT.json --in-flight 16

It lists what the script names, to know the resourceVersions, and then sends each object's requests in their order,
`--in-flight` objects at a time, putting into every body the resourceVersion that it has to carry. It keeps no cache,
watches nothing, computes nothing and does not look at answers beyond their code and resourceVersion: what a
controller needs beyond this time is what the controller costs.

The last line of its output is a JSON object: `seconds` from the first write to the last answer.
"""

import argparse
import asyncio
import json
import re
import ssl
import time
from pathlib import Path

import aiohttp
import msgspec
from msgspec import Struct

VERSION = "<resourceVersion>"
"""Stands in bodies for the resourceVersion of the object `of`."""

_VERSION_IN_ANSWER = re.compile(rb'"resourceVersion":"(\d+)"')


class Step(Struct):
    """One request. `of` is the path of the object that it writes."""

    method: str
    path: str
    content_type: str
    body: str
    of: str


class Script(Struct):
    """`lists`: paths of collections to read first. `chains`: per object, what to send in order."""

    server: str
    ca_file: str
    token: str
    lists: list[str]
    chains: list[list[Step]]


class _Meta(Struct, rename="camel"):
    name: str
    resource_version: str


class _Item(Struct):
    metadata: _Meta


class _List(Struct):
    items: list[_Item]


async def replay(script: Script, *, in_flight: int) -> float:
    """Send everything; returns the seconds that the writes took."""
    context = ssl.create_default_context(cafile=script.ca_file)
    headers = {"Authorization": f"Bearer {script.token}", "User-Agent": "windlass-bench", "Accept": "application/json"}
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=in_flight, ssl=context), cookie_jar=aiohttp.DummyCookieJar()
    ) as session:
        versions = await _versions(session, script, headers)
        chains = iter(script.chains)

        async def hand() -> None:
            for chain in chains:
                for step in chain:
                    body = step.body.replace(VERSION, versions.get(step.of, ""), 1).encode()
                    async with session.request(
                        step.method,
                        script.server + step.path,
                        data=body,
                        headers={**headers, "Content-Type": step.content_type},
                    ) as response:
                        answer = await response.read()
                    if response.status >= 300:
                        raise RuntimeError(f"{step.method} {step.path}: {response.status} {answer[:500]!r}")
                    if found := _VERSION_IN_ANSWER.search(answer):
                        versions[step.of] = found[1].decode()

        began = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for _ in range(in_flight):
                group.create_task(hand())
        return time.perf_counter() - began


async def _versions(session: aiohttp.ClientSession, script: Script, headers: dict[str, str]) -> dict[str, str]:
    versions: dict[str, str] = {}
    for path in script.lists:
        async with session.get(f"{script.server}{path}?resourceVersion=0", headers=headers) as response:
            listed = msgspec.json.decode(await response.read(), type=_List)
        versions |= {f"{path}/{item.metadata.name}": item.metadata.resource_version for item in listed.items}
    return versions


def main() -> None:
    parser = argparse.ArgumentParser(description="Send recorded requests again.")
    parser.add_argument("script", type=Path)
    parser.add_argument("--in-flight", type=int, default=16)
    settings = parser.parse_args()
    script = msgspec.json.decode(settings.script.read_bytes(), type=Script)
    print(json.dumps({"seconds": asyncio.run(replay(script, in_flight=settings.in_flight))}), flush=True)
    # Whoever measures reads what this process used while it is there.
    time.sleep(600)


if __name__ == "__main__":
    main()
