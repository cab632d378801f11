"""The objects of a kustomize folder: what `kubectl delete -k` deletes. Patches are left out, as they change no name."""

from pathlib import Path
from typing import Any

import yaml


def objects(folder: Path) -> list[dict[str, Any]]:
    """The objects of the folder, of the folders that it mentions, and of its components."""
    tree = yaml.safe_load((folder / "kustomization.yaml").read_text(encoding="utf-8"))
    found: list[dict[str, Any]] = []
    for name in (*tree.get("resources", ()), *tree.get("components", ())):
        path = folder / name
        if path.is_dir():
            found += objects(path)
        else:
            found += yaml.safe_load_all(path.read_text(encoding="utf-8"))
    return found
