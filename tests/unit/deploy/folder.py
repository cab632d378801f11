"""The kustomize folder of a capability, read."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import yaml
from msgspec import Struct

from windlass.capability.installation import Installation
from windlass.cli.capabilities import capability
from windlass.cli.run import command as run

ROOT = Path(__file__).parents[3]

Tree = dict[str, Any]


class Folder(Struct, frozen=True):
    """`name` is that of the folder and of the capability."""

    name: str

    @property
    def path(self) -> Path:
        return ROOT / "deploy" / self.name

    @property
    def home(self) -> str:
        return capability(self.name).home

    @property
    def installation(self) -> Installation:
        return capability(self.name).install(home=self.home)

    def documents(self, path: str | Path) -> list[Tree]:
        return list(yaml.safe_load_all((self.path / path).read_text(encoding="utf-8")))

    def read(self, path: str) -> Tree:
        (tree,) = self.documents(path)
        return tree

    def pod(self, path: str = "base/deployment.yaml") -> Tree:
        spec: Tree = self.read(path)["spec"]["template"]["spec"]
        return spec

    def container(self, path: str = "base/deployment.yaml") -> Tree:
        (found,) = self.pod(path)["containers"]
        tree: Tree = found
        return tree

    def arguments(self, path: str = "base/deployment.yaml") -> list[str]:
        """Those of the capability itself."""
        args: list[str] = self.container(path)["args"]
        return args[2:] if args[:2] == ["run", self.name] else args

    def options(self, arguments: list[str]) -> dict[str, Any]:
        """What the program makes of arguments."""
        found = run.get_command(click.Context(run), self.name)
        assert found is not None
        with found.make_context(self.name, arguments) as context:
            return context.params

    def mentioned(self, kustomization: Path) -> Iterator[Path]:
        tree = yaml.safe_load(kustomization.read_text(encoding="utf-8"))
        patches = [patch["path"] for patch in tree.get("patches", ()) if "path" in patch]
        for name in (*tree.get("resources", ()), *tree.get("components", ()), *patches):
            path = (kustomization.parent / name).resolve()
            yield path / "kustomization.yaml" if path.is_dir() else path
