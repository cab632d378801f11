"""Reads an archive of a root file system back."""

import io
import tarfile

from msgspec import Struct

from windlass.os_build.inputs.context import Context


class Entry(Struct, frozen=True):
    """A member of the archive; `kind` is file, directory, symlink or hardlink."""

    kind: str
    mode: int
    uid: int
    gid: int
    data: bytes = b""
    target: str = ""


KINDS = {
    tarfile.REGTYPE: "file",
    tarfile.DIRTYPE: "directory",
    tarfile.SYMTYPE: "symlink",
    tarfile.LNKTYPE: "hardlink",
}


def unpacked(context: Context) -> dict[str, Entry]:
    """All members by absolute path, in the order of the archive; each path once."""
    found: dict[str, Entry] = {}
    with tarfile.open(fileobj=io.BytesIO(context.files["rootfs.tar.gz"]), mode="r:gz") as tar:
        for member in tar:
            assert not member.name.startswith("/")
            assert (member.mtime, member.uname, member.gname) == (0, "", "")
            path = f"/{member.name}"
            assert path not in found
            content = tar.extractfile(member) if member.isreg() else None
            data = content.read() if content else b""
            found[path] = Entry(KINDS[member.type], member.mode, member.uid, member.gid, data, member.linkname)
    return found
