"""The one call of a program on a real API server: probes, metrics and a Lease, all under the program's own names."""

import asyncio
import json
import os
import sys
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import aiohttp
import pytest

from tests.house import source
from tests.patience import PATIENCE
from tests.waiting import eventually
from windlass.api.coordination import Lease
from windlass.api.core import ConfigMap
from windlass.kube import (
    Address,
    Client,
    Controller,
    Merge,
    Names,
    NamespacedName,
    Outcome,
    Plan,
    Present,
    ProcessSettings,
    Reader,
    Seen,
    Watch,
    config,
    run,
    target,
    writes,
)
from windlass.testing import PlaneAccess

pytestmark = pytest.mark.plane


def painting(reader: Reader, namespace: str) -> Controller[NamespacedName, Seen[ConfigMap]]:
    """Paints every ConfigMap of the namespace blue."""

    async def observe(key: NamespacedName, last: Outcome) -> Seen[ConfigMap]:
        return await reader.see(ConfigMap, key[1], namespace=key[0])

    def decide(seen: Seen[ConfigMap], *, now: datetime) -> Plan:
        if not isinstance(seen, Present):
            return Plan.nothing("gone")
        observed = {"data": seen.object.data}
        return Plan.of(Merge(target=target(seen), observed=observed, desired={"data": {"sky": "blue"}}))

    return Controller(
        name="painter",
        watches=(Watch(ConfigMap, lambda each: [each.key], namespace=namespace),),
        permissions=(writes(ConfigMap, "patch", namespace=namespace),),
        observe=observe,
        decide=decide,
    )


async def addresses(capfd: pytest.CaptureFixture[str], printed: list[str]) -> dict[str, str]:
    """The URLs that the process has logged so far, by the event."""
    printed += capfd.readouterr().err.splitlines()
    lines = [json.loads(line) for line in printed]
    return {line["event"]: line["url"] for line in lines if "url" in line and line["logger"] == "painter"}


async def text_at(url: str) -> str:
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        return f"{answer.status} {await answer.text()}"


def writers(plane: PlaneAccess, path: str) -> set[str]:
    """The managers of an object's fields."""
    found = plane.blocking.rest.request("GET", path)
    return {each["manager"] for each in found["metadata"]["managedFields"]}


def user_agents(plane: PlaneAccess, namespace: str, *resources: str) -> set[str]:
    """Of all requests that changed these objects of the namespace."""
    refs = ((event.get("objectRef", {}), event) for event in plane.audit.events())
    return {
        event["userAgent"]
        for ref, event in refs
        if event["verb"] == "patch" and ref.get("namespace") == namespace and ref.get("resource") in resources
    }


async def test_the_example_of_the_readme_runs_as_it_is_written_and_ends_well(
    windlass_plane: PlaneAccess, tmp_path: Path
) -> None:
    page = source("kube").parents[2] / "README.md"
    program = tmp_path / "printer.py"
    program.write_text(page.read_text(encoding="utf-8").partition("```python\n")[2].partition("```")[0])
    metadata = {"name": "to-be-printed", "namespace": "default"}
    await windlass_plane.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    running = await asyncio.create_subprocess_exec(
        *(sys.executable, "-u", str(program)),
        env={**os.environ, "KUBECONFIG": str(windlass_plane.kubeconfig())},
        stdout=asyncio.subprocess.PIPE,
    )
    assert running.stdout is not None
    async with asyncio.timeout(PATIENCE):
        while b"to-be-printed" not in (line := await running.stdout.readline()):
            assert line, "the program ended"
        running.terminate()
        assert await running.wait() == 0


async def test_a_program_has_probes_metrics_and_a_lease_under_its_own_names(
    windlass_plane: PlaneAccess, windlass_namespace: str, untouched_gc: None, capfd: pytest.CaptureFixture[str]
) -> None:
    cluster = config.load(kubeconfig=windlass_plane.kubeconfig())
    anywhere = Address("127.0.0.1", 0)
    running = asyncio.create_task(
        run(
            lambda reader: painting(reader, windlass_namespace),
            config=cluster,
            lease="painter",
            lease_namespace=windlass_namespace,
            settings=ProcessSettings(probes=anywhere, metrics=anywhere, metrics_open=True),
            names=Names.of("painter"),
            log_format="json",
        )
    )
    printed: list[str] = []
    try:
        async with asyncio.timeout(PATIENCE), Client(cluster) as client:
            url = await eventually(lambda: addresses(capfd, printed), lambda found: len(found) == 2)
            assert await eventually(lambda: text_at(f"{url['probes']}/readyz"), lambda said: said == "200 ok")
            assert await text_at(f"{url['probes']}/healthz") == "200 ok"

            grey = {"metadata": {"name": "wall"}, "data": {"sky": "grey"}}
            await client.create(ConfigMap, grey, namespace=windlass_namespace)
            await eventually(
                lambda: client.get(ConfigMap, "wall", namespace=windlass_namespace),
                lambda found: found.decode().data == {"sky": "blue"},
            )

            scraped = await text_at(url["metrics"])
            assert 'painter_reconcile_writes_total{controller="painter"}' in scraped
            assert "painter_loop_lag_seconds_count" in scraped
            assert 'leader_election_master_status{name="painter"} 1.0' in scraped
            assert "\nwindlass" not in scraped

            lease = (await client.get(Lease, "painter", namespace=windlass_namespace)).decode()
            assert (lease.spec.holder_identity or "").startswith("painter_")
            home = f"namespaces/{windlass_namespace}"
            leases = f"/apis/coordination.k8s.io/v1/{home}/leases/painter"
            assert writers(windlass_plane, leases) == {"painter-leader-election"}
            assert "painter" in writers(windlass_plane, f"/api/v1/{home}/configmaps/wall")
            assert user_agents(windlass_plane, windlass_namespace, "configmaps", "leases") == {"painter"}
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
    await addresses(capfd, printed)
    assert [line for line in map(json.loads, printed) if line["logger"] == "painter.reconcile"]
