"""Reads the images that were pushed to a registry out of its folder: tags, manifests, labels and files."""

import gzip
import io
import json
import posixpath
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

_OPAQUE: Final = ".wh..wh..opq"
_WHITEOUT: Final = ".wh."
_LINKS: Final = 40


class Images:
    """The images of a registry; `reference` is a tag or a digest. What is not there is a FileNotFoundError."""

    def __init__(self, folder: Path) -> None:
        self._root = folder / "docker/registry/v2"

    def repositories(self) -> list[str]:
        """All repositories that have a manifest, or had one."""
        root = self._root / "repositories"
        return sorted(str(found.parent.relative_to(root)) for found in root.rglob("_manifests"))

    def tags(self, repository: str) -> list[str]:
        """The tags of a repository."""
        tags = self._manifests(repository) / "tags"
        return sorted(found.parent.parent.name for found in tags.glob("*/current/link"))

    def manifests(self, repository: str) -> list[str]:
        """The digests of all its manifests, tagged or not."""
        revisions = self._manifests(repository) / "revisions"
        return sorted(f"{found.parts[-3]}:{found.parts[-2]}" for found in revisions.glob("*/*/link"))

    def digest(self, repository: str, reference: str) -> str:
        """The digest of a manifest."""
        where = f"revisions/{reference.replace(':', '/')}" if ":" in reference else f"tags/{reference}/current"
        return (self._manifests(repository) / where / "link").read_text(encoding="ascii").strip()

    def remove(self, repository: str, digest: str) -> None:
        """Delete a manifest, as people or a retention policy do; its tags stay and name nothing."""
        (self._manifests(repository) / "revisions" / digest.replace(":", "/") / "link").unlink()

    def document(self, repository: str, reference: str) -> bytes:
        """What a tag or digest names: a manifest, or a list of them."""
        return self.blob(self.digest(repository, reference))

    def manifest(self, repository: str, reference: str) -> dict[str, Any]:
        """The manifest; of an index, that of its first image."""
        found: dict[str, Any] = json.loads(self.blob(self.digest(repository, reference)))
        if "manifests" in found:
            found = json.loads(self.blob(found["manifests"][0]["digest"]))
        return found

    def config(self, repository: str, reference: str) -> dict[str, Any]:
        """The configuration of the image, with `config.Labels` and `history`."""
        config: dict[str, Any] = json.loads(self.blob(self.manifest(repository, reference)["config"]["digest"]))
        return config

    def labels(self, repository: str, reference: str) -> dict[str, str]:
        """The labels of the image."""
        return self.config(repository, reference).get("config", {}).get("Labels") or {}

    def file(self, repository: str, reference: str, path: str) -> bytes:
        """A file of the image, through symbolic links."""
        files = self.files(repository, reference)
        wanted = path.strip("/")
        for _ in range(_LINKS):
            steps = wanted.split("/")
            for count in range(1, len(steps) + 1):
                found = files.get("/".join(steps[:count]))
                if isinstance(found, str):
                    linked = posixpath.join("/", *steps[: count - 1], found, *steps[count:])
                    wanted = posixpath.normpath(linked).strip("/")
                    break
            else:
                if isinstance(found, bytes):
                    return found
                break
        raise FileNotFoundError(f"{repository} {reference} has no file {path}")

    def files(self, repository: str, reference: str) -> dict[str, bytes | str]:
        """The content of all files, and the targets of all symbolic links, by their paths without the first slash."""
        files: dict[str, bytes | str] = {}
        for layer in self.manifest(repository, reference)["layers"]:
            content = self.blob(layer["digest"])
            _apply(files, gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content)
        return files

    def _manifests(self, repository: str) -> Path:
        return self._root / "repositories" / repository / "_manifests"

    def blob(self, digest: str) -> bytes:
        """The content of a blob, of any repository."""
        algorithm, _, value = digest.partition(":")
        return (self._root / "blobs" / algorithm / value[:2] / value / "data").read_bytes()


def _apply(files: dict[str, bytes | str], layer: bytes) -> None:
    """Change `files` by a layer: first remove the hidden files, then add the files of the layer."""
    added: dict[str, bytes | str] = {}
    with tarfile.open(fileobj=io.BytesIO(layer)) as archive:
        for member in archive:
            path = posixpath.normpath(member.name).strip("/")
            folder, name = posixpath.split(path)
            if name == _OPAQUE:
                _remove(files, list(_below(files, folder)))
            elif name.startswith(_WHITEOUT):
                hidden = posixpath.join(folder, name.removeprefix(_WHITEOUT))
                _remove(files, [hidden, *_below(files, hidden)])
            elif member.issym():
                added[path] = member.linkname
            elif member.islnk():
                linked = posixpath.normpath(member.linkname).strip("/")
                added[path] = added.get(linked, files.get(linked, b""))
            elif member.isfile() and (content := archive.extractfile(member)) is not None:
                added[path] = content.read()
            else:
                _remove(files, [path])
    for path in added:
        _remove(files, list(_below(files, path)))
    files.update(added)


def _below(files: dict[str, bytes | str], folder: str) -> Iterator[str]:
    return (path for path in files if path.startswith(f"{folder}/") or not folder)


def _remove(files: dict[str, bytes | str], paths: list[str]) -> None:
    for path in paths:
        files.pop(path, None)
