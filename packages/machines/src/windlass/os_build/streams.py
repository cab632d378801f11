"""Finds the images of the stream of the OS that a pool follows. Pure.

They are for a rendered MachineConfig that names no image itself; one that the Machine Config Operator rendered does.

| the pool names | OSImageStream `cluster` | the images |
|---|---|---|
| no stream | is not there, or says nothing yet | those of ConfigMap `machine-config-osimageurl` |
| no stream | has streams | those of its default stream |
| a stream | has it | those of that stream |
| a stream | lacks it, is not there, or may not be read | none, with the reason |
"""

from typing import Final

from msgspec.structs import replace

from windlass.api.machineconfiguration import MachineConfigPool, OSImageStream
from windlass.os_build.request import OsImages

SINGLETON: Final = "cluster"


def images_of(
    pool: MachineConfigPool, streams: OSImageStream | None, images: OsImages, *, unreadable: str = ""
) -> OsImages:
    """The images of the pool; `images` are those of the ConfigMap. `unreadable`: why the streams are not known."""
    named = pool.spec.os_image_stream.name if pool.spec.os_image_stream else ""
    if streams is None:
        if not named:
            return images
        why = f"cannot be read: {unreadable}" if unreadable else "does not exist"
        return _without(images, pool, named, f"OSImageStream {SINGLETON} {why}")
    status = streams.status
    found = {each.name: each for each in status.available_streams} if status else {}
    wanted = named or (status.default_stream if status else "")
    if wanted in found:
        chosen = found[wanted]
        return replace(images, base=chosen.os_image, extensions=chosen.os_extensions_image, stream=wanted)
    if not named:
        return images
    has = ", ".join(found) or "no stream yet"
    return _without(images, pool, named, f"OSImageStream {SINGLETON} has {has}")


def _without(images: OsImages, pool: MachineConfigPool, named: str, why: str) -> OsImages:
    field = f"spec.osImageStream.name of MachineConfigPool {pool.metadata.name} is {named}"
    return replace(images, base="", extensions="", stream=named, missing=f"{field}, and {why}")
