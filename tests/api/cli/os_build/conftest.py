"""A registry with a base image, and `windlass os-build build` on files."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.builder import require_builder
from tests.left import files_of_builds
from windlass.testing.builder import push_base
from windlass.testing.registry import Registry


class Desk:
    """The arguments of a build, in a folder of its own."""

    def __init__(self, folder: Path, registry: Registry) -> None:
        self.folder = folder
        self.registry = registry
        self.store = folder / "store"
        self.base = push_base(registry)
        self.write_config()
        self.write("auth.json", registry.auths("pusher"))

    def write(self, name: str, content: Any) -> None:
        (self.folder / name).write_text(content if isinstance(content, str) else json.dumps(content))

    def write_config(self, *, spec: dict[str, Any] | None = None, **more: Any) -> None:
        """The MachineConfig, with more of its `spec`; `more` is more of its Ignition configuration."""
        motd = {"path": "/etc/motd", "mode": 0o600, "contents": {"source": "data:,welcome"}}
        config = {"ignition": {"version": "3.4.0"}, "storage": {"files": [motd]}, **more}
        spec = {"osImageURL": self.base, "config": config, **(spec or {})}
        self.write("config.json", {"kind": "MachineConfig", "metadata": {"name": "rendered-worker-1"}, "spec": spec})

    @property
    def arguments(self) -> list[str]:
        return [
            *("os-build", "build", "-f", str(self.folder / "config.json"), "--pool", "worker"),
            *("--push", f"{self.registry.host}/cli/os", "--authfile", str(self.folder / "auth.json")),
            *("--store", str(self.store), "--no-tls-verify"),
        ]

    def containerfile(self, text: str) -> list[str]:
        self.write("Containerfile", text)
        return ["--containerfile", str(self.folder / "Containerfile")]

    def left(self) -> list[str]:
        """The files of builds."""
        return files_of_builds(self.store)


@pytest.fixture
def desk(tmp_path: Path, registry: Registry) -> Iterator[Desk]:
    require_builder()
    desk = Desk(tmp_path, registry)
    yield desk
    assert desk.left() == []
