"""`windlass status` against a real API server."""

import asyncio
import json
import os
import pty
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.api.cli.conftest import Begin, Windlass
from tests.api.cli.pipes import Lines
from tests.api.cli.ptys import see
from tests.authorizer import until_allowed
from windlass.testing import ControlPlane
from windlass.testing.updates import PlayedCluster
from windlass.testing.updates.thanos import ThanosQuerier, alert

pytestmark = pytest.mark.plane
DIRECT = "note: the cluster has no UpdateStatus API: read from the cluster itself\n"


async def run(windlass: Windlass, *arguments: str, **options: Any) -> "subprocess.CompletedProcess[str]":
    """Beside the event loop, in which the cluster and the service of alerts are played."""
    return await asyncio.to_thread(windlass, "status", *arguments, **options)


def token_of(plane: ControlPlane) -> str:
    token: str = yaml.safe_load(plane.kubeconfig().read_text())["users"][0]["user"]["token"]
    return token


async def test_a_cluster_at_rest_is_not_updating(cluster: PlayedCluster, windlass: Windlass) -> None:
    shown = await run(windlass)

    assert (shown.stdout, shown.stderr, shown.returncode) == ("The cluster is not updating.\n", DIRECT, 0)


async def test_an_update_is_shown_with_its_nodes(cluster: PlayedCluster, windlass: Windlass) -> None:
    await cluster.cvo.start("4.16.1")

    shown = await run(windlass, "-o", "json")

    assert (shown.stderr, shown.returncode) == (DIRECT, 0)
    tree = json.loads(shown.stdout)
    assert tree["controlPlane"]["versions"]["target"] == "4.16.1"
    assert [node["name"] for pool in tree["pools"] for node in pool["nodes"]] == ["master-0", "worker-0"]
    assert {node["phase"] for pool in tree["pools"] for node in pool["nodes"]} == {"Pending"}
    assert tree["gaps"] == []


async def test_alerts_are_read_with_the_token_of_the_user(
    cluster: PlayedCluster, windlass: Windlass, update_plane: ControlPlane, admin: Any, tmp_path: Path
) -> None:
    await cluster.cvo.start("4.16.1")
    (tmp_path / "system.pem").touch()
    async with ThanosQuerier(token=token_of(update_plane)) as thanos:
        await thanos.announce(admin)
        later = datetime.now(UTC) + timedelta(hours=1)
        thanos.alerts = [alert("DiskFull", severity="critical", active_at=later, summary="a disk is full")]
        (tmp_path / "system.pem").write_bytes(thanos.authority)

        untrusted = await run(windlass)
        trusted = await run(windlass, "--fail-on=critical", env={"SSL_CERT_FILE": str(tmp_path / "system.pem")})

    first, second = untrusted.stdout.splitlines()[:2]
    assert first.startswith("Unable to fetch alerts, ignoring alerts in 'Update Health':  GET https://127.0.0.1:")
    assert "certificate is not trusted" in first
    assert second == "= Control Plane ="
    assert (untrusted.returncode, untrusted.stderr) == (0, DIRECT)
    assert trusted.stdout.startswith("= Control Plane =\n")
    assert "Alert is firing: a disk is full" in trusted.stdout
    assert (trusted.returncode, trusted.stderr) == (5, DIRECT)


async def test_a_user_who_may_read_little_sees_that_and_why_the_rest_is_missing(
    cluster: PlayedCluster, windlass: Windlass, update_plane: ControlPlane
) -> None:
    await cluster.cvo.start("4.16.1")
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "little"}}
    rules = [{"apiGroups": ["config.openshift.io"], "resources": ["*"], "verbs": ["get", "list"]}]
    binding = {
        **role,
        "kind": "ClusterRoleBinding",
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "little"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "little"}],
    }
    plane = update_plane.blocking
    await asyncio.to_thread(plane.apply, {**role, "rules": rules}, binding)
    await asyncio.to_thread(until_allowed, plane.rest, "little", "list", "clusteroperators.config.openshift.io")

    shown = await run(windlass, "--as=little")

    assert shown.returncode == 1
    assert shown.stdout.startswith("Unable to fetch alerts, ignoring alerts in 'Update Health':  routes")
    assert "Target Version:  4.16.1 (from 4.16.0)\n" in shown.stdout
    note, *warnings = shown.stderr.splitlines()
    assert note.startswith("note: ")
    assert all(line.startswith("warning: ") for line in warnings)
    for what in ("machineconfigpools", "deployments"):
        assert any(f"{what}" in line and "cannot" in line for line in warnings), warnings


async def test_a_cluster_without_a_cluster_version_is_an_error_in_the_words_of_oc(
    admin: Any, windlass: Windlass
) -> None:
    shown = await run(windlass)

    assert (shown.stdout, shown.returncode) == ("", 1)
    assert shown.stderr == (
        "error: no cluster version information available - you must be connected to an OpenShift version 4 server to "
        "fetch the current version\n"
    )


async def test_who_waits_is_released_when_the_last_node_is_updated(
    cluster: PlayedCluster, windlass: Windlass, begin: Begin
) -> None:
    first, *rest = cluster.healthy_update("4.16.1")
    await first.play()
    assert (await run(windlass, "--wait=1s")).returncode == 124

    waiting = begin("status", "--wait", text=True)
    for step in rest:
        await step.play()
    out, err = await asyncio.to_thread(waiting.communicate)

    assert (out, err, waiting.returncode) == ("The cluster is not updating.\n", "", 0)


async def test_a_watch_shows_what_changes_and_survives_a_restart(
    cluster: PlayedCluster, begin: Begin, update_plane: ControlPlane
) -> None:
    watching = begin("status", "--watch")
    assert watching.stdout is not None
    lines = Lines(watching.stdout)
    await asyncio.to_thread(lines.until, lambda line: line == "The cluster is not updating.")

    await update_plane.restart_apiserver()
    await cluster.cvo.start("4.16.1")

    await asyncio.to_thread(lines.until, lambda line: line.endswith(" cluster: not updating -> updating to 4.16.1"))


async def test_a_watch_on_a_terminal_redraws_the_report(cluster: PlayedCluster, begin: Begin) -> None:
    master, slave = pty.openpty()
    begin("status", "--watch", env={"TERM": "xterm"}, stdout=slave)
    try:
        await asyncio.to_thread(see, master, b"The cluster is not updating.")
        await cluster.cvo.start("4.16.1")
        await asyncio.to_thread(see, master, b"= Control Plane =")
    finally:
        os.close(slave)
        os.close(master)
