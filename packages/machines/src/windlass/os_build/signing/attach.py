"""Looks whether an image in a registry has a signature by a key, and makes and stores it if not."""

import asyncio

from windlass.os_build.registry.index import OCI_MANIFEST, digest_of
from windlass.os_build.registry.repository import Manifest, Repository, Trouble, Why
from windlass.os_build.signing.key import SigningKey
from windlass.os_build.signing.payload import manifest_of, payload_of, signatures_in, tag_of


async def sign(repository: Repository, digest: str, key: SigningKey) -> bool:
    """Sign an image; of a list, each image, too, since nodes verify the one that they take. False: all was signed
    before. An image that is signed is not signed again; signatures by other keys stay. Raises Trouble.

    Two processes that sign an image for the first time at once may leave one of both signatures: either is valid.
    """
    found = await repository.manifest(digest)
    if found is None:
        raise Trouble(Why.UNANSWERED, f"the registry does not have {repository.target}@{digest}")
    made = [await _sign_one(repository, each, key) for each in (digest, *found.children)]
    return any(made)


async def _sign_one(repository: Repository, digest: str, key: SigningKey) -> bool:
    payload, tag = payload_of(repository.target, digest), tag_of(digest)
    earlier = await repository.manifest(tag)
    if earlier is not None and _has(earlier, payload, key):
        return False
    signature = await asyncio.to_thread(key.sign, payload)
    content, config = manifest_of(payload, signature, beside=earlier.document if earlier is not None else {})
    await repository.put_blob(payload)
    await repository.put_blob(config)
    await repository.put_manifest(tag, content, media_type=OCI_MANIFEST)
    return True


def _has(manifest: Manifest, payload: bytes, key: SigningKey) -> bool:
    wanted = digest_of(payload)
    return any(
        each.payload == wanted and key.has_signed(payload, each.signature) for each in signatures_in(manifest.document)
    )
