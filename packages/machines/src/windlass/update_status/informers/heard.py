"""Decides what of an informer's answers counts: pure functions.

| an informer | in the report |
|---|---|
| answers | its insights |
| has not answered for less than 5 min | its last insights: an update restarts the network on the way |
| has not answered for 5 min | the same, and that it is silent |
| has not answered for 15 min | only that it is silent: nobody knows whether its insights still hold |
| was not asked by this process yet | what the UpdateStatus says of it |
| is not asked | nothing |
"""

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct, structs

from windlass.api.update_informer import UpdateInformer
from windlass.update_status.report import Informed, InformerInsight
from windlass.update_status.times import MINUTE, Moment

GRACE: Final = 5 * MINUTE
"""For so long an informer may be silent before people are told."""
FORGOTTEN: Final = 15 * MINUTE
"""After such a silence its insights are dropped."""


class Heard(Struct, frozen=True, kw_only=True):
    """The last answers of one informer, and whether it still answers.

    answered  its last good answer; None: there has been none
    silent    the first question since then that got no good answer; None: it answers
    trouble   why the last question got none, or ""
    failures  questions in a row that got none
    told      the insights of the last good answer, `refused` why others were not taken
    """

    answered: Moment | None = None
    silent: Moment | None = None
    trouble: str = ""
    failures: int = 0
    insights: tuple[InformerInsight, ...] = ()
    refused: tuple[str, ...] = ()

    def good(self, told: tuple[InformerInsight, ...], refused: tuple[str, ...], *, now: Moment) -> "Heard":
        """After a good answer at `now`."""
        return Heard(answered=now, insights=told, refused=refused)

    def failed(self, why: str, *, now: Moment) -> "Heard":
        """After a question at `now` that got no good answer."""
        silent = now if self.silent is None else self.silent
        return structs.replace(self, silent=silent, trouble=why, failures=self.failures + 1)

    def informed(self, name: str, namespace: str, *, now: Moment) -> Informed:
        """What the report says at `now` of the informer `name`, whose Service is in `namespace`."""
        silence = 0 if self.silent is None else now - self.silent
        return Informed(
            name=name,
            namespace=namespace,
            stale_since=(self.answered or self.silent) if silence >= GRACE else None,
            insights=self.insights if silence < FORGOTTEN else (),
        )


def informed(
    asked: Iterable[UpdateInformer], heard: Mapping[str, Heard], stood: Iterable[Informed], *, now: Moment
) -> tuple[Informed, ...]:
    """What the report says of informers, in the order of `asked`. `stood`: what the UpdateStatus says of them."""
    before = {one.name: one for one in stood}
    found = []
    for each in asked:
        name, namespace = each.metadata.name, each.spec.client_config.service.namespace
        if name in heard:
            found.append(heard[name].informed(name, namespace, now=now))
        else:
            last = before.get(name, Informed(name=name, namespace=namespace))
            found.append(structs.replace(last, namespace=namespace))
    return tuple(found)
