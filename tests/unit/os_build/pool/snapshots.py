"""Snapshots of the pool `worker` and of its builds, for the pure tests beside this module."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from tests.unit.os_build.world import pool
from windlass.api.machineconfiguration import MachineConfigPool
from windlass.kube.control.seen import Absent, Present, Seen
from windlass.os_build.builder import BuildState, Cause, Failed, Phase
from windlass.os_build.constants import IMAGE, IMAGE_CONFIG, IMAGE_INPUTS, LAYERING
from windlass.os_build.identity import Inputs
from windlass.os_build.pool.snapshot import PoolFacts, Timing
from windlass.os_build.pullspec import Target
from windlass.os_build.request import BackendName, Problem, Request

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
LONG_AGO = NOW - timedelta(days=1)
TIMING = Timing(debounce=5.0, retries=(15.0, 60.0, 240.0), anew=1800.0, lost=10.0, grace=60.0)
INPUTS = Inputs("abc")
REQUEST = Request(
    pool="worker",
    config="rendered-worker-1",
    target=Target("registry.example.com", "org/os"),
    pull_secret="pull",
    push_secret="push",
)
IMAGE_OF = "registry.example.com/org/os@sha256:1"
RECORD = {LAYERING: "", IMAGE: IMAGE_OF, IMAGE_CONFIG: "rendered-worker-1", IMAGE_INPUTS: str(INPUTS)}
PROBLEM = Problem("ConfigurationInvalid", "what is wrong")


def of_pool(**metadata: Any) -> dict[str, Any]:
    return pool("worker", "rendered-worker-1", **metadata)


def degraded(*types: str) -> dict[str, Any]:
    conditions = [{"type": type_, "status": "True", "reason": "", "message": f"{type_}!"} for type_ in types]
    return {**of_pool(), "status": {"conditions": conditions}}


def seen(tree: dict[str, Any] | None, *builds: BuildState, **fields: Any) -> PoolFacts:
    found: Seen[MachineConfigPool] = Absent(confirmed=True)
    if tree is not None:
        found = Present(msgspec.convert(tree, MachineConfigPool), msgspec.json.encode(tree))
    asked = {"request": REQUEST, "inputs": INPUTS, "wanted": LONG_AGO, "backend": BackendName.JOB, "versions": "v1"}
    return PoolFacts(name="worker", pool=found, builds=builds, **{**asked, **fields})


def build(phase: Phase, **fields: Any) -> BuildState:
    known = {"inputs": str(INPUTS), "backend": BackendName.JOB, "secrets": "v1", "ended": NOW - timedelta(seconds=9)}
    return BuildState(name="build", pool="worker", phase=phase, **{**known, **fields})


def failed(cause: Cause, **fields: Any) -> BuildState:
    return build(Phase.FAILED, failed=Failed(cause=cause), **fields)
