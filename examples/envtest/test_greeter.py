"""The controller against a real API server. Nothing is mocked; `pytest` here is all it takes."""

import asyncio
import json
from pathlib import Path

import greeter
import pytest

HERE = Path(__file__).parent


def greeting(namespace, name):
    metadata = {"name": "first", "namespace": namespace}
    return {"apiVersion": "example.com/v1", "kind": "Greeting", "metadata": metadata, "spec": {"name": name}}


async def test_a_greeting_is_answered(windlass_plane, windlass_namespace):
    await windlass_plane.apply_crds(HERE / "crd.yaml")
    await windlass_plane.apply(greeting(windlass_namespace, "World"))
    controller = asyncio.create_task(greeter.main(windlass_plane.kubeconfig()))
    watch = {"watch": "true", "fieldSelector": "metadata.name=first"}
    async with asyncio.timeout(120), greeter.connect(windlass_plane.kubeconfig()) as session:
        events = await session.get(f"/apis/example.com/v1/namespaces/{windlass_namespace}/greetings", params=watch)
        while "status" not in (seen := json.loads(await events.content.readline())["object"]):
            pass
    controller.cancel()
    assert seen["status"] == {"message": "Hello, World!"}


async def test_the_real_server_refuses_what_the_crd_forbids(windlass_plane, windlass_namespace):
    await windlass_plane.apply_crds(HERE / "crd.yaml")
    with pytest.raises(Exception, match=r"spec\.name.*should be at least 1 chars long"):
        await windlass_plane.apply(greeting(windlass_namespace, ""))
