"""Decodes the content of a file that an Ignition configuration has: data URL, compression, hash.

Source of data URLs: RFC 2397. The hash is that of the content after decompression.
"""

import binascii
import hashlib
import zlib
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote_to_bytes

from windlass.os_build.inputs.machine_config import Invalid, Resource

LARGEST: Final = 32 << 20
"""Bytes that compressed content may expand to."""
_PIECE: Final = 1 << 16
_GZIP: Final = 16 + zlib.MAX_WBITS
_HASHES: Final = {"sha512": hashlib.sha512, "sha256": hashlib.sha256}


def is_remote(resource: Resource) -> bool:
    """The content has to be fetched."""
    return bool(resource.source) and not (resource.source or "").startswith("data:")


def decoded(resource: Resource, *, where: str) -> bytes:
    """The content of a resource that is not remote. `where` names its field. Raises Invalid."""
    content = _from_url(resource.source, where=f"{where}.source") if resource.source else b""
    if resource.compression == "gzip":
        content = _expanded(content, where=where)
    elif resource.compression:
        raise Invalid(f"{where}.compression", f"{resource.compression!r} is unknown: Ignition knows gzip")
    if resource.verification is not None and resource.verification.hash:
        _verify(content, resource.verification.hash, where=f"{where}.verification.hash")
    return content


def _from_url(url: str, *, where: str) -> bytes:
    head, comma, data = url.partition(",")
    if not comma:
        raise Invalid(where, f"the data URL {url[:40]!r} has no comma before its data")
    if not data.isascii():
        raise Invalid(where, "the data URL is corrupt: it has characters that must be percent-encoded")
    plain = b"".join(map(unquote_to_bytes, _pieces(data)))
    # An escape of three characters becomes one byte; a wrong one stays as it is.
    if len(data) - len(plain) != 2 * data.count("%"):
        raise Invalid(where, "the data URL is corrupt: it has a wrong percent-encoding")
    if head.rpartition(";")[2].strip().lower() != "base64":
        return plain
    try:
        return binascii.a2b_base64(plain, strict_mode=True)
    except binascii.Error as error:
        raise Invalid(where, f"the base64 of the data URL is corrupt: {error}") from None


def _pieces(data: str) -> Iterator[str]:
    """Parts that end between escapes: `unquote_to_bytes` needs 50 bytes for each escape of what it is given."""
    start = 0
    while start < len(data):
        end = data.find("%", start + _PIECE)
        end = len(data) if end < 0 else end
        yield data[start:end]
        start = end


def _expanded(content: bytes, *, where: str) -> bytes:
    """All members of a gzip stream, one after the other, as Go reads them."""
    found = b""
    while True:
        stream = zlib.decompressobj(_GZIP)
        try:
            found += stream.decompress(content, LARGEST + 1 - len(found))
        except zlib.error as error:
            raise Invalid(where, f"the gzip data is corrupt: {error}") from None
        if len(found) > LARGEST:
            raise Invalid(where, f"it expands to more than {LARGEST >> 20} MiB", "make the file smaller")
        if not stream.eof:
            raise Invalid(where, "the gzip data is corrupt: it ends too early")
        if not (content := stream.unused_data):
            return found


def _verify(content: bytes, wanted: str, *, where: str) -> None:
    kind, _, digits = wanted.partition("-")
    if kind not in _HASHES:
        raise Invalid(where, f"{wanted[:40]!r} has none of the forms sha512-... and sha256-...")
    found = _HASHES[kind](content).hexdigest()
    if found != digits.lower():
        raise Invalid(where, f"the content has {kind}-{found}, not {wanted}")
