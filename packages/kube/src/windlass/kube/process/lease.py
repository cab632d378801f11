"""Leader election by a Lease: one process writes, the others stand by, and no write outlasts the lease.

    times = LeaseTimes()                                            # 15 s lease, 10 s to renew, every 2 s
    async with Client(config) as lease_client:                 # a separate client: no other write may delay it
        election = Election(lease_client, "windlass", namespace="windlass", identity=own_identity(), times=times)
        async with Client(config, fence=election) as client:   # writes only while it leads
            while True:
                await election.acquire()                       # as long as it takes
                controllers = start(client)
                why = await election.keep()                    # renews; returns when leadership is lost
                stop(controllers, why)
        # on the way out, after the last write: await election.release()

The record in the Lease has client-go's format, so either can take over from the other, and `kubectl get lease` shows
it.

The rules that prevent two leaders at a time:

* *Our own lease* counts from when the renewing request was *sent*, on a monotonic clock that goes on while the machine
  is suspended. The server received it later, so our lease expires here before it expires for anybody else.
* *The gate* checks each write: `gate(timeout)` raises Fenced unless now + timeout < expiry - margin. So a write whose
  time-out ends after the lease is not sent. The gate checks again when the bytes leave: until then a write may have
  waited for its connection, and the process may have stood still. A client with this `fence` gives no write more than
  `longest_write`, so all writes pass while renewals succeed. When renewals fail, a warning a minute gives the number
  of writes held back although this process leads.
* *The lease of another* counts from when *we* first saw its present record; its renewTime is only compared for
  change, so clocks that disagree do no harm. A restarted process waits one lease duration for its predecessor,
  unless the predecessor released the lease.
* *A leader that cannot renew* for `renew_deadline` seconds stops, keeps its caches, and competes again.
* *Every write* of the record has the resourceVersion that was read: if two take a free lease, one gets a conflict.

Two cases remain: a Lease deleted by hand (the holder notices at its next renewal; a standby may already lead), and a
request that the API server carries out after the client's time-out.

Source of the record and the times: k8s.io/client-go/tools/leaderelection.
"""

import asyncio
import socket
import uuid
from contextlib import suppress
from random import Random
from typing import Any

from windlass.api.coordination import Lease, LeaseSpec
from windlass.kube.client import Client
from windlass.kube.clock import Clock, SystemClock, rfc3339_micro
from windlass.kube.control.permissions import Permission, permission
from windlass.kube.errors import AlreadyExists, Conflict, DecodeError, Fenced, Forbidden, KubeError, NotFound
from windlass.kube.logger import Logger
from windlass.kube.object import Object
from windlass.kube.process.lease_times import LeaseTimes
from windlass.kube.verbs import Api, PatchType

__all__ = ["Election", "LeaseTimes", "Rival", "held", "lease_permissions", "own_identity"]

MANAGER = "windlass-leader-election"
"""Field manager of the record."""


_WARN_EVERY = 60.0
"""Seconds between warnings that writes are held back."""


