"""What is looked at before a migration, and what was found out."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Any, TypeAlias

from msgspec import Struct

from windlass.api import mapi
from windlass.api.meta import K
from windlass.kube.control.seen import Absent, NotServedKind, Present, Seen, Unreadable
from windlass.machine_sync.constants import CLUSTER_API, MACHINE_API

SIDE = {MACHINE_API: "the Machine API", CLUSTER_API: "Cluster API"}
"""How people call the two."""

Kind: TypeAlias = type[mapi.Machine] | type[mapi.MachineSet]


class Hidden(Struct, frozen=True):
    """We may not look, so nothing is known of the object; `why` is what the API server said."""

    why: str


Look: TypeAlias = Seen[K] | Hidden


class Tried(StrEnum):
    """What the API server said to a dry run of the change."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    NOT_ALLOWED = "not allowed"
    """We may not change the object at all, not even in a dry run."""
    NOT_ASKED = "not asked"


class Trial(Struct, frozen=True):
    """A dry run; `text` is the API server's message if it did not accept."""

    outcome: Tried = Tried.NOT_ASKED
    text: str = ""


class Candidate(Struct, frozen=True):
    """One Machine or MachineSet that shall move to the API `target`, and everything that is looked at before.

    `machine_api` and `cluster_api` are the two of this name. `infra` is what `cluster_api` refers to, an infrastructure
    machine or template. `owner` is the MachineSet of the Machine API that owns a Machine, Absent without one;
    `owner_moves`: it shall move along.
    """

    kind: Kind
    name: str
    target: str
    machine_api: Look[Any]
    cluster_api: Look[Any] = Absent()
    infra: Look[Any] = Absent()
    infra_cluster: Look[Any] = Absent()
    infrastructure: Look[Any] = Absent()
    owner: Look[Any] = Absent()
    owner_moves: bool = False
    trial: Trial = Trial()

    @property
    def source(self) -> str:
        """The API that it leaves."""
        return CLUSTER_API if self.target == MACHINE_API else MACHINE_API


class Verdict(StrEnum):
    """What becomes of a candidate."""

    READY = "ready"
    UNDER_WAY = "under way"
    THERE = "already there"
    REFUSED = "refused"


class Check(StrEnum):
    """What is looked at, causes before what follows from them."""

    AUTHORITY = "authority"
    DELETION = "deletion"
    PHASE = "phase"
    OWNER = "owner"
    CONVERTIBLE = "convertible"
    SYNCHRONIZED = "synchronized"
    INFRASTRUCTURE = "infrastructure"
    PAUSED = "paused"
    POLICIES = "policies"


class Answer(StrEnum):
    """What a check found, from best to worst. Only `no` refuses; `unknown` is what we may not look at."""

    YES = "yes"
    NOTE = "note"
    WARNING = "warning"
    UNKNOWN = "unknown"
    NO = "no"


_SEVERITY = {answer: rank for rank, answer in enumerate(Answer)}


class Finding(Struct, frozen=True):
    """One thing that a check found; `text` says what, and what to do about it. Empty for a plain yes."""

    check: Check
    answer: Answer
    text: str = ""


class Report(Struct, frozen=True):
    """What was found out about one candidate.

    `authority` and `desired` are status.authoritativeAPI and spec.authoritativeAPI. `paused` names the sides that are
    told to leave the object alone: MachineAPI, ClusterAPI, both or neither. `owner` is `kind/name`. Empty is what is
    not known or not there.
    """

    kind: Kind
    name: str
    target: str
    verdict: Verdict
    findings: tuple[Finding, ...]
    authority: str = ""
    desired: str = ""
    phase: str = ""
    paused: str = ""
    owner: str = ""

    def answer(self, check: Check) -> Answer | None:
        """The worst that `check` found; None if it was not made."""
        answers = [finding.answer for finding in self.findings if finding.check is check]
        return max(answers, key=_SEVERITY.__getitem__, default=None)

    def reasons(self, *answers: Answer) -> list[str]:
        """What checks with these answers said."""
        return [f"{finding.check}: {finding.text}" for finding in self.findings if finding.answer in answers]

    def __str__(self) -> str:
        return f"{self.kind.RESOURCE.kind.lower()}/{self.name}"


Found: TypeAlias = Iterator[tuple[Answer, str]]
"""What a check yields: answers that are worse than yes, with their texts."""


def there(look: Look[Any]) -> Any:
    """What is there; None if it is not, or nobody can tell."""
    return look.object if isinstance(look, Present) else None


def hidden(look: Look[Any]) -> str:
    """Why it is not known what is there; empty if it is known."""
    return look.why if isinstance(look, Hidden | Unreadable | NotServedKind) else ""
