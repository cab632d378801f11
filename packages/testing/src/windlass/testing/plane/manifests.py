"""Reads Kubernetes objects from YAML files."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The parser in C where PyYAML has it: a CRD may be 300 KB."""


def read_manifests(paths: Iterable[Path]) -> Iterator[dict[str, Any]]:
    """The documents in files, and in the `*.yaml` files of folders in order of name; Lists are opened.

    Raises ValueError with the file and place for what is not YAML or not an object.
    """
    for path in paths:
        for file in sorted(path.glob("*.yaml")) if path.is_dir() else [path]:
            try:
                documents = list(yaml.load_all(file.read_bytes(), Loader=_LOADER))
            except yaml.YAMLError as problem:
                raise ValueError(f"{file} is not YAML: {problem}") from problem
            for number, document in enumerate(documents, start=1):
                if document is None:
                    continue
                if not isinstance(document, dict) or "kind" not in document or "apiVersion" not in document:
                    raise ValueError(f"{file}, document {number}: not a Kubernetes object (no apiVersion and kind)")
                yield from document["items"] if document["kind"] == "List" else [document]
