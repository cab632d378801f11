"""Measures what is computed for OS builds: decisions about pools, and contexts of large MachineConfigs."""

import asyncio
import base64
import json
import os
import statistics
import time
from datetime import UTC, datetime
from typing import Any, Final

from bench.machine import NoiseMeter
from bench.tables import Cell, Table, against
from windlass.api.core import Secret
from windlass.api.machineconfiguration import MachineConfigPool
from windlass.kube.control.question import Answers, Indexed, Question
from windlass.kube.control.seen import Present, seen
from windlass.kube.object import Object
from windlass.os_build.builder import BuildState, Phase
from windlass.os_build.constants import IMAGE, IMAGE_ALIAS, IMAGE_CONFIG, IMAGE_INPUTS, LAYERING
from windlass.os_build.identity import build_name, inputs_of
from windlass.os_build.inputs.context import ApplyBy, Context, rendered
from windlass.os_build.pool.decide import decide
from windlass.os_build.pool.observe import BY_NAME
from windlass.os_build.pool.questions import Wanted
from windlass.os_build.pool.snapshot import PoolSnapshot, Settings
from windlass.os_build.pullspec import Target
from windlass.os_build.request import PULL_SECRET, PULLSPEC, PUSH_SECRET, BackendName, Given, OsImages, Request

_FILES: Final = 10
_BEAT: Final = 0.005
_TIMES: Final = 2000
_TARGET: Final = Target("registry.example.com", "org/os")
_SETTINGS: Final = Settings(apply_by=ApplyBy.TREE)


def machine_config(size: int = 10_000) -> dict[str, Any]:
    """The spec of a rendered MachineConfig of about `size` bytes: files that cannot be compressed, and a unit."""
    files = []
    for number in range(_FILES):
        content = base64.b64encode(os.urandom(size * 3 // 4 // _FILES)).decode()
        files.append({"path": f"/etc/bench/{number}", "mode": 0o644, "contents": {"source": f"data:;base64,{content}"}})
    units = [{"name": "bench.service", "enabled": True, "contents": "[Service]\nExecStart=/bin/true\n"}]
    return {"config": {"ignition": {"version": "3.2.0"}, "storage": {"files": files}, "systemd": {"units": units}}}


def build_request(pool: str, target: Target, *, base: str) -> Request:
    """What the controller makes of a pool."""
    return Request(
        pool=pool,
        config=f"rendered-{pool}",
        target=target,
        pull_secret="pull",
        push_secret="push",
        images=OsImages(base),
    )


def tables() -> list[Table]:
    """Both, one after the other."""
    rows = [*(_decision(what, snapshot) for what, snapshot in _snapshots().items())]
    rows += [_large(apply_by) for apply_by in ApplyBy]
    return [Table("OS builds: what is computed", [*rows[0]], rows, ("late: the longest turn of the event loop",))]


def _decision(what: str, snapshot: PoolSnapshot) -> dict[str, Cell]:
    noise, now, spent = NoiseMeter(), datetime.now(UTC), []
    for _ in range(_TIMES):
        began = time.perf_counter()
        decide(snapshot, now=now, backends={}, settings=_SETTINGS)
        spent.append(1e6 * (time.perf_counter() - began))
    median = statistics.median(spent)
    return {
        "what": f"decide: {what}",
        "figure": f"{median:.0f} us",
        "wanted": against(round(median), 200, unit="us"),
        "others, cores": noise.read().others,
    }


def _snapshots() -> dict[str, PoolSnapshot]:
    request = build_request("worker", _TARGET, base=_TARGET.tagged("base"))
    inputs = inputs_of(request, applied_by=ApplyBy.TREE)
    image = _TARGET.digested(f"sha256:{'0' * 64}")
    result = {IMAGE: image, IMAGE_ALIAS: image, IMAGE_CONFIG: request.config, IMAGE_INPUTS: str(inputs)}
    build = BuildState(
        name=build_name("worker", inputs),
        backend=BackendName.LOCAL,
        pool="worker",
        inputs=str(inputs),
        phase=Phase.RUNNING,
        started=datetime.now(UTC),
    )

    given = Given(
        config={PULL_SECRET: "pull", PUSH_SECRET: "push", PULLSPEC: str(_TARGET)},
        os_images={"baseOSContainerImage": _TARGET.tagged("base")},
    )
    known: dict[Question[Any], Any] = {Indexed(Secret, BY_NAME, name): () for name in ("pull", "push")}
    known[Wanted(str(inputs))] = None
    now = datetime.now(UTC)

    def of(pool: Present[MachineConfigPool], *builds: BuildState) -> PoolSnapshot:
        return PoolSnapshot(name="worker", pool=pool, given=given, builds=builds, answers=Answers.of(known, at=now))

    return {"a pool that is built": of(_pool(result)), "a pool whose build runs": of(_pool({}), build)}


def _pool(annotations: dict[str, str]) -> Present[MachineConfigPool]:
    metadata = {"name": "worker", "uid": "1", "resourceVersion": "1", "annotations": {LAYERING: "", **annotations}}
    spec = {"configuration": {"name": "rendered-worker"}}
    found = seen(Object.of(MachineConfigPool, {"metadata": metadata, "spec": spec}))
    assert isinstance(found, Present)
    return found


def _large(apply_by: ApplyBy) -> dict[str, Cell]:
    document = json.dumps({"metadata": {"name": "rendered-worker"}, "spec": machine_config(1_500_000)}).encode()
    noise, spent, late = NoiseMeter(), [], []
    for _ in range(5):
        seconds, lag = asyncio.run(_rendered(document, apply_by))
        spent.append(seconds)
        late.append(lag)
    seconds, lag = statistics.median(spent), 1000 * max(late)
    return {
        "what": f"{len(document) / 1e6:.1f} MB to a context by {apply_by}",
        "figure": f"{seconds:.2f} s, {lag:.0f} ms late",
        "wanted": f"{against(seconds, 0.5, unit='s')}; late {against(lag, 50, unit='ms')}",
        "others, cores": noise.read().others,
    }


async def _rendered(document: bytes, apply_by: ApplyBy) -> tuple[float, float]:
    """Seconds until the context is there, and how late the loop's beats came meanwhile; as the controller does it."""
    request = build_request("worker", _TARGET, base=_TARGET.tagged("base"))
    late = 0.0

    async def beat() -> None:
        nonlocal late
        while True:
            began = time.perf_counter()
            await asyncio.sleep(_BEAT)
            late = max(late, time.perf_counter() - began - _BEAT)

    beating = asyncio.create_task(beat())
    began = time.perf_counter()
    context = await asyncio.to_thread(rendered, request, document, apply_by=apply_by)
    seconds = time.perf_counter() - began
    # The beat that it held up comes now.
    await asyncio.sleep(_BEAT)
    beating.cancel()
    assert isinstance(context, Context)
    return seconds, late
