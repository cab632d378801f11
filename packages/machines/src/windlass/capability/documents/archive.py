"""Opens the inputs of a command: files and directories as they are, tar archives unpacked for as long as they are read.

    with open_inputs(["must-gather.tar.gz", "more.yaml"]) as inputs:
        print([(one.name, one.path) for one in inputs])

Archives are recognized by their content: tar, and tar compressed with gzip. They come from strangers:

| an archive | what is done |
|---|---|
| has links, devices, or names with `..` | these are left out: nothing is written outside the temporary directory |
| has logs, binaries and other files that no command reads | these are left out |
| unpacks to more than `LARGEST_UNPACKED` | refused |
| has more than `LARGEST_KEPT` of readable files, or more than `MOST_MEMBERS` | refused |
| has a header of more than `LARGEST_HEADER`, such as the map of a sparse file | refused |
| is cut off, or is no tar archive | refused |
| is compressed otherwise (zip, xz, bzip2, zstd) | refused: it has to be unpacked first |
"""

import gzip
import tarfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import IO, Final, Protocol

from msgspec import Struct

from windlass.capability.documents.must_gather import SUFFIXES
from windlass.kube.foreign import one_line

STDIN: Final = "-"

LARGEST_UNPACKED: Final = 16 * 2**30
"""Bytes of all that an archive holds. A must-gather of a large cluster has a few GiB, most of it logs."""
LARGEST_KEPT: Final = 2**30
"""Bytes of the files that are unpacked."""
MOST_MEMBERS: Final = 500_000
LARGEST_HEADER: Final = 2**20
"""Bytes that describe one member."""
TIMESTAMP: Final = "timestamp"
"""The file of a must-gather that says when it was gathered."""

_DEEPEST: Final = 40
_LONGEST: Final = 255
"""Parts of a member's name, and bytes of each part."""
_PIECE: Final = 2**16
_UNPACKED_HERE: Final = frozenset({"tar", "gzip"})
_MAGIC: Final = (
    (257, b"ustar", "tar"),
    (0, b"\x1f\x8b", "gzip"),
    (0, b"PK\x03\x04", "zip"),
    (0, b"\xfd7zXZ\x00", "xz"),
    (0, b"BZh", "bzip2"),
    (0, b"\x28\xb5\x2f\xfd", "zstd"),
)
_UNPACK_IT: Final = "unpack it, and name its directory"
_MALFORMED: Final = (tarfile.TarError, EOFError, gzip.BadGzipFile, zlib.error, ValueError, RecursionError)


class _Stream(Protocol):
    def read(self, size: int, /) -> bytes: ...


class _Refused(Exception):
    """The archive cannot be read; the text says why."""


class Input(Struct, frozen=True):
    """One input. `name` is what the user calls it, `path` where it can be read (None: standard input).

    `problem`: why it cannot be read at all.
    """

    name: str
    path: Path | None = None
    problem: str = ""

    is_archive: bool = False

    def shown(self, file: Path) -> str:
        """The name of a file of this input: in an archive, its name there."""
        if self.path is None or not self.is_archive:
            return str(file)
        return str(Path(self.name, file.relative_to(self.path)))


@contextmanager
def open_inputs(inputs: Sequence[str]) -> Iterator[list[Input]]:
    """The inputs of these names. Archives are unpacked until the end of the context."""
    with ExitStack() as unpacked:
        yield [_opened(name, unpacked) for name in inputs]


def _opened(name: str, unpacked: ExitStack) -> Input:
    if name == STDIN:
        return Input(name)
    path = Path(name)
    try:
        if not path.is_file():
            return Input(name, path)
        with path.open("rb") as stream:
            kind = archive_kind(stream.read(_PIECE))
            if not kind:
                return Input(name, path)
            if kind not in _UNPACKED_HERE:
                return Input(name, path, problem=f"{name}: a {kind} archive: {_UNPACK_IT}")
            stream.seek(0)
            directory = Path(unpacked.enter_context(TemporaryDirectory(prefix="windlass-")))
            _unpack(gzip.GzipFile(fileobj=stream) if kind == "gzip" else stream, directory)
            return Input(name, directory, is_archive=True)
    except _Refused as error:
        return Input(name, path, problem=f"{name}: {error}")
    except _MALFORMED as error:
        why = one_line(str(error)) or type(error).__name__
        return Input(name, path, problem=f"{name}: not a whole tar archive: {why}")
    except OSError as error:
        return Input(name, path, problem=f"{name}: {error.strerror or error}")


def archive_kind(start: bytes) -> str:
    """The kind of the archive that begins with `start`, empty if it is none."""
    return next((kind for at, magic, kind in _MAGIC if start[at : at + len(magic)] == magic), "")


def _unpack(stream: _Stream, directory: Path) -> None:
    """Write the readable files of a tar archive into `directory`. Raises _Refused, and errors of `_MALFORMED`."""
    limited, left = _Limited(stream), LARGEST_KEPT
    with tarfile.open(fileobj=limited, mode="r:") as archive:  # type: ignore[call-overload]
        for _ in range(MOST_MEMBERS):
            limited.begin(LARGEST_HEADER)
            if (member := archive.next()) is None:
                return
            # Otherwise tarfile keeps all of them, and what global headers say.
            archive.members.clear()
            archive.pax_headers.clear()
            if not member.isreg() or member.issparse() or (place := _place(member.name)) is None:
                continue
            left -= member.size
            if left < 0:
                raise _Refused(f"it holds more than {LARGEST_KEPT // 2**20} MiB of YAML and JSON: {_UNPACK_IT}")
            limited.begin(member.size + _PIECE)
            if (content := archive.extractfile(member)) is not None:
                # A name may be that of a file and of a directory: the first one stays.
                with suppress(FileExistsError, NotADirectoryError, IsADirectoryError):
                    _write(content, directory / place)
    raise _Refused(f"it has more than {MOST_MEMBERS} members: {_UNPACK_IT}")


def _write(content: IO[bytes], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        while piece := content.read(_PIECE):
            file.write(piece)


def _place(name: str) -> PurePosixPath | None:
    """Where a member is written, None if nobody reads it or its name leads elsewhere."""
    path = PurePosixPath(name)
    parts = [part for part in path.parts if part not in ("/", "//", ".")]
    if path.suffix.lower() not in SUFFIXES and path.name != TIMESTAMP:
        return None
    if ".." in parts or "\0" in name or len(parts) > _DEEPEST:
        return None
    return None if any(len(part.encode()) > _LONGEST for part in parts) else PurePosixPath(*parts)


class _Limited:
    """A stream that is read forward only, up to a limit in all and up to another since the last `begin`.

    tarfile reads into memory whatever size a header claims.
    """

    def __init__(self, stream: _Stream) -> None:
        self._stream = stream
        self._at = 0
        self._left = LARGEST_HEADER

    def begin(self, most: int) -> None:
        self._left = most

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = 0) -> int:
        if whence or offset < self._at:
            raise tarfile.ReadError("its members overlap")
        if offset > LARGEST_UNPACKED:
            raise _Refused(
                f"it unpacks to more than {LARGEST_UNPACKED // 2**30} GiB: unpack it, and name its directory"
            )
        while self._at < offset and (piece := self._stream.read(min(_PIECE, offset - self._at))):
            self._at += len(piece)
        return self._at

    def read(self, size: int = -1) -> bytes:
        self._left -= size
        if size < 0 or self._left < 0:
            raise _Refused(f"the header of a member has more than {LARGEST_HEADER // 2**10} KiB")
        read = self._stream.read(size)
        self._at += len(read)
        return read