def own_identity() -> str:
    """`<host>_<random>`: unique to this process, readable to people. In a pod the host name is the pod's name."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


class Election:
    """One candidate for the Lease `namespace/name`. `identity` must be this process's alone.

    `field_manager`: the writer of the record in its managedFields. `refused`: the API server's answer while this
    process cannot compete, since it may not, or since the namespace does not exist.
    """

    def __init__(
        self,
        api: Api,
        name: str,
        *,
        namespace: str,
        identity: str,
        times: LeaseTimes | None = None,
        field_manager: str = MANAGER,
        clock: Clock | None = None,
        random: Random | None = None,
    ) -> None:
        if isinstance(api, Client) and api.fence is not None:
            raise ValueError(
                f"election {namespace}/{name}: its client is fenced, so the lease could never be taken or renewed: "
                "give it a client of its own, without `fence`"
            )
        self.name = name
        self.namespace = namespace
        self.identity = identity
        self.times = times or LeaseTimes()
        self._api = api
        self._manager = field_manager
        self._clock = clock or SystemClock()
        self._random = random or Random()
        self._seen: Object[Lease] | None = None
        self._rival = Rival(self._clock)
        self._expiry = 0.0
        self._leading = False
        self._held_back = 0
        self._warned_at = float("-inf")
        self.refused = ""
        self._log = Logger(__name__).bind(lease=f"{namespace}/{name}", identity=identity)

    @property
    def leading(self) -> bool:
        """Whether this process holds the lease, by its own clock."""
        return self._leading and self._clock.monotonic() < self._expiry

    @property
    def holder(self) -> str:
        """The holder of the lease when it was last read; empty if there was none."""
        return self._rival.holder if not self._leading else self.identity

    @property
    def blocked(self) -> str:
        """For readiness: why this process cannot compete, and what to do about it; empty while it can."""
        if not self.refused:
            return ""
        return (
            f"cannot compete for Lease {self.namespace}/{self.name}: {self.refused}. Create the namespace, grant the "
            "right to get, create and update Leases there, or name another one"
        )

    @property
    def longest_write(self) -> float:
        """The longest time that a write may take, for clients that have this election as `fence`."""
        return self.times.longest_write

    def gate(self, seconds: float) -> None:
        """Raise Fenced unless a write that takes up to `seconds` ends while the lease is surely ours."""
        if not self._leading:
            raise Fenced(f"not the leader: lease {self.namespace}/{self.name} is held by {self.holder or 'nobody'}")
        # A write that is under way when the lease ends may be carried out while a successor writes.
        left = self._expiry - self.times.margin - self._clock.monotonic()
        if seconds >= left:
            why = f"is sure for {max(left, 0):.1f} s more, and the write may take {seconds:g} s"
            self._hold_back(why)
            raise Fenced(f"lease {self.namespace}/{self.name} {why}")

    async def acquire(self) -> None:
        """Return when the lease is ours. Errors of the API server are retried."""
        trouble = ahead = ""
        while True:
            try:
                # An attempt that is cut off may still arrive: then the next one finds our identity in the record.
                async with asyncio.timeout(self._attempt_timeout):
                    took = await self._try_to_take()
                if took:
                    self.refused = ""
                    self._log.info("leading", transitions=self._record.lease_transitions)
                    return
                if self._rival.holder != ahead:
                    ahead = self._rival.holder
                    self.tell_holder(ahead)
                pause = min(self._jittered(self.times.retry), max(self._rival.remaining, 0.1))
                trouble = self.refused = ""
            except (KubeError, TimeoutError) as error:
                pause = self._jittered(self.times.retry)
                self.refused = str(error) if isinstance(error, Forbidden | NotFound) else ""
                if (text := _describe(error)) != trouble:
                    trouble = text
                    self._log.warning("cannot compete for the lease", error=text)
            await self._clock.sleep(pause)

    async def keep(self) -> str:
        """Renew until leadership is lost; returns why. From then on the gate refuses all writes."""
        try:
            why = await self._renew_while_possible()
        finally:
            # Before controllers hear of it: a write that one of them is about to send meets a closed gate.
            self._leading = False
        self._log.warning("leadership lost", reason=why)
        return why

    async def release(self) -> None:
        """Release the lease, so that a successor starts at once. Call it only after the last write has ended.

        Best effort: if it fails, the lease expires by itself.
        """
        self._leading = False
        self._expiry = 0.0
        now = rfc3339_micro(self._clock.now())
        free = {"holderIdentity": "", "leaseDurationSeconds": 1, "acquireTime": now, "renewTime": now}
        try:
            async with asyncio.timeout(self._attempt_timeout):
                # Read the record again: an attempt that was cancelled may have taken it, and one may still arrive.
                while (await self._read()).spec.holder_identity == self.identity:
                    with suppress(Conflict):
                        await self._patch(free)
                        self._log.info("lease released")
                        break
        except NotFound:
            pass
        except (KubeError, TimeoutError) as error:
            self._log.warning("the lease could not be released; it runs out by itself", error=_describe(error))

    def tell_holder(self, holder: str) -> None:
        """Log who holds the lease: called at each change while competing; empty when nobody does."""
        self._log.info("standing by", holder=holder)

    # implementation

    def _hold_back(self, why: str) -> None:
        self._held_back += 1
        now = self._clock.monotonic()
        if now - self._warned_at >= _WARN_EVERY:
            self._log.warning("writes are held back although this process leads", writes=self._held_back, lease_is=why)
            self._held_back, self._warned_at = 0, now

    async def _renew_while_possible(self) -> str:
        deadline = self._expiry - self.times.duration + self.times.renew_deadline
        while True:
            await self._clock.sleep(min(self.times.retry, max(deadline - self._clock.monotonic(), 0.0)))
            try:
                left = deadline - self._clock.monotonic()
                if left <= 0:
                    return f"not renewed for {self.times.renew_deadline:g} s"
                async with asyncio.timeout(min(left, self._attempt_timeout)):
                    await self._renew()
            except _Lost as lost:
                return str(lost)
            except (KubeError, TimeoutError) as error:
                # It may have been carried out, which makes the lease longer than we count: the safe direction.
                self._log.warning("renewal failed, trying again", error=_describe(error))
            else:
                deadline = self._expiry - self.times.duration + self.times.renew_deadline

    async def _try_to_take(self) -> bool:
        try:
            found = await self._read()
        except NotFound:
            return await self._create()
        self._rival.observe(found)
        if found.spec.holder_identity == self.identity:
            # Still, or because an earlier attempt was carried out although no answer came.
            try:
                await self._renew()
            except _Lost:
                return False
            self._leading = True
            return True
        if not self._rival.gone:
            return False
        sent = self._clock.monotonic()
        # Two candidates may see the lease expire at the same moment: both send the version that they read, so the
        # second one gets a conflict.
        try:
            await self._patch(self._claim((found.spec.lease_transitions or 0) + 1))
        except Conflict:
            return False
        self._hold(since=sent)
        return True

    async def _create(self) -> bool:
        sent = self._clock.monotonic()
        body = {
            "apiVersion": Lease.RESOURCE.api_version,
            "kind": Lease.RESOURCE.kind,
            "metadata": {"name": self.name, "namespace": self.namespace},
            "spec": self._claim(0),
        }
        try:
            self._seen = await self._api.create(Lease, body, namespace=self.namespace, field_manager=self._manager)
        except AlreadyExists:  # another candidate was first
            return False
        self._hold(since=sent)
        return True

    async def _renew(self) -> None:
        sent = self._clock.monotonic()
        try:
            await self._patch({"renewTime": rfc3339_micro(self._clock.now())})
        except Conflict:
            # Somebody changed the object, perhaps only its labels: only the present holder counts.
            record = (await self._read()).spec
            if record.holder_identity != self.identity:
                raise _Lost(f"taken by {record.holder_identity or 'nobody'}") from None
            sent = self._clock.monotonic()
            # If somebody takes it between the two requests, this one conflicts too, and the next renewal tells.
            await self._patch({"renewTime": rfc3339_micro(self._clock.now())})
        except NotFound:
            raise _Lost("the Lease object was deleted") from None
        # From the time it was sent: the answer may have come late, and others count from the server's write.
        self._expiry = sent + self.times.duration

    def _hold(self, *, since: float) -> None:
        self._expiry = since + self.times.duration
        self._leading = True

    def _claim(self, transitions: int) -> dict[str, Any]:
        now = rfc3339_micro(self._clock.now())
        return {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": int(self.times.duration),
            "acquireTime": now,
            "renewTime": now,
            "leaseTransitions": transitions,
        }

    async def _read(self) -> Lease:
        self._seen = await self._api.get(Lease, self.name, namespace=self.namespace)
        return self._seen.decode()

    async def _patch(self, spec: dict[str, Any]) -> None:
        version = self._seen.resource_version if self._seen else ""
        self._seen = await self._api.patch(
            Lease,
            self.name,
            {"metadata": {"resourceVersion": version}, "spec": spec},
            type=PatchType.MERGE,
            namespace=self.namespace,
            field_manager=self._manager,
        )

    @property
    def _record(self) -> LeaseSpec:
        return self._seen.decode().spec if self._seen else LeaseSpec()

    @property
    def _attempt_timeout(self) -> float:
        """Two attempts fit into the renew deadline, so that one dead connection does not lose the lease."""
        return self.times.renew_deadline / 2

    def _jittered(self, seconds: float) -> float:
        return seconds * (1 + 0.2 * self._random.random())


class Rival:
    """Another process's lease, judged without trusting the other clock."""

    def __init__(self, clock: Clock, *, default_duration: float = 15.0) -> None:
        self._clock = clock
        self._default = default_duration
        self._record: LeaseSpec | None = None
        self._since = 0.0

    def observe(self, lease: Lease) -> bool:
        """Remember the record; True if it changed since the last time."""
        if lease.spec == self._record:
            return False
        self._record, self._since = lease.spec, self._clock.monotonic()
        return True

    @property
    def holder(self) -> str:
        return (self._record.holder_identity or "") if self._record else ""

    @property
    def remaining(self) -> float:
        """Seconds until the lease has certainly expired if nothing changes; 0 if nobody holds it."""
        if not self.holder or self._record is None:
            return 0.0
        duration = self._record.lease_duration_seconds or self._default
        return max(self._since + duration - self._clock.monotonic(), 0.0)

    @property
    def gone(self) -> bool:
        return self.remaining <= 0


