"""Makes the document of the view from its rows. Pure.

| part | what |
|---|---|
| `cluster/NS/NAME` | a row of `rows`, and how many machines the cluster has |
| `machine/NS/NAME`, `server/NS/NAME`, `pool/NS/NAME` | a row of `rows` |
| `machineapi/NS/NAME` | a Machine of the Machine API that Windlass serves |
| `trouble/ID` | what needs attention: one for all objects of which the same is said |
| `quota/NS/CLUSTER` | machines of a cluster that wait for a quota, and what the cloud says |
| `unserved` | the kinds that the cluster does not serve |

A server that stands for a machine is a part only while its own state is another than that of the machine, which says
the same of it.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from windlass.openstack.status import Reason
from windlass.openstack.view.rows import ClusterRow, MachineRow, PoolRow, Row, ServerRow
from windlass.openstack.view.standing import Standing
from windlass.web.brief import Need, brief, counted, joined
from windlass.web.following import Kept
from windlass.web.view import BRIEF

CLUSTERS: Final = "cluster"
MACHINES: Final = "machine"
SERVERS: Final = "server"
POOLS: Final = "pool"
MACHINES_OF_MACHINE_API: Final = "machineapi"
MOST_NAMED: Final = 5
"""Objects that are named of those with the same trouble."""
MOST_TROUBLES: Final = 50
"""The worst of them are shown; the tables have all objects."""
_OURS: Final = (CLUSTERS, MACHINES, SERVERS, POOLS)


class Named(Struct, frozen=True):
    """An object of a trouble; `part` is its kind among the parts."""

    part: str
    kind: str
    namespace: str
    name: str


class Trouble(Struct, frozen=True, kw_only=True, rename="camel"):
    """What is said of `number` objects, of which the first `MOST_NAMED` are named. A cloud that does not answer is one
    trouble, however many machines wait for it. `standing` is that of the object that has had it for the longest time.
    """

    standing: Standing
    number: int
    objects: tuple[Named, ...]
    place: int


class Waiting(Struct, frozen=True):
    """Machines that wait for a quota: how many, since when, and what the cloud says of one of them."""

    cluster: str
    namespace: str
    number: int
    message: str
    since: str | None


def document(kept: Kept) -> dict[str, Any]:
    """All parts but those of the frame, and the line of the first page."""
    clusters: list[ClusterRow] = kept.rows[CLUSTERS]
    machines: list[MachineRow] = kept.rows[MACHINES]
    served: list[MachineRow] = kept.rows[MACHINES_OF_MACHINE_API]
    servers = [*_told_by_no_machine(kept.rows[SERVERS], machines)]
    pools: list[PoolRow] = kept.rows[POOLS]
    counts = Counter((each.namespace, each.cluster) for each in machines)
    found: dict[str, Any] = {}
    for each in clusters:
        found[f"{CLUSTERS}/{each.key}"] = {"row": each, "machines": counts[each.namespace, each.cluster]}
    for name, rows in ((MACHINES, machines), (SERVERS, servers), (POOLS, pools), (MACHINES_OF_MACHINE_API, served)):
        found |= {f"{name}/{each.key}": each for each in rows}
    for waiting in waits([*machines, *servers, *served]):
        found[f"quota/{waiting.namespace}/{waiting.cluster}"] = waiting
    by_kind: dict[str, Sequence[Row]] = {
        CLUSTERS: clusters,
        MACHINES: machines,
        MACHINES_OF_MACHINE_API: served,
        SERVERS: servers,
        POOLS: pools,
    }
    worst = [*troubles(by_kind).items()]
    found |= worst[:MOST_TROUBLES]
    found["unserved"] = [name for name in _OURS if name in kept.unserved]
    found[BRIEF] = _brief(kept, [trouble for _, trouble in worst])
    return found


def troubles(rows: Mapping[str, Sequence[Row]]) -> dict[str, Trouble]:
    """The parts of what needs attention, the worst first, from the rows of each kind."""
    alike: dict[tuple[str, ...], list[Named]] = {}
    longest: dict[tuple[str, ...], Standing] = {}
    for part, of_kind in rows.items():
        for each in of_kind:
            said = each.standing
            if not said.needs_somebody:
                continue
            # The messages of two machines differ by their names, and by the time of the next attempt.
            first = said.message.partition("\n")[0].replace(each.name, "")
            key = (said.tone, said.state, said.reason, first)
            alike.setdefault(key, []).append(Named(part, each.kind, each.namespace, each.name))
            if key not in longest or (said.since or "") < (longest[key].since or ""):
                longest[key] = said
    order = sorted(alike, key=lambda key: (key[0] != "bad", -len(alike[key])))
    return {
        f"trouble/{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}": Trouble(
            standing=longest[key], number=len(alike[key]), objects=tuple(alike[key][:MOST_NAMED]), place=place
        )
        for place, key in enumerate(order)
    }


def waits(rows: Iterable[MachineRow]) -> list[Waiting]:
    """Those that wait for a quota, by cluster; without one, by credentials."""
    by_cluster: dict[tuple[str, str], list[MachineRow]] = {}
    for each in rows:
        if each.standing.reason == Reason.QUOTA_EXCEEDED:
            by_cluster.setdefault((each.namespace, each.cluster or each.credentials), []).append(each)
    found = []
    for (namespace, cluster), those in by_cluster.items():
        first = min(those, key=lambda each: each.standing.since or "")
        message = first.standing.message.partition("\n")[0]
        found.append(Waiting(cluster, namespace, len(those), message, first.standing.since))
    return found


def _told_by_no_machine(servers: Iterable[ServerRow], machines: Iterable[MachineRow]) -> Iterator[ServerRow]:
    told = {each.key: each.standing.tone for each in machines}
    for each in servers:
        of_machine = told.get(f"{each.namespace}/{each.machine}") if each.machine else None
        if of_machine is None or of_machine != each.standing.tone:
            yield each


def _brief(kept: Kept, told: Sequence[Trouble]) -> dict[str, Any]:
    numbers = {name: len(kept.rows[name]) for name in (*_OURS, MACHINES_OF_MACHINE_API)}
    if not any(numbers.values()):
        if set(_OURS) <= set(kept.unserved):
            return brief("The cluster does not serve the kinds of OpenStack.", tone="calm")
        return brief("There is no OpenStackCluster and no machine on OpenStack.", tone="calm")
    machines = numbers[MACHINES] + numbers[MACHINES_OF_MACHINE_API]
    line = joined(
        [
            counted(numbers[CLUSTERS], "cluster"),
            counted(machines, "machine"),
            counted(numbers[SERVERS], "server"),
            counted(numbers[POOLS], "pool of floating IPs", "pools of floating IPs") if numbers[POOLS] else "",
        ]
    )
    return brief(line, map(_need, told))


def _need(trouble: Trouble) -> Need:
    first, said = trouble.objects[0], trouble.standing
    more = f" and {trouble.number - 1} more" if trouble.number > 1 else ""
    # What it needs is told by the message; the state says more only of a deletion.
    state = said.state if said.state.startswith("Delet") else ""
    name = f"{first.kind} {first.namespace}/{first.name}{more}"
    return Need(": ".join(filter(None, (name, state, said.reason, said.message))), said.tone, said.since)
