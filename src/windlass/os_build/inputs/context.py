"""Puts the files of a build together."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from windlass.os_build.request import Problem, Request


class ApplyBy(StrEnum):
    """How a build applies the configuration.

    IGNITION  by the program of that name in the base image: for real images of the OS
    TREE      the files are expanded here and added: for any base image
    """

    IGNITION = "ignition"
    TREE = "tree"


class Context(Struct, frozen=True):
    """The files of a build by name, all in one folder; `Containerfile` is one of them."""

    files: Mapping[str, bytes]

    @property
    def containerfile(self) -> str:
        return self.files["Containerfile"].decode()

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(map(len, self.files.values()))

    def __repr__(self) -> str:
        return f"Context({', '.join(f'{name}: {len(data)} bytes' for name, data in self.files.items())})"


def rendered(request: Request, machine_config: bytes, *, apply_by: ApplyBy) -> Context | Problem:
    """The context of a build from the JSON of its rendered MachineConfig."""
    raise NotImplementedError
