"""The input of a pre-flight (a candidate for migration) and its result (a report)."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Any, TypeAlias

from msgspec import Struct

from windlass.api import mapi
from windlass.api.meta import K
from windlass.kube.control.seen import Absent, NotServedKind, Present, Seen, Unreadable
from windlass.machine_sync.constants import CLUSTER_API, MACHINE_API

SIDE = {MACHINE_API: "the Machine API", CLUSTER_API: "Cluster API"}
"""The names of the two APIs in messages."""

Kind: TypeAlias = type[mapi.Machine] | type[mapi.MachineSet]


class Hidden(Struct, frozen=True):
    """The API server refused to show us the object; `why` is its message."""

    why: str


Look: TypeAlias = Seen[K] | Hidden


class Tried(StrEnum):
    """The API server's answer to a dry run of the change."""

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
    """One Machine or MachineSet that is to move to the API `target`, and everything that the checks need.

    `machine_api` and `cluster_api` are the object on each side. `infra` is the infra machine or template of
    `cluster_api`, `cluster` their core Cluster. `owner` is the MachineSet of the Machine API that owns a Machine,
    Absent if there is none; `owner_moves`: the owner is to move too.
    """

    kind: Kind
    name: str
    target: str
    machine_api: Look[Any]
    cluster_api: Look[Any] = Absent()
    infra: Look[Any] = Absent()
    infra_cluster: Look[Any] = Absent()
    cluster: Look[Any] = Absent()
    infrastructure: Look[Any] = Absent()
    owner: Look[Any] = Absent()
    owner_moves: bool = False
    trial: Trial = Trial()

    @property
    def source(self) -> str:
        """The API that loses authority."""
        return CLUSTER_API if self.target == MACHINE_API else MACHINE_API


class PreflightVerdict(StrEnum):
    """The result for a candidate."""

    READY = "ready"
    UNDER_WAY = "under way"
    THERE = "already there"
    REFUSED = "refused"


class Check(StrEnum):
    """The checks, causes before their consequences."""

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
    """The result of a check, from best to worst. Only `no` refuses; `unknown` means that we may not read an object."""

    YES = "yes"
    NOTE = "note"
    WARNING = "warning"
    UNKNOWN = "unknown"
    NO = "no"


_SEVERITY = {answer: rank for rank, answer in enumerate(Answer)}


class CheckFinding(Struct, frozen=True):
    """One finding of a check; `text` describes it and the remedy. Empty for a plain yes."""

    check: Check
    answer: Answer
    text: str = ""


class PreflightReport(Struct, frozen=True):
    """The findings about one candidate.

    `authority` and `desired` are status.authoritativeAPI and spec.authoritativeAPI. `paused` names the side that must
    not act on the object: MachineAPI, ClusterAPI, both or neither. `owner` is `kind/name`. A field is empty if its
    value is unknown or does not exist.
    """

    kind: Kind
    name: str
    target: str
    verdict: PreflightVerdict
    findings: tuple[CheckFinding, ...]
    authority: str = ""
    desired: str = ""
    phase: str = ""
    paused: str = ""
    owner: str = ""

    def answer(self, check: Check) -> Answer | None:
        """The worst answer of `check`; None if it was not made."""
        answers = [finding.answer for finding in self.findings if finding.check is check]
        return max(answers, key=_SEVERITY.__getitem__, default=None)

    def reasons(self, *answers: Answer) -> list[str]:
        """The texts of all findings with these answers."""
        return [f"{finding.check}: {finding.text}" for finding in self.findings if finding.answer in answers]

    def __str__(self) -> str:
        return f"{self.kind.RESOURCE.kind.lower()}/{self.name}"


Answers: TypeAlias = Iterator[tuple[Answer, str]]
"""The result of a check: answers that are worse than yes, with their texts."""


def there(look: Look[Any]) -> Any:
    """The object; None if it does not exist or cannot be read."""
    return look.object if isinstance(look, Present) else None


def hidden(look: Look[Any]) -> str:
    """Why the object is unknown; empty if it is known whether it exists."""
    return look.why if isinstance(look, Hidden | Unreadable | NotServedKind) else ""
