"""Declares how a capability is planned, on a cluster and from files."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, Literal, Protocol, TypeAlias

from msgspec import Struct

from windlass.api.meta import KubernetesObject
from windlass.capability.documents import Interest
from windlass.capability.planning.decider import Decider, PlanReader, about_first_watch, add_indexes
from windlass.capability.planning.given import Scope, Tree
from windlass.kube.control.controller import Controller
from windlass.kube.control.seen import Reader


class NoGround(Exception):
    """No plan can be made for this cluster, or nothing is ever done there. The text has the remedy."""


Remark: TypeAlias = tuple[Literal["note", "warning", "error"], str]


async def _no_remarks(_: PlanReader) -> Sequence[Remark]:
    return ()


class Ground(Struct, frozen=True):
    """The basis of plans: the controllers for this cluster; `warnings` and `notes` about who carries the plans out.

    `remarks` adds sentences once the plans are made. `holding`: what the controllers need, such as connections to other
    systems; it is left when all plans are made.
    """

    deciders: Callable[[PlanReader], list[Decider]]
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    remarks: Callable[[PlanReader], Awaitable[Sequence[Remark]]] = _no_remarks
    holding: AbstractAsyncContextManager[Any] = nullcontext()


class Look(Protocol):
    """Finds the ground. Raises NoGround, and KubeErrors of reading what it needs.

    `whole`: `reader` has all objects of a cluster. In files, a missing object may still exist.
    """

    def __call__(self, reader: Reader, *, whole: bool) -> Awaitable[Ground]: ...


class Planner(Struct, frozen=True, kw_only=True):
    """How a capability is planned for. `one`, `many`: what its keys stand for, in words; `where`: in which namespaces.

    `scope` is what its controllers look at, `interest` what is read of a must-gather. `complete` adds to the objects of
    files what others would add, and raises NoGround. `follows`: of objects in files a single step says too little, so
    plans are always carried out on a model. `owned`: the kinds whose CRDs are installed with it.
    """

    ground: Look
    scope: Scope
    interest: Interest
    one: str
    many: str
    where: str
    complete: Callable[[Sequence[Tree]], Sequence[Tree]] = lambda trees: trees
    follows: bool = False
    owned: tuple[type[KubernetesObject], ...] = ()


def plain_planner(controllers: Callable[[Any], tuple[Controller[Any, Any], ...]], *, scope: Scope) -> Planner:
    """The planner of a capability whose controllers are the same on every cluster, with keys that stand for the kind
    that each of them watches first."""

    def deciders(inventory: PlanReader) -> list[Decider]:
        found = [about_first_watch(controller) for controller in controllers(inventory)]
        add_indexes(found, inventory)
        return found

    async def look(reader: Reader, *, whole: bool) -> Ground:
        return Ground(deciders)

    named = list(dict.fromkeys(kind.RESOURCE.kind for kind in scope.subjects))
    resources = [kind.RESOURCE for kind in scope.kinds]
    return Planner(
        ground=look,
        scope=scope,
        interest=Interest(
            frozenset(resource.group for resource in resources if resource.namespaced),
            tuple(resource for resource in resources if not resource.namespaced),
        ),
        one=" or ".join(named),
        many=" or ".join(f"{name}s" for name in named),
        where=" or ".join(scope.namespaces) or "any namespace",
    )