async def held(
    api: Api, name: str, *, namespace: str, clock: Clock | None = None, patience: float = 150.0, poll: float = 2.0
) -> str:
    """The holder of another program's Lease, or "" if nobody holds it.

    Absent and released leases are free at once. Any other is held if its record changes while we watch it, and free
    when it has not changed for its duration (at most `patience` seconds: a longer one counts as held). So the answer
    "held" takes one renewal of the holder, and "free" after a crash takes one lease duration.
    Raises the KubeErrors of reading it, Forbidden included: a lease that cannot be read is not known to be free.
    """
    clock = clock or SystemClock()
    rival = Rival(clock)
    began, first = clock.monotonic(), True
    while True:
        try:
            lease = (await api.get(Lease, name, namespace=namespace)).decode()
        except NotFound:
            return ""
        changed = rival.observe(lease)
        if not rival.holder:
            return ""
        if (changed and not first) or clock.monotonic() - began >= patience:
            return rival.holder
        if rival.gone:
            return ""
        first = False
        await clock.sleep(min(poll, max(rival.remaining, 0.01)))


class _Lost(Exception):
    """Somebody else holds the lease, or nobody does; the text says which."""


def _describe(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, Forbidden):
        return f"{error} (the Role of this ServiceAccount must allow get, create and patch of leases)"
    if isinstance(error, DecodeError):
        return f"{error} (mend or delete the Lease)"
    return f"{type(error).__name__}: {error}"


def lease_permissions(name: str, *, namespace: str) -> tuple[Permission, ...]:
    """The permissions that an election needs."""
    return (
        permission(Lease, "create", namespace=namespace),
        permission(Lease, "get", "patch", namespace=namespace, names=(name,)),
    )
