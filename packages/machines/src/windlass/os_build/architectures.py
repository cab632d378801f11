"""Tells for which architectures the image of a pool is built: those of its Nodes. Pure.

| Nodes of the cluster | Nodes of the pool | the image is for |
|---|---|---|
| none, or all of one architecture | any | whatever builders run on: nothing is chosen |
| of several | none | the same |
| of several | of one | that one: its builder runs on such a Node |
| of several | of several | each: a builder for each, and one list that names their images |

The annotation `ARCHITECTURES` of the pool names further ones, for Nodes that are still to come: then a builder is
chosen even where all Nodes are of one architecture. The architecture of a Node is its label `kubernetes.io/arch`, which
the kubelet sets; names are those of Go, as images have them: amd64, arm64, ppc64le, s390x.

A Node belongs to the pool `master` if that selects it, then to another one, then to `worker`, as for the Machine Config
Operator.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct

from windlass.api.machineconfiguration import MachineConfigPool
from windlass.kube.label_selectors import Selects, selects
from windlass.os_build.constants import ARCHITECTURES
from windlass.os_build.request import Problem

LABEL: Final = "kubernetes.io/arch"
"""Of Nodes."""
_NAME: Final = re.compile(r"[a-z][a-z0-9]{1,15}")
_RANK: Final = {"master": 0, "worker": 2}


class Machines(Struct, frozen=True):
    """The architectures of Nodes, sorted: of the whole `cluster`, and of the `pool`."""

    cluster: tuple[str, ...] = ()
    pool: tuple[str, ...] = ()


def machines(pool: str, *, nodes: Iterable[Mapping[str, str]], pools: Iterable[MachineConfigPool]) -> Machines:
    """The architectures of Nodes, from their labels. A Node without the label says nothing."""
    labels = [each for each in nodes if each.get(LABEL)]
    cluster = tuple(sorted({each[LABEL] for each in labels}))
    if len(cluster) < 2:
        # Whose they are does not matter.
        return Machines(cluster, cluster)
    ordered = _by_precedence(pools)
    own = {each[LABEL] for each in labels if _pool_of(each, ordered) == pool}
    return Machines(cluster, tuple(sorted(own)))


def chosen(pool: MachineConfigPool, found: Machines) -> tuple[str, ...] | Problem:
    """The architectures that builders are chosen for, sorted; none if nothing is chosen."""
    asked = _asked(pool)
    if isinstance(asked, Problem):
        return asked
    both = {*asked, *found.pool}
    if not asked and len(found.cluster) < 2:
        return ()
    return tuple(sorted(both))


def _asked(pool: MachineConfigPool) -> list[str] | Problem:
    names = [each.strip() for each in pool.metadata.annotations.get(ARCHITECTURES, "").split(",")]
    for name in filter(None, names):
        if not _NAME.fullmatch(name):
            text = (
                f"MachineConfigPool {pool.metadata.name}: annotation {ARCHITECTURES}: {name[:80]!r} is no architecture"
            )
            return Problem("ConfigurationInvalid", f"{text}: write such as amd64,arm64")
    return [each for each in names if each]


def _by_precedence(pools: Iterable[MachineConfigPool]) -> list[tuple[str, Selects]]:
    """A pool whose selector Kubernetes would refuse has no Nodes."""
    found = [(pool.metadata.name, selects(pool.spec.node_selector)) for pool in pools]
    known = [(name, selected) for name, selected in found if selected is not None]
    return sorted(known, key=lambda each: _RANK.get(each[0], 1))


def _pool_of(labels: Mapping[str, str], ordered: Iterable[tuple[str, Selects]]) -> str:
    return next((name for name, selected in ordered if selected(labels)), "")
