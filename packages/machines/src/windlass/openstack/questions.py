"""Questions to the project of an object, and who answers them.

    found = seen.need(LookAtNetworks(ProjectOf(ref, namespace, mark), kinds=(FloatingIp,)))
    match found:
        case InProject(): ...          # found.value, and what else a rule needs of the project
        case IdentityTrouble() | CloudFailure(): ...

Most answers come from the lists that all objects of a project share: a question costs a request only where
`windlass.openstack.cloud.certainty` says that memory is not enough.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, ClassVar, Final, Generic, TypeAlias, TypeVar
from uuid import uuid4

from msgspec import Struct
from msgspec.structs import replace

from windlass.api.capo import IdentityReference
from windlass.api.core import ConfigMap
from windlass.api.meta import KubernetesObject
from windlass.kube.control.asking import Answerer, ObjectAnswerer
from windlass.kube.control.permissions import AskPermission, asks
from windlass.kube.control.question import KUBERNETES, Question
from windlass.kube.control.seen import IndexedReader, Present, Reader
from windlass.kube.object import NamespacedName
from windlass.openstack.cloud import marks
from windlass.openstack.cloud.account import ESTATE, Account
from windlass.openstack.cloud.clouds import Clouds, Owner
from windlass.openstack.cloud.credentials import Credentials, read_authority
from windlass.openstack.cloud.failures import CloudFailure, Unauthenticated
from windlass.openstack.cloud.inventory import NONE, Blockers, Quota, Recorded, ServerInventory
from windlass.openstack.cloud.kinds import KINDS
from windlass.openstack.cloud.network_inventory import NetworkInventory, Unmarked
from windlass.openstack.cloud.query import Answers, Query
from windlass.openstack.cloud.requests import OPENSTACK
from windlass.openstack.cloud.resources import Server
from windlass.openstack.identity.find import IdentityTrouble, credentials_in, credentials_of

MARKS: Final = "marks"
"""The system that makes up marks: this process."""
AUTHORITY: Final = ("openshift-config", "cloud-provider-config", "ca-bundle.pem")
"""Namespace, name and key of the ConfigMap with the CA of the cloud, where the Secret of a Machine API has none."""
AUTHORITY_SECONDS: Final = 60.0
"""Seconds for which that CA is used again."""

QUOTA_SECONDS: Final = 60.0
"""The greatest age of quotas in messages."""

T = TypeVar("T")


class ProjectOf(Struct, frozen=True):
    """The project of an object in `namespace` whose `identityRef` is `ref`, and the `mark` of the object (empty: none).

    `machine_api`: `ref` is the `cloudsSecret` of a provider spec, and the cluster's configuration may have the CA.
    """

    ref: IdentityReference
    namespace: str
    mark: str = ""
    machine_api: bool = False


class InProject(Struct, Generic[T], frozen=True, kw_only=True):
    """What a project answers. `project` is its key in requests, and depends on everything that decides which cloud,
    project and user this is; `where` says for people where its credentials are; `region` is that of the credentials;
    `blockers` are what stands in the way of requests for the owner of the mark."""

    project: str
    where: str
    value: T
    region: str = ""
    blockers: Blockers = Blockers()


NoAccess: TypeAlias = IdentityTrouble | CloudFailure
"""Why a project does not answer."""


class CloudQuestion(Question[InProject[T] | IdentityTrouble | CloudFailure], Generic[T], frozen=True):
    """Of now, unless the class says otherwise: the project knows best what may be taken from memory."""

    SYSTEM: ClassVar[str] = OPENSTACK
    OF_NOW: ClassVar[bool] = True

    of: ProjectOf


class Access(CloudQuestion[None], frozen=True):
    """Whether the credentials work, and what is in the way of requests."""


class Look(CloudQuestion[ServerInventory], frozen=True):
    """What there is of an owner of a server: `Account.look`. Polls follow the owner as long as it asks."""

    recorded: Recorded = NONE
    services: tuple[str, ...] = ()
    fresh: bool = False

    def __str__(self) -> str:
        return f"{'look again' if self.fresh else 'look'} for the server and its parts ({self.SYSTEM})"


class LookAtNetworks(CloudQuestion[NetworkInventory], frozen=True):
    """What an owner has beside servers: `Account.network_inventory`."""

    recorded: tuple[str, ...] = ()
    kinds: tuple[type[Any], ...] = ESTATE
    age: float = 0.0
    again: bool = False

    def __str__(self) -> str:
        return f"look at {', '.join(f'{KINDS[kind].name}s' for kind in self.kinds)} ({self.SYSTEM})"


class LookForUnmarked(CloudQuestion[Unmarked], frozen=True):
    """What has no mark and may be an owner's all the same: `windlass.openstack.cloud.unmarked`. `names` are a part of
    the names, `description` and `tag` what shows who made it, `but` IDs and addresses that do not count."""

    names: tuple[str, ...]
    kinds: tuple[type[Any], ...]
    age: float
    description: str = ""
    tag: str = ""
    but: tuple[str, ...] = ()


class HasReportedAll(CloudQuestion[bool], frozen=True):
    """Whether our own requests tell all that the owner can have: `Account.has_reported_all`."""

    FREE: ClassVar[bool] = True

    addresses: tuple[str, ...] = ()


class Namesakes(CloudQuestion[tuple[Server, ...]], frozen=True):
    """Servers of this `name` without an owner: `Account.servers_named`."""

    name: str
    at: str
    age: float


class Extensions(CloudQuestion[frozenset[str]], frozen=True):
    """The extensions of Neutron's API, by alias."""


