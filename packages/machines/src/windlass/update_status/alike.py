"""Tells as one what differs only in the name of its object: seven nodes that are degraded for the same reason.

| insights of the same level, impact and pool | one, whose summary is |
|---|---|
| `Node a is degraded`, `Node b is degraded`, for the same reason | `Nodes a and b are degraded` |
| the same of operators | `Cluster Operators a and b are unavailable (Reason)` |
| nodes, and the summary does not name them | `Nodes a and b: Not ready` |
| of other objects | each by itself |
"""

import re
from collections.abc import Iterable
from typing import Any, Final

from msgspec import Struct

from windlass.update_status.causes.names import listed
from windlass.update_status.report import Insight

_SUBJECTS: Final = {"nodes": "Node", "clusteroperators": "Cluster Operator"}
_PLACEHOLDERS: Final = {"nodes": "<node>", "clusteroperators": "<operator>"}
_SUBJECT: Final = re.compile(r"^(Node|Cluster Operator) <\w+> (is|has|does) ")
_PLURALS: Final = {"is": "are", "has": "have", "does": "do"}
_PRONOUNS: Final = (("whether it is", "whether they are"), (" its ", " their "))


class Alike(Struct, frozen=True, kw_only=True):
    """Insights that differ only in the name of their object, in the order of the report; or a single one.

    kind   the resource of the objects: nodes, clusteroperators; "" for others
    title  their summary, without the name of any
    """

    insights: tuple[Insight, ...]
    kind: str
    title: str

    @property
    def first(self) -> Insight:
        return self.insights[0]

    @property
    def summary(self) -> str:
        if not self.kind or (len(self.insights) == 1 and self.title != self.first.summary):
            return self.first.summary
        subject = f"{_SUBJECTS[self.kind]}{'s' * (len(self.insights) > 1)} {listed(self._names)}"
        found = _SUBJECT.match(self.title)
        if found is None:
            return f"{subject}: {self.title}"
        return f"{subject} {_PLURALS[found[2]]} {_plural(self.title[found.end() :])}"

    @property
    def description(self) -> str:
        """That of one; of several, without the name of any."""
        return self.first.description if len(self.insights) == 1 else _without_name(self.first.description, self.first)

    @property
    def remedy(self) -> str:
        if len(self.insights) == 1:
            return self.first.remedy
        names, holder = listed(self._names), _PLACEHOLDERS[self.kind]
        text = _without_name(self.first.remedy, self.first)
        return text.replace(f"node {holder}", f"nodes {names}").replace(f"operator {holder}", f"operators {names}")

    @property
    def reason(self) -> str:
        """The first line of the description."""
        return next((line.strip() for line in self.description.splitlines() if line.strip()), "")

    @property
    def _names(self) -> list[str]:
        return [one.resources[0].name for one in self.insights]


def alike(insights: Iterable[Insight]) -> list[Alike]:
    """The insights as few as they can be told, in the order of the first of each."""
    found: dict[tuple[Any, ...], list[Insight]] = {}
    for place, insight in enumerate(insights):
        told = (insight.summary, insight.description, insight.remedy, insight.reference)
        texts = (_without_name(text, insight) for text in told)
        key: tuple[Any, ...] = (insight.level, insight.impact, insight.pool, *texts)
        same = [one.resources for one in found.get(key, ())]
        if not _kind(insight) or insight.follows is not None or insight.resources in same:
            key = (place,)
        found.setdefault(key, []).append(insight)
    return [
        Alike(insights=tuple(group), kind=_kind(group[0]), title=_without_name(group[0].summary, group[0]))
        for group in found.values()
    ]


def _kind(insight: Insight) -> str:
    kinds = [one.resource for one in insight.resources]
    return kinds[0] if len(kinds) == 1 and kinds[0] in _SUBJECTS else ""


def _without_name(text: str, insight: Insight) -> str:
    if not _kind(insight):
        return text
    (about,) = insight.resources
    named = rf"(?<![\w.-]){re.escape(about.name)}(?![\w-]|\.\w)"
    return re.sub(named, _PLACEHOLDERS[about.resource], text) if about.name in text else text


def _plural(text: str) -> str:
    for singular, plural in _PRONOUNS:
        text = text.replace(singular, plural)
    return text
