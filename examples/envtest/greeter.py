"""A controller in one screen: every Greeting gets a status that greets. Run it with `python greeter.py KUBECONFIG`."""

import asyncio
import base64
import json
import ssl
import sys
from pathlib import Path

import aiohttp
import yaml

GREETINGS = "/apis/example.com/v1/greetings"


def connect(kubeconfig: Path) -> aiohttp.ClientSession:
    """A session to the API server that `kubeconfig` names, with its token."""
    config = yaml.safe_load(kubeconfig.read_text())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    authority = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
    return aiohttp.ClientSession(
        cluster["server"],
        connector=aiohttp.TCPConnector(ssl=authority),
        headers={"Authorization": f"Bearer {user['token']}"},
    )


async def greet(session: aiohttp.ClientSession) -> None:
    """Watch all Greetings, the present ones first, and write what each should say."""
    async with session.get(GREETINGS, params={"watch": "true"}, timeout=aiohttp.ClientTimeout(None)) as events:
        async for line in events.content:
            greeting = json.loads(line)["object"]
            metadata, message = greeting["metadata"], f"Hello, {greeting['spec']['name']}!"
            if greeting.get("status", {}).get("message") != message:
                path = f"/apis/example.com/v1/namespaces/{metadata['namespace']}/greetings/{metadata['name']}/status"
                patch = {"headers": {"Content-Type": "application/merge-patch+json"}, "raise_for_status": True}
                await session.patch(path, data=json.dumps({"status": {"message": message}}), **patch)


async def main(kubeconfig: Path) -> None:
    async with connect(kubeconfig) as session:
        await greet(session)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
