"""Names insights: the same thing has the same uid as long as it is there, whatever its texts say meanwhile."""

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from hashlib import sha256

import msgspec

from windlass.api.update_insights import LABEL
from windlass.update_status.constants import ALERTS
from windlass.update_status.report import Cause, Insight

MOST = 63
_HASH = 8


@lru_cache(maxsize=4096)  # of the same nodes, in each report
def uid(prefix: str, name: str) -> str:
    """`prefix-name` as a DNS label; a name that had to be changed for that ends in a hash of the original.

    >>> uid("co", "etcd"), uid("node", "a.b")
    ('co-etcd', 'node-a-b-2e45ee0b')
    """
    plain = f"{prefix}-{name}"
    if len(plain) <= MOST and "\n" not in plain and re.fullmatch(LABEL, plain):
        return plain
    budget = MOST - _HASH - 1
    fitting = re.sub("[^a-z0-9]", "-", plain.lower())[:budget].rstrip("-")
    return f"{fitting}-{_digest(name)[:_HASH]}"


def health_uids(insights: Iterable[Insight]) -> list[str]:
    """A uid for each: a digest of its scope, what it is about, its impact and its documentation.

    Alerts of one name differ by their start. Insights that are still alike are numbered.
    """
    seen = Counter[str]()
    found = []
    for insight in insights:
        of_alert = any(one.resource == ALERTS for one in insight.resources)
        kind = (insight.scope, insight.pool, insight.impact, insight.reference, insight.resources)
        told = insight.started if of_alert else insight.remedy or None
        digest = _digest(msgspec.json.encode((*kind, told)))[:32]
        found.append(f"health-{digest}" + (f"-{seen[digest]}" if seen[digest] else ""))
        seen[digest] += 1
    return found


def cause_uids(causes: Iterable[Cause]) -> list[str]:
    """A uid for each: a digest of its kind and of the first object that it is about; those alike are numbered."""
    seen = Counter[str]()
    found = []
    for cause in causes:
        digest = _digest(msgspec.json.encode((cause.kind, cause.about[:1])))[:32]
        found.append(f"cause-{digest}" + (f"-{seen[digest]}" if seen[digest] else ""))
        seen[digest] += 1
    return found


def _digest(content: str | bytes) -> str:
    return sha256(content.encode(errors="replace") if isinstance(content, str) else content).hexdigest()