class Quotas(CloudQuestion[tuple[Quota, ...]], frozen=True):
    """Limits and use, for messages; none if they cannot be read. They may be a minute old."""

    OF_NOW: ClassVar[bool] = False


class Find(CloudQuestion[Answers], frozen=True):
    """What a project has for each of the `queries`: `Account.find`."""

    OF_NOW: ClassVar[bool] = False

    queries: tuple[Query, ...]

    def __str__(self) -> str:
        return f"find {', '.join(map(str, self.queries))} ({self.SYSTEM})"


class FindOnce(Find, frozen=True):
    """The same, and later attempts know the answer. A rule says for how long it uses an answer, which must be of the
    same project."""

    KEPT: ClassVar[bool] = True


class NewMark(Question[str], frozen=True):
    """A new mark for an object with this `uid` (or that of its holder) and `place`: random, and known to this process
    alone until it is stored. `unborn`: nothing of the object can exist, so no cloud is searched for the mark."""

    SYSTEM: ClassVar[str] = MARKS
    KEPT: ClassVar[bool] = True
    FREE: ClassVar[bool] = True

    uid: str
    place: str
    unborn: bool

    def __str__(self) -> str:
        return f"new mark for {self.place}"


class MarkMaker:
    """Makes up marks. `new_root` makes up a root; `born` hears of each mark of which nothing can exist."""

    def __init__(self, new_root: Callable[[], str] = lambda: str(uuid4()), *, born: Callable[[str], object]) -> None:
        self._new_root = new_root
        self._born = born

    async def answer(self, question: NewMark, /) -> str:
        return self.instantly(question)

    def instantly(self, question: NewMark, /) -> str:
        mark = marks.mark_for(self._new_root(), question.uid, question.place)
        if question.unborn:
            self._born(mark)
        return mark


