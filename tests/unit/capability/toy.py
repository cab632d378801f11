"""A whole capability: one kind of its own, one controller, and the `CAPABILITY` that its entry names."""

from datetime import datetime
from typing import Any, ClassVar

from msgspec import Struct, field

from windlass.api.core import Namespace
from windlass.api.meta import ObjectMeta, Resource
from windlass.capability.capability import Capability
from windlass.capability.installation import Installation, steady
from windlass.capability.manifests.policy import Policy, Rule
from windlass.kube.control.asking import ObjectAnswerer
from windlass.kube.control.controller import Controller, Watch
from windlass.kube.control.permissions import permission, writes
from windlass.kube.control.plan import Merge, Outcome, Plan, target
from windlass.kube.control.question import KUBERNETES, Asking, Live
from windlass.kube.control.seen import Present, Seen
from windlass.kube.crd import Owned


class Words(Struct, frozen=True):
    text: str = ""


class Greeting(Struct, frozen=True, kw_only=True):
    """Says hello to somebody."""

    RESOURCE: ClassVar[Resource] = Resource("toys.example.com", "v1", "Greeting", "greetings")

    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: Words = Words()
    status: Words = Words()


class GreetingSnapshot(Asking, frozen=True, kw_only=True):
    greeting: Seen[Greeting]


def decide(seen: GreetingSnapshot, *, now: datetime) -> Plan:
    """Greets; a namespace with a label says from whom."""
    found = seen.greeting
    if not isinstance(found, Present):
        return Plan.nothing("gone")
    place = seen.need(Live(Namespace, found.metadata.namespace))
    team = place.metadata.labels.get("team", "") if isinstance(place, Present) else ""
    text = f"Hello, {found.object.spec.text}{f', from {team}' if team else ''}!"
    observed = {"status": found.tree.get("status") or {}}
    return Plan.of(Merge(target=target(found), part="status", observed=observed, desired={"status": {"text": text}}))


def controller(reader: Any) -> Controller[tuple[str | None, str], GreetingSnapshot]:
    async def observe(key: tuple[str | None, str], last: Outcome) -> GreetingSnapshot:
        return GreetingSnapshot(greeting=await reader.see(Greeting, key[1], namespace=key[0]))

    return Controller(
        name="greeting",
        watches=(Watch(Greeting, lambda found: [found.key]),),
        permissions=(writes(Greeting, "patch", subresource="status"), permission(Namespace, "get")),
        answerers={KUBERNETES: ObjectAnswerer(reader)},
        observe=observe,
        decide=decide,
    )


def policies(account: Any, exempt: Any) -> tuple[Policy, ...]:
    polite = Rule("object.spec.text != ''", "A greeting needs somebody to greet.")
    return (
        Policy(name="polite", kinds=(Greeting,), namespace="toys", exempt=(account.user, *exempt), rules=(polite,)),
    )


def install(*, home: str) -> Installation:
    return steady("toy", [controller], home=home, owned=(Owned(Greeting),), policies=policies)


CAPABILITY = Capability(install=install, run="Greet.", plan="Show whom Toy would greet.")
