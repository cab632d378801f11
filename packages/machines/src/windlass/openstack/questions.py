"""Questions to the project of an object, and who answers them.

    found = seen.need(LookAtNetworks(ref, namespace, mark, kinds=(FloatingIp,)))
    match found:
        case InProject(): ...          # found.value, and what else a rule needs of the project
        case IdentityTrouble() | CloudFailure(): ...

`ref` is the `identityRef` of an object in `namespace`, and `mark` that of the object (empty: it has none).
"""

from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

from msgspec import Struct

from windlass.api.capo import IdentityReference
from windlass.kube.control.question import Question
from windlass.kube.control.seen import IndexedReader
from windlass.openstack.cloud.account import ESTATE, Account
from windlass.openstack.cloud.clouds import Clouds
from windlass.openstack.cloud.failures import CloudFailure
from windlass.openstack.cloud.inventory import Blockers
from windlass.openstack.cloud.network_inventory import NetworkInventory
from windlass.openstack.cloud.requests import OPENSTACK
from windlass.openstack.identity.find import IdentityTrouble, credentials_of

T = TypeVar("T")


class InProject(Struct, Generic[T], frozen=True, kw_only=True):
    """What a project answers. `project` is its key in requests, `where` says for people where its credentials are, and
    `blockers` what stands in the way of requests for the owner of the mark."""

    project: str
    where: str
    blockers: Blockers
    value: T


class CloudQuestion(Question[InProject[T] | IdentityTrouble | CloudFailure], Generic[T], frozen=True):
    SYSTEM: ClassVar[str] = OPENSTACK

    ref: IdentityReference
    namespace: str
    mark: str


class LookAtNetworks(CloudQuestion[NetworkInventory], frozen=True):
    """What an owner has beside servers: `windlass.openstack.cloud.account.Account.network_inventory`."""

    recorded: tuple[str, ...] = ()
    kinds: tuple[type[Any], ...] = ESTATE
    age: float = 0.0
    again: bool = False

    def __str__(self) -> str:
        kinds = ", ".join(kind.__name__ for kind in self.kinds)
        return f"look at {kinds} of {self.mark or 'no mark'}"


AnyQuestion: TypeAlias = LookAtNetworks


class CloudAnswerer:
    """Answers by `clouds`, with the credentials that `reader` finds. Raises CloudFailure, and KubeErrors of reading
    credentials."""

    def __init__(self, reader: IndexedReader, clouds: Clouds) -> None:
        self._reader = reader
        self._clouds = clouds

    async def answer(self, question: AnyQuestion, /) -> InProject[Any] | IdentityTrouble:
        credentials = await credentials_of(self._reader, question.ref, namespace=question.namespace)
        if isinstance(credentials, IdentityTrouble):
            return credentials
        project = await self._clouds.project(credentials)
        value = await _value(project, question)
        return InProject(
            project=project.key, where=credentials.where, blockers=project.blockers(question.mark), value=value
        )


async def _value(project: Account, question: AnyQuestion) -> Any:
    match question:
        case LookAtNetworks(mark=mark, recorded=recorded, kinds=kinds, age=age, again=again):
            return await project.network_inventory(mark, recorded, kinds=kinds, age=age, again=again)