class CloudAnswerer:
    """Answers by `clouds`, with the credentials that `reader` finds. `kind`: that of the objects, if polls follow them
    by another kind than OpenStackServer. Raises CloudFailure, and KubeErrors of reading credentials."""

    def __init__(
        self,
        reader: IndexedReader,
        clouds: Clouds,
        *,
        now: Callable[[], datetime],
        kind: type[KubernetesObject] | None = None,
    ) -> None:
        self._reader = reader
        self._clouds = clouds
        self._now = now
        self._kind = kind
        self._authority: tuple[datetime, str | IdentityTrouble] | None = None
        self._followed: set[NamespacedName] = set()

    async def answer(self, question: CloudQuestion[Any], /) -> InProject[Any] | IdentityTrouble:
        credentials = await self._credentials(question.of)
        if isinstance(credentials, IdentityTrouble):
            return credentials
        async with self._clouds.turn(credentials):
            project = await self._clouds.project(credentials)
            value = await _value(project, question)
        return InProject(
            project=project.key,
            where=credentials.where,
            value=value,
            region=credentials.region or str(credentials.cloud.get("region_name") or ""),
            blockers=project.blockers(question.of.mark),
        )

    def attended(self, key: NamespacedName, answers: Mapping[Any, Any], /) -> None:
        """Follow the owner in the polls of the project where it looked last; without a look, no more."""
        owner = key if self._kind is None else Owner(self._kind, key)
        looks = [(one, found) for one, found in answers.items() if isinstance(one, Look) and one.of.mark]
        if not looks:
            if key in self._followed:  # another controller may follow an object of this name
                self._followed.discard(key)
                self._clouds.unfollow(owner)
            return
        question, found = looks[-1]
        project = self._clouds.known(found.project) if isinstance(found, InProject) else None
        if project is not None:
            self._followed.add(key)
            self._clouds.follow(owner, project, question.of.mark, question.recorded)

    async def _credentials(self, of: ProjectOf) -> Credentials | IdentityTrouble:
        if not of.machine_api:
            return await credentials_of(self._reader, of.ref, namespace=of.namespace)
        named_by = "spec.providerSpec.value.cloudsSecret"
        found = await credentials_in(self._reader, of.namespace, of.ref.name, ref=of.ref, named_by=named_by)
        if isinstance(found, IdentityTrouble) or found.cacert:
            return found
        if self._authority is None or self._now() - self._authority[0] > timedelta(seconds=AUTHORITY_SECONDS):
            self._authority = self._now(), await authority(self._reader)
        ca = self._authority[1]
        return ca if isinstance(ca, IdentityTrouble) else replace(found, cacert=ca)


def answerers(
    reader: IndexedReader,
    clouds: Clouds,
    *,
    now: Callable[[], datetime],
    new_mark: Callable[[], str] = lambda: str(uuid4()),
    kind: type[KubernetesObject] | None = None,
) -> dict[str, Answerer]:
    """Who answers the questions of a controller; see `CloudAnswerer` and `MarkMaker`."""
    return {
        KUBERNETES: ObjectAnswerer(reader),
        OPENSTACK: CloudAnswerer(reader, clouds, now=now, kind=kind),
        MARKS: MarkMaker(new_mark, born=clouds.born),
    }


def asks_clouds(*questions: type[Question[Any]]) -> AskPermission:
    """These questions, and those that every controller with marks asks."""
    return asks(Access, NewMark, *questions)


async def authority(reader: Reader) -> str | IdentityTrouble:
    """The CA of clouds in the cluster's own configuration; empty if it has none."""
    namespace, name, entry = AUTHORITY
    found = await reader.see(ConfigMap, name, namespace=namespace, live=True)
    text = found.object.data.get(entry, "") if isinstance(found, Present) else ""
    try:
        return read_authority(text, where=f"the key {entry} of ConfigMap {namespace}/{name}")
    except Unauthenticated as wrong:
        return IdentityTrouble(wrong.fault)


async def _value(project: Account, question: CloudQuestion[Any]) -> Any:
    mark = question.of.mark
    match question:
        case Look(recorded=recorded, services=services, fresh=fresh):
            return await project.look(mark, recorded, services=services, fresh=fresh)
        case LookAtNetworks(recorded=ids, kinds=kinds, age=age, again=again):
            return await project.network_inventory(mark, ids, kinds=kinds, age=age, again=again)
        case LookForUnmarked(names=names, kinds=kinds, age=age):
            of = {name: text for name in ("description", "tag") if (text := getattr(question, name))}
            return await project.unmarked(names, kinds=kinds, age=age, but=question.but, **of)
        case HasReportedAll(addresses=addresses):
            return project.has_reported_all(mark, addresses)
        case Namesakes(name=name, at=at, age=age):
            return await project.servers_named(name, at=at, age=age)
        case Extensions():
            return await project.extensions()
        case Find(queries=queries):
            return await project.find(queries)
        case Quotas():
            with suppress(CloudFailure):
                return await project.quotas(age=QUOTA_SECONDS)
            return ()
    return None
