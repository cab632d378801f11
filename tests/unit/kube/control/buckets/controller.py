"""A controller that gives each Vault which asks for it a bucket, by the protocol of `windlass.kube.control.effects`."""

from datetime import datetime
from typing import Any, ClassVar

from msgspec import Struct, field

from tests.unit.kube.control.buckets.carrier import BucketCarrier, CreateBucket, DeleteBucket
from tests.unit.kube.control.buckets.service import Bucket
from windlass.api.meta import ObjectMeta, Resource
from windlass.kube.backoff import Constant
from windlass.kube.control.controller import Controller
from windlass.kube.control.permissions import asks, calls, reads, writes
from windlass.kube.control.plan import AddFinalizer, Call, Merge, Outcome, Plan, RemoveFinalizers, target
from windlass.kube.control.question import Asking, Question
from windlass.kube.control.seen import Present, Reader, Seen
from windlass.kube.control.source import Mailbox
from windlass.kube.errors import Failure

NAMESPACE = "bank"
FINALIZER = "buckets.windlass.dev/bucket"


class VaultSpec(Struct, frozen=True):
    bucket: bool = False


class VaultStatus(Struct, frozen=True):
    bucket: str = ""
    reason: str = ""
    message: str = ""


class Vault(Struct, frozen=True):
    RESOURCE: ClassVar[Resource] = Resource("buckets.windlass.dev", "v1", "Vault", "vaults")
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: VaultSpec = field(default_factory=VaultSpec)
    status: VaultStatus = field(default_factory=VaultStatus)


def vault(name: str, *, bucket: bool = True, uid: str = "") -> dict[str, Any]:
    meta = {"name": name, "namespace": NAMESPACE, **({"uid": uid} if uid else {})}
    return {"apiVersion": "buckets.windlass.dev/v1", "kind": "Vault", "metadata": meta, "spec": {"bucket": bucket}}


class Marked(Question[tuple[Bucket, ...] | Failure], frozen=True):
    """The buckets with this mark."""

    SYSTEM: ClassVar[str] = "buckets"

    mark: str


class Snapshot(Asking, frozen=True, kw_only=True):
    vault: Seen[Vault]
    last: Outcome


def decide(seen: Snapshot, *, now: datetime) -> Plan:
    """Finalizer, bucket, status; and back."""
    found = seen.vault
    if not isinstance(found, Present):
        return Plan.nothing("no vault")
    held = tuple(found.metadata.finalizers)
    wanted = found.object.spec.bucket and not found.deleting
    if FINALIZER not in held:
        if not wanted:
            return Plan.nothing("no bucket wanted")
        return Plan.of(AddFinalizer(target=target(found), observed=held, finalizer=FINALIZER))
    buckets = seen.need(Marked(found.metadata.uid))
    if isinstance(buckets, Failure):
        return Plan.of(_status(found, reason="Unreachable", message=str(buckets))).retry(buckets)
    keep, *rest = buckets if wanted and buckets else (None, *buckets)
    if (error := seen.last.error) is not None and (rest or (wanted and keep is None)):
        return Plan.of(_status(found, reason=type(error).__name__, message=str(error))).retry(error)
    if rest:
        return Plan.of(*(Call(target=target(found), request=DeleteBucket(bucket.id)) for bucket in rest if bucket))
    if not wanted:
        return Plan.of(_status(found), RemoveFinalizers(target=target(found), observed=held, finalizers=(FINALIZER,)))
    if keep is None:
        return Plan.of(Call(target=target(found), request=CreateBucket(found.metadata.name, found.metadata.uid)))
    return Plan.of(_status(found, bucket=keep.id, reason="Ready"))


def _status(found: Present[Vault], **status: str) -> Merge:
    desired = {"bucket": found.object.status.bucket if status else None, **status}
    desired = {name: desired.get(name) or None for name in ("bucket", "reason", "message")}
    observed = {"status": found.tree.get("status") or {}}
    return Merge(target=target(found), observed=observed, desired={"status": desired}, part="status")


class Buckets:
    """Answers by looking at the service."""

    def __init__(self, carrier: BucketCarrier) -> None:
        self._carrier = carrier

    async def answer(self, question: Marked, /) -> tuple[Bucket, ...]:
        return await self._carrier.marked(question.mark)


def vaults(reader: Reader, carrier: BucketCarrier, mailbox: Mailbox[str]) -> Controller[str, Snapshot]:
    async def observe(key: str, last: Outcome) -> Snapshot:
        return Snapshot(vault=await reader.see(Vault, key, namespace=NAMESPACE), last=last)

    return Controller(
        name="vaults",
        sources=(mailbox,),
        permissions=(
            reads(Vault, namespace=NAMESPACE),
            writes(Vault, "patch", namespace=NAMESPACE),
            writes(Vault, "patch", subresource="status", namespace=NAMESPACE),
            calls(CreateBucket, DeleteBucket),
            asks(Marked),
        ),
        answerers={"buckets": Buckets(carrier)},
        observe=observe,
        decide=decide,
        workers=2,
        backoff=Constant(0.001),
        conflict=Constant(0.001),
    )
