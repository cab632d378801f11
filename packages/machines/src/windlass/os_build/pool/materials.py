"""Asks for what a build is made of, or says why there is none: contexts, Secrets, loans, the base image. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from windlass.api.core import ConfigMap, Secret
from windlass.kube.control.question import Indexed
from windlass.os_build.builder import Backend, Cause
from windlass.os_build.constants import BUILDER_CONFIG, NAMESPACE
from windlass.os_build.credentials import Secrets
from windlass.os_build.environment import Lent, lent, loans_of
from windlass.os_build.inputs.context import Context
from windlass.os_build.pool.observe import BY_NAME
from windlass.os_build.pool.questions import Platforms, Rendered, Unfit, platforms, pull_credentials
from windlass.os_build.pool.snapshot import PoolFacts
from windlass.os_build.pullspec import split
from windlass.os_build.registry.answers import Shown
from windlass.os_build.request import Problem, Request

MISSING: Final = "MachineConfigMissing"
"""MachineConfigs are not watched, so nothing tells when it is there."""
_KINDS: Final[Mapping[str, type[Any]]] = {"Secret": Secret, "ConfigMap": ConfigMap}


def unread(request: Request, secrets: Secrets) -> Problem | None:
    """A Secret with credentials that this process can read, and a builder cannot."""
    for name, found in ((request.pull_secret, secrets.pull), (request.push_secret, secrets.push)):
        if found.without_auth:
            where = f"Secret {NAMESPACE}/{name}, which {request.named_in or f'ConfigMap {BUILDER_CONFIG}'} names"
            text = f"{where}: the entry {found.without_auth[0]} has no auth, and builders read nothing else"
            return Problem("SecretInvalid", f"{text}: add the base64 of USER:PASSWORD, as `oc registry login` does")
    return None


def lent_to(seen: PoolFacts) -> tuple[Lent, ...]:
    """What there is to lend, from the caches."""
    pool = seen.name
    asked: dict[tuple[str, str], Indexed[Any]] = {
        (loan.kind, name): Indexed(_KINDS[loan.kind], BY_NAME, name) for loan in loans_of(pool) for name in loan.names
    }
    seen.need_all(asked.values())
    return lent(pool, lambda kind, name: bool(seen.need(asked[kind, name])))


def contexts(
    seen: PoolFacts, request: Request, *, backend: Backend, architectures: Sequence[str]
) -> Mapping[str, Context] | Problem:
    """The context for each architecture, or why one has none. A megabyte that was found unfit is not rendered
    again."""
    if seen.unfit is not None:
        return seen.unfit
    asked = {each: Rendered(request.on(each)) for each in architectures}
    seen.need_all(dict.fromkeys(asked.values()))
    found: dict[str, Context] = {}
    for architecture, question in asked.items():
        context = seen.need(question)
        problem = context if isinstance(context, Problem) else None
        if isinstance(context, Context):
            problem = backend.unfit(context, request)
            found[architecture] = context
        if problem is None:
            continue
        if problem.reason != MISSING:
            seen.need(Unfit((request, backend.name), problem))
        return problem
    return found


def unfit_base(seen: PoolFacts, request: Request, *, contexts: Mapping[str, Context]) -> Problem | None:
    """A base image, or one with packages, that the registry shows, and that is not for an architecture."""
    if not seen.architectures:
        return None
    credentials = pull_credentials(request, seen.versions)
    for architecture, context in contexts.items():
        for which, image in (("base", context.base), ("extensions", context.extensions)):
            if (named := split(image)) is None:
                continue
            shown = platforms(seen, Platforms(*named, credentials, request.egress))
            if isinstance(shown, Shown) and architecture not in shown.architectures:
                text = (
                    f"the {which} image {image} of {request.config} is for {', '.join(shown.architectures)}, "
                    f"and pool {seen.name} needs {architecture}: let the MachineConfig name one that is for "
                    f"{architecture}, too, such as that of a multi-architecture release"
                )
                return Problem(Cause.ARCHITECTURE, text)
    return None
