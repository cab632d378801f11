"""Reads the answer of an informer: what is good is taken, clean and within limits; what is not is refused, in words.

An informer cannot choose when its insights were acquired, nor under which name they stand. Texts never change which
insight is which: that is the uid.
"""

import re
from collections.abc import Iterator
from typing import Final

import msgspec
from msgspec import Struct

from windlass.api.update_informer import (
    API_VERSION,
    InformedInsight,
    InformedResource,
    UpdateInsightsResponse,
)
from windlass.api.update_insights import GROUP, LABEL, MOST_RESOURCES, AboutRef
from windlass.kube import decoding
from windlass.kube.nesting import is_deep
from windlass.update_status.document.uids import MOST as MOST_UID
from windlass.update_status.document.validity import holds
from windlass.update_status.informers.cleaning import link, one_line
from windlass.update_status.informers.fetching import NoAnswer
from windlass.update_status.report import LEVELS, Impact, InformerInsight, Insight, Level, Reference, Scope
from windlass.update_status.times import HOUR, ZERO, Moment, known_moment

MOST_INSIGHTS: Final = 64
"""Insights of one informer."""
MOST_SUMMARY: Final = 256
MOST_DESCRIPTION: Final = 1024
DEEPEST: Final = 16
"""Levels of maps and lists in an answer."""
LATEST_FINISH: Final = 30 * 24 * HOUR
BUILT_IN: Final = ("cv-", "co-", "mcp-", "node-", "health-", "cause-")
"""How the uids of the controller's own insights begin: no other insight may look like one."""

_VERSION = re.compile(r"v([0-9]+)(?:(?:alpha|beta)[0-9]+)?")
_response = decoding.decoder(UpdateInsightsResponse)
_insight = decoding.decoder(InformedInsight)


class Answer(Struct, frozen=True):
    """The insights that were taken, and why others were not."""

    insights: tuple[InformerInsight, ...] = ()
    refused: tuple[str, ...] = ()


def read_answer(body: bytes, *, now: Moment) -> Answer:
    """What the body says. Raises NoAnswer if it is no answer at all."""
    if is_deep(body, deepest=DEEPEST):
        raise NoAnswer(f"its answer is nested more than {DEEPEST} levels deep")
    try:
        found = _response.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise NoAnswer(f"its answer is no UpdateInsightsResponse: {one_line(str(error), 200)}") from None
    group, _, version = found.api_version.partition("/")
    known = _VERSION.fullmatch(version)
    if group != GROUP or known is None or known[1] != "1" or found.kind != "UpdateInsightsResponse":
        raise NoAnswer(
            f"its answer is a {one_line(found.kind, 64)} of {one_line(found.api_version, 64)}, "
            f"not an UpdateInsightsResponse of {API_VERSION}"
        )
    told: dict[str, InformerInsight] = {}
    refused: list[str] = []
    for raw in found.insights:
        if len(told) >= MOST_INSIGHTS:
            refused.append(f"more than {MOST_INSIGHTS} insights")
            break
        try:
            one = _insight.decode(raw)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            refused.append(f"an insight is malformed: {one_line(str(error), 200)}")
            continue
        if why := _refusal(one, told):
            refused.append(f"insight {one_line(one.uid, MOST_UID)!r}: {why}")
            continue
        told[one.uid] = _accepted(one, refused, now)
    return Answer(tuple(told.values()), tuple(refused))


def _refusal(one: InformedInsight, told: dict[str, InformerInsight]) -> str:
    if len(one.uid) > MOST_UID or "\n" in one.uid or not re.fullmatch(LABEL, one.uid):
        return "its uid is no DNS label of at most 63 characters"
    if one.uid.startswith(BUILT_IN):
        return "its uid begins like those of the controller's own insights"
    if one.uid in told:
        return "there are two of this uid"
    if not one_line(one.impact.summary, MOST_SUMMARY):
        return "it has no summary"
    if one.scope.pool and (len(one.scope.pool) > 253 or not re.fullmatch(LABEL, one.scope.pool.replace(".", "-"))):
        return "its pool has no name that Kubernetes allows"
    return ""


def _accepted(one: InformedInsight, refused: list[str], now: Moment) -> InformerInsight:
    what = f"insight {one.uid!r}"
    reference = link(one.remediation.reference)
    if one.remediation.reference and not reference:
        refused.append(f"{what}: its link is left out, since it is not a link of https")
    resources = tuple(_resources(one.scope.resources))
    if len(resources) < len(one.scope.resources):
        refused.append(f"{what}: objects without a proper name, or beyond {MOST_RESOURCES}, are left out")
    level = one.impact.level
    return InformerInsight(
        uid=one.uid,
        finish=_finish(one.remediation.estimated_finish, now),
        insight=Insight(
            level=LEVELS.get(level, Level.INFO),
            impact=_IMPACTS.get(one.impact.type, Impact.UNKNOWN),
            summary=one_line(one.impact.summary, MOST_SUMMARY),
            description=one_line(one.impact.description, MOST_DESCRIPTION),
            reference=reference,
            started=_start(one.started_at, now),
            resources=resources,
            scope=Scope.WORKER_POOL if one.scope.pool else Scope.CONTROL_PLANE,
            pool=one.scope.pool,
        ),
    )


def _resources(found: list[InformedResource]) -> Iterator[Reference]:
    for one in found[:MOST_RESOURCES]:
        checked = AboutRef(
            group=one.group or None, resource=one.resource, name=one.name, namespace=one.namespace or None
        )
        if holds(checked) and one_line(one.name, 253) == one.name:
            yield Reference(one.group, one.resource, one.name, one.namespace)


def _start(text: str | None, now: Moment) -> Moment | None:
    """When it began, as the informer says. Its clock may be ahead of ours: a start in the future is unknown."""
    found = _moment(text)
    return found if found is not None and found < now else None


def _finish(text: str | None, now: Moment) -> Moment | None:
    found = _moment(text)
    return found if found is not None and ZERO < found <= now + LATEST_FINISH else None


def _moment(text: str | None) -> Moment | None:
    try:
        return known_moment(text)
    except ValueError:
        return None


_IMPACTS: Final = {impact.value: impact for impact in Impact}
