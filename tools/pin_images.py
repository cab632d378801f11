"""Pins the images that this project names: writes the digest that each tag has now in its registry beside the tag.

    make pin-images                                                     # FILES and IMAGES below
    python tools/pin_images.py --image quay.io/org/os:4.20 FILE ...

An image that has a digest gets the present one. The digest is that of the index, so it holds for all architectures.
If one registry does not answer, nothing is written, and the exit code is 1.
"""

import argparse
import asyncio
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from windlass.os_build.pullspec import Target
from windlass.os_build.registry import Found, Registry

IMAGES: Final = ("docker.io/library/python:3.13-slim", "quay.io/buildah/stable:latest")
FILES: Final = (
    "deploy/Containerfile",
    "examples/controller/Containerfile",
    "packages/machines/src/windlass/os_build/pullspec.py",
    "docs/os-build.md",
)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="pin_images", description="Pin images by the digests of their registries.")
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="[default: those of this project]")
    parser.add_argument("--image", action="append", metavar="IMAGE", help="with a tag; may be repeated")
    parser.add_argument("--insecure-registry", action="append", default=[], metavar="HOST", help="asked by plain HTTP")
    settings = parser.parse_args(arguments)
    files = settings.files or [Path(__file__).parents[1] / name for name in FILES]
    found = asyncio.run(digests(settings.image or IMAGES, insecure=settings.insecure_registry))
    pinned = {image: digest for image, digest in found.items() if digest.startswith("sha256:")}
    for image in found.keys() - pinned.keys():
        print(f"{image}: {found[image]}", file=sys.stderr)
    if len(pinned) < len(found):
        return 1
    for file in files:
        before = file.read_text()
        if (after := pin(before, pinned)) != before:
            file.write_text(after)
            print(f"{file}: pinned")
    return 0


async def digests(images: Iterable[str], *, insecure: Sequence[str]) -> dict[str, str]:
    """The digest of each image, or the sentence that says why there is none."""
    async with Registry(insecure=insecure, seconds=60.0) as registry:
        found = {}
        for image in images:
            answer = await registry.manifest(Target.parse(image), image.rpartition(":")[2], None, origin="nobody")
            found[image] = answer.digest if isinstance(answer, Found) else answer.text
        return found


def pin(text: str, digests: Mapping[str, str]) -> str:
    """`text` with the digest behind each image that it names.

    >>> pin("FROM example.com/a:1 AS build", {"example.com/a:1": "sha256:" + "0" * 64}).replace("0" * 64, "...")
    'FROM example.com/a:1@sha256:... AS build'
    """
    for image, digest in digests.items():
        name = re.compile(rf"(?<![\w./-]){re.escape(image)}(?:@sha256:[0-9a-f]{{64}})?(?![\w@.-])")
        text = name.sub(f"{image}@{digest}", text)
    return text


if __name__ == "__main__":
    sys.exit(main())
