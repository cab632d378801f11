"""Pools, MachineOSConfigs and builds for the tests beside this module."""

from datetime import UTC, datetime
from typing import Any

import msgspec

from windlass.api.machineconfiguration import MachineConfigPool, RenderedMachineConfig
from windlass.api.machineosconfig import MachineOSBuild, MachineOSConfig
from windlass.api.meta import K
from windlass.kube.control.seen import Present
from windlass.os_build.constants import RELEASE
from windlass.os_build.machine_os.claim import Claim
from windlass.os_build.machine_os.conditions import State, vector
from windlass.os_build.machine_os.name import CONTROLLER

NOW = datetime(2026, 11, 22, 12, 0, 30, 400_000, tzinfo=UTC)
DIGEST = f"sha256:{'ab' * 32}"
CONFIG = "rendered-worker-0123456789abcdef0123456789abcdef"
REPOSITORY = "registry.example.com:5000/org/os"


def pool(
    name: str = "worker", *, config: str = CONFIG, source: tuple[str, ...] = (), paused: bool = False, **metadata: Any
) -> MachineConfigPool:
    configuration = {"name": config, "source": [{"kind": "MachineConfig", "name": one} for one in source]}
    tree = {"metadata": {"name": name, **metadata}, "spec": {"configuration": configuration, "paused": paused}}
    return msgspec.convert(tree, MachineConfigPool)


def machine_os_config(
    name: str = "worker", *, status: dict[str, Any] | None = None, uid: str = "", **spec: Any
) -> MachineOSConfig:
    """`spec` by the names of the API; a field None is left out."""
    whole = {
        "machineConfigPool": {"name": name},
        "imageBuilder": {"imageBuilderType": "Job"},
        "renderedImagePushSecret": {"name": "push"},
        "renderedImagePushSpec": f"{REPOSITORY}:latest",
        **spec,
    }
    kept = {key: value for key, value in whole.items() if value is not None}
    tree = {"metadata": {"name": name, "generation": 2, "uid": uid}, "spec": kept, "status": status or {}}
    return msgspec.convert(tree, MachineOSConfig)


def rendered(name: str = CONFIG, *, annotations: dict[str, str] | None = None, **spec: Any) -> RenderedMachineConfig:
    """`spec` by the names of the API."""
    said = {RELEASE: "4.20.0", CONTROLLER: "v1"} if annotations is None else annotations
    return msgspec.convert({"metadata": {"name": name, "annotations": said}, "spec": spec}, RenderedMachineConfig)


def machine_os_build(
    name: str = "worker-1", *, state: State | None = State.SUCCEEDED, digest: str = DIGEST, made: int = 1, why: str = ""
) -> MachineOSBuild:
    conditions = [] if state is None else vector(state, now=NOW, why=why)
    tree = {
        "metadata": {"name": name, "creationTimestamp": f"2026-11-22T11:00:{made:02}Z"},
        "spec": {"machineConfig": {"name": CONFIG}, "machineOSConfig": {"name": "worker"}},
        "status": {
            "conditions": msgspec.to_builtins(conditions),
            **({"digestedImagePushSpec": f"{REPOSITORY}@{digest}"} if digest else {}),
        },
    }
    return msgspec.convert(tree, MachineOSBuild)


def present(found: K, **metadata: Any) -> Present[K]:
    replaced = msgspec.structs.replace(found.metadata, **metadata)
    return Present(msgspec.structs.replace(found, metadata=replaced), b"{}")  # type: ignore[type-var]


def build(state: State = State.SUCCEEDED, *, name: str = "worker-1", **metadata: Any) -> Present[MachineOSBuild]:
    digest = DIGEST if state is State.SUCCEEDED else ""
    return present(machine_os_build(name, state=state, digest=digest), **metadata)


def claim(*builds: Present[MachineOSBuild], status: Any = None, asks: dict[str, str] | None = None, **of: Any) -> Claim:
    """`asks`: annotations of the MachineOSConfig."""
    config: Present[MachineOSConfig] = present(machine_os_config(status=status), annotations=asks or {})
    return Claim(config=config, builds=builds, **{"name": "worker-1", **of})
