"""Rules that ask, with the answers of a model of a cluster."""

from collections.abc import Callable
from typing import Any, TypeVar

from windlass.kube.control.asking import Answerer, Asker, ObjectAnswerer
from windlass.kube.control.plan import Plan
from windlass.kube.control.question import KUBERNETES, Asking
from windlass.kube.control.seen import IndexedReader

T = TypeVar("T")


async def answered(rule: Callable[[Asking], T], reader: IndexedReader, **answerers: Answerer) -> T:
    """What the rule gives once its questions are answered, those about objects by `reader`."""
    said: list[Any] = []

    def decide(seen: Asking) -> Plan:
        said.append(rule(seen))
        return Plan.nothing()

    await Asker({KUBERNETES: ObjectAnswerer(reader), **answerers}).inquiry("key").decide(Asking(), decide)
    [result] = said
    return result  # type: ignore[no-any-return]
