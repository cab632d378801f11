"""Decides whether an image may become that of a pool: with a signing key, only if it is signed. Pure.

| the image | what is done |
|---|---|
| no key is named | it may |
| is signed, as this process knows | it may |
| is not known to be signed | it is signed: a `Call`, which makes no second signature |
| could not be signed | a `Problem`; it is tried again |
"""

from windlass.api.machineconfiguration import MachineConfigPool
from windlass.kube.control.plan import Call, target
from windlass.kube.control.seen import Present
from windlass.os_build.constants import NAMESPACE
from windlass.os_build.pool.questions import SigningData, push_credentials
from windlass.os_build.pool.snapshot import PoolFacts
from windlass.os_build.request import Problem, Request
from windlass.os_build.signing.carrier import IsSigned, SignImage


def unsigned(seen: PoolFacts, pool: Present[MachineConfigPool], image: str) -> Call | Problem | None:
    """What keeps the image from being taken; None: nothing. `image` is a pullspec with digest."""
    signer, request = seen.signer, seen.request
    if signer is None or not isinstance(request, Request):
        return None
    versions = f"{signer.versions};{seen.versions}"
    known = seen.need(IsSigned(image, versions))
    if known == "":
        return None
    if known is not None:
        return Problem("SigningFailed", f"{image} is built, and is not taken without a signature: {known}")
    key = seen.need(SigningData(signer.secret, versions))
    if isinstance(key, Problem):
        return key
    auths = seen.need(push_credentials(request, seen.versions))
    if isinstance(auths, Problem):
        return auths
    asked = SignImage(
        image=image,
        versions=versions,
        key=key,
        key_secret=f"{NAMESPACE}/{signer.secret}",
        secret=f"{NAMESPACE}/{request.push_secret}",
        auths=auths,
        egress=request.egress,
    )
    return Call(target=target(pool), request=asked, why="nodes may demand signed images")
