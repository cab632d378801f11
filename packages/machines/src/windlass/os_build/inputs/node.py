"""A file, directory or link of the root file system."""

from msgspec import Struct


class Node(Struct, frozen=True):
    """`data` is a file's content, `target` what a link links; a directory has neither.

    The path is absolute. The target of a hard link is one too.
    """

    path: str
    data: bytes | None = None
    target: str = ""
    is_hard_link: bool = False
    mode: int = 0o644
    uid: int = 0
    gid: int = 0

    @property
    def is_directory(self) -> bool:
        return self.data is None and not self.target
