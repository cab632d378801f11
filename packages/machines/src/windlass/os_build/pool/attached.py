"""Decides whether an image may become that of a pool: what belongs to it in the registry must be there first. Pure.

| it | what is done |
|---|---|
| is not asked for | the image may |
| is there, as this process knows | the image may |
| is not known to be there | a `Call` makes it, unless it is there |
| could not be made | a `Problem`. Without a signature the image is not taken; without a list of contents it is |
"""

from collections.abc import Callable
from typing import TypeVar

from windlass.api.machineconfiguration import MachineConfigPool
from windlass.kube.control.plan import Call, target
from windlass.kube.control.question import Question
from windlass.kube.control.seen import Present
from windlass.os_build.constants import NAMESPACE
from windlass.os_build.pool.questions import ContentsOf, SigningData, push_credentials
from windlass.os_build.pool.snapshot import PoolFacts
from windlass.os_build.registry.access import Access, ImageQuestion, ImageRequest, access_of
from windlass.os_build.request import Problem, Request
from windlass.os_build.sbom.carrier import AttachContents, IsAttached
from windlass.os_build.signing.carrier import IsSigned, SignImage

M = TypeVar("M")


def unsigned(seen: PoolFacts, pool: Present[MachineConfigPool], image: str) -> Call | Problem | None:
    """What keeps the image, a pullspec with digest, from being taken: its signature. None: nothing."""
    if (signer := seen.signer) is None:
        return None
    versions, named = f"{signer.versions};{seen.versions}", f"{NAMESPACE}/{signer.secret}"
    found = _attached(
        seen,
        pool,
        IsSigned(image, versions),
        SigningData(signer.secret, versions),
        lambda key, access: SignImage(image=image, versions=versions, key=key, key_secret=named, **access),
        why="nodes may demand signed images",
    )
    if isinstance(found, str):
        return Problem("SigningFailed", f"{image} is built, and is not taken without a signature: {found}")
    return found


def unlisted(seen: PoolFacts, pool: Present[MachineConfigPool], image: str) -> Call | str:
    """A Call that attaches the list of contents; else why the image has none, empty if it has one or needs none."""
    if not seen.lists_contents or not isinstance(seen.request, Request):
        return ""
    found = _attached(
        seen,
        pool,
        IsAttached(image, seen.versions),
        ContentsOf(seen.request, image),
        lambda document, access: AttachContents(image=image, versions=seen.versions, document=document, **access),
        why="people ask what is in the image",
    )
    return found.text if isinstance(found, Problem) else found or ""


def _attached(
    seen: PoolFacts,
    pool: Present[MachineConfigPool],
    question: ImageQuestion,
    material: Question[M | Problem],
    request: Callable[[M, Access], ImageRequest],
    *,
    why: str,
) -> Call | Problem | str | None:
    """The table of the module; a text says why it could not be made."""
    if not isinstance(seen.request, Request):
        return None
    if (known := seen.need(question)) is not None:
        return known or None
    found = seen.need(material)
    if isinstance(found, Problem):
        return found
    auths = seen.need(push_credentials(seen.request, seen.versions))
    if isinstance(auths, Problem):
        return auths
    return Call(target=target(pool), request=request(found, access_of(seen.request, auths)), why=why)
