"""Makes the document of the page from a report and the records of updates: the parts that `update` lists."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from windlass.api.update_record import NodeTook, Took
from windlass.update_status.alike import Alike, alike
from windlass.update_status.as_tree import tree
from windlass.update_status.assessment.insights import is_failing
from windlass.update_status.causes.symptoms import cause_of
from windlass.update_status.history import REFUSED
from windlass.update_status.record import Record
from windlass.update_status.report import Insight, Report
from windlass.update_status.text.records import newest_first, yes_or_no
from windlass.update_status.times import Moment
from windlass.update_status.view.brief import in_short
from windlass.web.view import BRIEF

_PASSING: Final = ("duration",)
"""What a page computes itself, from moments."""


def parts(report: Report, records: Sequence[Record], *, now: Moment) -> dict[str, Any]:
    """The document of a report and of the records that there are."""
    said = tree(report, now=now)
    plane = said["controlPlane"]
    operators, pools = plane.pop("operators"), said.pop("pools")
    causes, insights, informers = said.pop("causes"), said.pop("insights"), said.pop("informers")
    said.pop("time")
    for passing in _PASSING:
        plane.pop(passing, None)
    found: dict[str, Any] = {"update": said}
    for operator in operators:
        found[f"operator/{operator['name']}"] = _lean(operator)
    for place, pool in enumerate(pools):
        for node in pool.pop("nodes"):
            found[f"node/{node['name']}"] = _lean({**node, "pool": pool["name"]})
        found[f"pool/{pool['name']}"] = {**_lean(pool), "place": place}
    found |= _attention(report, _numbered("cause", causes, of=("type", "about")), insights)
    for informer in informers:
        found |= _informed(informer)
    newest = newest_first(records)
    if begun := [record for record in newest if record.state != REFUSED]:
        found |= _took(begun[0])
    found["history"] = [_line(record) for record in newest]
    found[BRIEF] = in_short(found)
    return found


def _attention(
    report: Report, causes: Mapping[str, Any], said: Sequence[Mapping[str, Any]]
) -> dict[str, Mapping[str, Any]]:
    """Causes and insights. Insights that differ only in their object are one part; `under` names the part to which an
    insight belongs: its cause, or what it follows."""
    trees = {id(insight): tree for insight, tree in zip(report.insights, said, strict=True)}
    keys = {id(cause): key for cause, key in zip(report.causes, causes, strict=True)}
    placed = [(insight, cause_of(insight, report.causes)) for insight in report.insights]
    of_nothing = [insight for insight, cause in placed if cause is None]
    owned = {about for insight in of_nothing if insight.follows is None for about in insight.resources}
    top = alike(insight for insight in of_nothing if insight.follows not in owned)
    found = _grouped(top, trees)
    owners = {
        about: key
        for key, group in zip(found, top, strict=True)
        for insight in group.insights
        if insight.follows is None
        for about in insight.resources
    }
    below: dict[str, list[Insight]] = {}
    for insight, cause in placed:
        under = keys[id(cause)] if cause is not None else owners.get(insight.follows) if insight.follows else None
        if under is not None:
            below.setdefault(under, []).append(insight)
    for under, insights in below.items():
        found |= _grouped(alike(insights), trees, under=under)
    return {**causes, **found}


def _grouped(groups: Sequence[Alike], trees: Mapping[int, Mapping[str, Any]], *, under: str = "") -> dict[str, Any]:
    """A part for each of them, whose key stays the same while objects join and leave. `trees`: of insights, by id."""
    said = []
    for group in groups:
        each = [trees[id(one)] for one in group.insights]
        resources = [about for one in each for about in one["resources"]]
        said.append(
            {
                **each[0],
                "summary": group.summary,
                "reason": group.reason,
                "description": group.description,
                "remedy": group.remedy,
                "started": min((one["started"] for one in each if one["started"]), default=None),
                "firstSeen": min((one["firstSeen"] for one in each if one["firstSeen"]), default=None),
                "resources": resources,
                "urgent": is_failing(group.first),
                "under": under,
                "same": [group.title, [] if group.kind else resources],
            }
        )
    found = _numbered("insight", said, of=("under", "pool", "level", "same"))
    return {key: {name: value for name, value in part.items() if name != "same"} for key, part in found.items()}


def _informed(informer: Mapping[str, Any]) -> dict[str, Any]:
    """What an informer of somebody else told: its parts are below its name, so they replace none of others."""
    said = [{**one, "staleSince": informer["staleSince"]} for one in informer["insights"]]
    source = f"{informer['name']} in {informer['namespace']}"
    found = _numbered(f"insight/{informer['name']}", said, of=("uid",))
    return {key: {**one, "informer": source} for key, one in found.items()}


def _lean(said: Mapping[str, Any]) -> dict[str, Any]:
    """Without what says nothing: there may be hundreds."""
    return {key: value for key, value in said.items() if value not in (None, "", False, [])}


def _numbered(kind: str, said: Sequence[Mapping[str, Any]], *, of: tuple[str, ...]) -> dict[str, Any]:
    """Parts whose keys are the same for the same trouble at another time; two may have the same text."""
    found: dict[str, Any] = {}
    same: Counter[str] = Counter()
    for place, one in enumerate(said):
        identity = hashlib.sha256(msgspec.json.encode([one.get(key) for key in of])).hexdigest()[:12]
        same[identity] += 1
        found[f"{kind}/{identity}-{same[identity]}"] = {**_lean(one), "place": place}
    return found


def _took(record: Record) -> dict[str, Any]:
    kinds: tuple[tuple[str, Sequence[Took | NodeTook]], ...] = (
        ("operator", record.operators),
        ("pool", record.pools),
        ("node", record.nodes),
    )
    found: dict[str, Any] = {
        f"took/{kind}/{one.name}": msgspec.to_builtins(one) for kind, taken in kinds for one in taken
    }
    troubles = [_lean(msgspec.to_builtins(trouble)) for trouble in record.troubles]
    return {**found, "record": {**_line(record), "troubles": troubles}}


def _line(record: Record) -> dict[str, Any]:
    return _lean(
        {
            "name": record.name,
            "previous": record.previous,
            "target": record.target,
            "state": record.state,
            "started": record.started,
            "controlPlaneCompleted": record.control_plane_completed,
            "completed": record.completed,
            "image": record.image,
            "verified": yes_or_no(record.verified),
            "acceptedRisks": record.accepted_risks,
            "omitted": record.omitted,
            "issues": len(record.troubles),
        }
    )
