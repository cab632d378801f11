"""Decides whether the list of contents of a new image has to be attached first. Pure. It keeps no image back."""

from windlass.api.machineconfiguration import MachineConfigPool
from windlass.kube.control.plan import Call, target
from windlass.kube.control.seen import Present
from windlass.os_build.constants import NAMESPACE
from windlass.os_build.pool.questions import ContentsOf, push_credentials
from windlass.os_build.pool.snapshot import PoolFacts
from windlass.os_build.request import Problem, Request
from windlass.os_build.sbom.carrier import AttachContents, IsAttached


def unlisted(seen: PoolFacts, pool: Present[MachineConfigPool], image: str) -> Call | str:
    """A Call that attaches it; else why the image has none, and empty if it has one or needs none."""
    request = seen.request
    if not seen.lists_contents or not isinstance(request, Request):
        return ""
    known = seen.need(IsAttached(image, seen.versions))
    if known is not None:
        return known
    document = seen.need(ContentsOf(request, image))
    if isinstance(document, Problem):
        return document.text
    auths = seen.need(push_credentials(request, seen.versions))
    if isinstance(auths, Problem):
        return auths.text
    asked = AttachContents(
        image=image,
        versions=seen.versions,
        document=document,
        secret=f"{NAMESPACE}/{request.push_secret}",
        auths=auths,
        egress=request.egress,
    )
    return Call(target=target(pool), request=asked, why="people ask what is in the image")
