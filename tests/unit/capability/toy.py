"""A whole capability: one kind of its own, one controller, and the `CAPABILITY` that its entry names."""

from typing import Any, ClassVar

from msgspec import Struct, field

from windlass.api.meta import ObjectMeta, Resource
from windlass.capability.capability import Capability
from windlass.capability.installation import Installation, steady
from windlass.capability.manifests.policy import Policy, Rule
from windlass.kube.control.controller import Controller, Watch
from windlass.kube.control.permissions import writes
from windlass.kube.control.plan import Merge, Outcome, Plan, target
from windlass.kube.control.seen import Present
from windlass.kube.crd import Owned


class Words(Struct, frozen=True):
    text: str = ""


class Greeting(Struct, frozen=True, kw_only=True):
    """Says hello to somebody."""

    RESOURCE: ClassVar[Resource] = Resource("toys.example.com", "v1", "Greeting", "greetings")

    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: Words = Words()
    status: Words = Words()


def controller(reader: Any) -> Controller[tuple[str | None, str], Any]:
    async def observe(key: tuple[str | None, str], last: Outcome) -> Any:
        return await reader.see(Greeting, key[1], namespace=key[0])

    def decide(seen: Any, *, now: Any) -> Plan:
        if not isinstance(seen, Present):
            return Plan.nothing("gone")
        said = {"status": {"text": f"Hello, {seen.object.spec.text}!"}}
        observed = {"status": seen.tree.get("status") or {}}
        return Plan.of(Merge(target=target(seen), part="status", observed=observed, desired=said))

    return Controller(
        name="greeting",
        watches=(Watch(Greeting, lambda found: [found.key]),),
        permissions=(writes(Greeting, "patch", subresource="status"),),
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
