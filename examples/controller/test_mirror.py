"""The mirror in three layers: the decision alone, the controller on a model, the process on a real API server."""

import asyncio
import os
import signal
import sys
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import rbac
import yaml
from mirror import FINALIZER, LABEL, NAME, Snapshot, decide, mirror

from windlass.api.core import ConfigMap, Event, Secret
from windlass.kube import (
    Absent,
    AddFinalizer,
    Answers,
    Client,
    Create,
    Declared,
    Executor,
    Live,
    NotFound,
    NotServedKind,
    Object,
    Outcome,
    PatchType,
    Plan,
    Seen,
    config,
    seen,
)
from windlass.model import MemoryApi
from windlass.model.reader import MemoryReader
from windlass.testing import PlaneAccess

HERE = Path(__file__).parent
NOW = datetime(2026, 1, 1, tzinfo=UTC)
T = TypeVar("T")


def settings(**metadata: Any) -> dict[str, Any]:
    """A ConfigMap that asks to be mirrored."""
    return {"metadata": {"name": "colours", "labels": {LABEL: "yes"}, **metadata}, "data": {"sky": "blue"}}


def encoded(text: str) -> str:
    return b64encode(text.encode()).decode()


# The decision: plain values in, a plan out.


def present(*finalizers: str) -> Seen[ConfigMap]:
    tree = settings(namespace="settings", uid="1", resourceVersion="7", finalizers=list(finalizers))
    return seen(Object.of(ConfigMap, tree))


def snapshot(source: Seen[ConfigMap], copy: Seen[Secret]) -> Snapshot:
    """What the decision knows once it has asked for the Secret."""
    asked = Answers.of({Live(Secret, "colours", "apps"): copy}, at=NOW)
    return Snapshot(source=source, to="apps", last=Outcome(), answers=asked)


def test_the_finalizer_comes_before_the_secret() -> None:
    plan = decide(snapshot(present(), Absent(confirmed=True)), now=NOW)
    assert [type(action) for action in plan.actions] == [AddFinalizer]


def test_then_the_secret_has_the_data_of_the_config_map() -> None:
    plan = decide(snapshot(present(FINALIZER), Absent(confirmed=True)), now=NOW)
    [create] = plan.actions
    assert isinstance(create, Create)
    assert create.body["data"] == {"sky": encoded("blue")}


def test_a_secret_that_cannot_be_read_is_not_taken_for_absent() -> None:
    """Neither is it made a second time, nor does its ConfigMap go without it."""
    unknown = NotServedKind("secrets are not served")
    for metadata in ({}, {"deletionTimestamp": "2026-01-01T00:00:00Z"}):
        source = seen(Object.of(ConfigMap, settings(finalizers=[FINALIZER], **metadata)))
        assert decide(snapshot(source, unknown), now=NOW) == Plan.nothing().retry(unknown.why)


# The controller: its rounds, on a model of the API server in memory.


async def settle(api: MemoryApi) -> None:
    """Reconcile until nothing is left to do, with the rights that the controller declares and no others."""
    reader = MemoryReader(api)
    controller = mirror(reader, source="settings", to="apps")
    reader.only(controller)
    ending = await controller.reconcile(
        ("settings", "colours"),
        executor=Executor(api, ledger=reader, permits=Declared(controller.declared)),
        now=lambda: NOW,
    )
    assert not ending.failed, ending


async def test_the_secret_comes_and_goes_with_the_config_map() -> None:
    api = MemoryApi(ConfigMap, Secret, Event)
    await api.create(ConfigMap, settings(), namespace="settings")
    await settle(api)
    copy = await api.get(Secret, "colours", namespace="apps")
    assert copy.decode().data == {"sky": encoded("blue")}

    await api.delete(ConfigMap, "colours", namespace="settings")
    await settle(api)
    assert api.listing(Secret) == []
    assert api.listing(ConfigMap) == []


async def test_a_secret_that_somebody_else_made_is_left_alone() -> None:
    api = MemoryApi(ConfigMap, Secret, Event)
    await api.create(ConfigMap, settings(), namespace="settings")
    await api.create(Secret, {"metadata": {"name": "colours"}}, namespace="apps")
    await settle(api)
    [event] = api.listing(Event)
    assert event.decode().reason == "NotOurs"
    assert (await api.get(Secret, "colours", namespace="apps")).decode().data == {}


# The process: as it is deployed, under its own ServiceAccount, on a real API server.


async def eventually(look: Callable[[], Awaitable[T]], holds: Callable[[T], Any] = bool) -> T:
    """What `look` finds, as soon as `holds` is true of it."""
    async with asyncio.timeout(120):
        while True:
            with suppress(NotFound):
                if holds(found := await look()):
                    return found
            await asyncio.sleep(0.1)


@asynccontextmanager
async def running(kubeconfig: Path, *arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    command = [sys.executable, str(HERE / "mirror.py"), "--kubeconfig", str(kubeconfig), *arguments]
    process = await asyncio.create_subprocess_exec(*command, "--probes", "0", "--metrics", "0", env=os.environ)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_nothing_is_lost_when_the_process_is_killed(windlass_plane: PlaneAccess, windlass_namespace: str) -> None:
    source, to = windlass_namespace, await windlass_plane.create_namespace()
    await windlass_plane.apply(*rbac.documents(source=source, to=to, home=source))
    account = await windlass_plane.service_account_kubeconfig(source, NAME)
    arguments = ("--from", source, "--to", to, "--lease-namespace", source)

    async with Client(config.load(kubeconfig=windlass_plane.kubeconfig())) as client:

        async def copied() -> str:
            return (await client.get(Secret, "colours", namespace=to)).decode().data["sky"]

        async def sources() -> list[Any]:
            return list((await client.list(ConfigMap, namespace=source, label_selector=LABEL)).items)

        async with running(account, *arguments) as first:
            await client.create(ConfigMap, settings(), namespace=source)
            await eventually(copied, lambda data: data == encoded("blue"))
            grey = {"data": {"sky": "grey"}}
            await client.patch(ConfigMap, "colours", grey, type=PatchType.MERGE, namespace=source)
            await eventually(copied, lambda data: data == encoded("grey"))
            first.kill()
            await first.wait()

        await client.delete(ConfigMap, "colours", namespace=source)
        assert await copied() == encoded("grey"), "the finalizer keeps both while nobody works"

        async with running(account, *arguments) as second:
            await eventually(sources, lambda left: not left)
            assert not (await client.list(Secret, namespace=to, label_selector=LABEL)).items
            second.send_signal(signal.SIGTERM)
            assert await second.wait() == 0


def test_the_rights_that_are_deployed_are_those_that_the_controller_declares() -> None:
    deployed = list(yaml.safe_load_all((HERE / "deploy" / "rbac.yaml").read_text(encoding="utf-8")))
    assert deployed == rbac.documents(source="settings", to="apps", home="mirror"), "python rbac.py > deploy/rbac.yaml"
