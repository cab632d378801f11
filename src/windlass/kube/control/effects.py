"""Effects outside Kubernetes: how a plan asks a cloud, an image builder or a registry for something.

    class CreateBucket(Request, frozen=True):      # the vocabulary of a system: frozen values that print themselves
        SYSTEM = "buckets"
        name: str
        owner: str                                 # the ownership mark

    Controller(..., permissions=(calls(CreateBucket, DeleteBucket),))
    Plan.of(Call(target=target(widget), request=CreateBucket(name, mark), why="spec.bucket asks for one"))
    Executor(api, systems={"buckets": carrier}, fence=election)

A `Carrier` speaks to one system. `Effects` stands before it: it refuses what was not declared, asks the fence, cuts off
what takes longer than its request allows, and tells the carrier to doubt what it remembers when an outcome is unknown.

# What a controller must do

No transaction spans two systems: between any two lines of a program its process may die, and a request that was sent
may be carried out although no answer comes. So at every moment what exists must be findable from what is persisted:

1. **Persist the intent first.** The first plan adds the finalizer and writes down what will be asked for: every choice
   that is not a function of the object (a resolved image, a mark). Only a later round, which has seen it persisted,
   plans a Call.
2. **Mark what is created, from its first request on.** The mark names the owner and is stored by the other system with
   the thing itself: a tag, a unique name. It is persisted under 1. Names that people can give to other things are no
   marks. Use the object's uid only if the object never moves to another cluster.
3. **Look before a create.** `observe` looks for the mark whenever the intent is persisted and a result is not: in the
   first attempt of a process, and after every Call. Such a look asks the system: an absence that leads to a create is
   never taken from memory. This is also the answer to leadership. A Call may outlast the Lease, so what an earlier
   leader intended is of unknown outcome until somebody has looked.
4. **Persist the result before the next step,** and persist a deletion (the finalizer goes) only when a look has
   confirmed that nothing with the mark is left.
5. **Expect a late arrival.** A system that carries a request out after we stopped waiting can make a second one, unless
   it refuses a second mark by itself. Where it does not, `decide` keeps the oldest that has the mark and deletes the
   others.

# What the runtime does

| what happens | what becomes of it |
|---|---|
| the request is not declared | `Undeclared`, like a write |
| no carrier for the system, as in a dry run | `Withheld`: nothing is sent, and the attempt ends |
| this process may not be leading | `Fenced`: nothing is sent, and the attempt ends |
| no answer in `SECONDS` | cut off; `doubt`; `Unanswered` |
| the carrier raises a `Failure` | it is the result; `doubt` if its outcome is unknown |
| the carrier is cancelled, or raises anything else | `doubt`; it is raised, as a time-out or a bug |

The fence is asked for `SECONDS`, or for its longest write if that is less: what is longer than a Lease allows is sent
only while leading, and 3 covers the rest. `windlass.kube.control.rounds` says how failures reach `decide`.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

from windlass.kube.client.fence import Fence
from windlass.kube.control.permissions import Permits, require_call
from windlass.kube.control.plan import Call, Request, Result
from windlass.kube.errors import Failure, Unanswered, Withheld

RequestT = TypeVar("RequestT", bound=Request, contravariant=True)


class Carrier(Protocol[RequestT]):
    """Carries requests to one system. It is shared by all workers, and outlives terms of leadership."""

    async def send(self, request: RequestT, /) -> Any:
        """Send it once, and return the answer. Raises leaves of `Failure`; `SECONDS` later it is cancelled.

        Many sends may be under way at a time; the carrier bounds how many reach the system. Blocking libraries run in
        threads of the carrier's own, and may not repeat a request by themselves: aiohttp, for one, repeats a DELETE. A
        carrier that was told to wait may refuse by itself until then, with the rest of the wait as `retry_after`.
        """
        ...

    def doubt(self, request: RequestT, /) -> None:
        """Nobody knows what became of `request`: forget what a look would otherwise be answered with from memory."""
        ...


class Effects:
    """Makes Calls through the carriers of `systems`. `permits` None allows all of them; no `fence`: always leading."""

    def __init__(
        self, systems: Mapping[str, Carrier[Any]], *, permits: Permits | None = None, fence: Fence | None = None
    ) -> None:
        self._systems = systems
        self._permits = permits
        self._fence = fence

    async def make(self, call: Call) -> Result:
        """What became of it. Never raises a Failure: it is in the result."""
        try:
            carrier = self._admit(call)
        except Failure as error:
            return Result(call, error=error)
        try:
            async with asyncio.timeout(call.request.SECONDS):
                return Result(call, answer=await carrier.send(call.request))
        except TimeoutError:
            carrier.doubt(call.request)
            return Result(call, error=Unanswered(f"{call.system} did not answer in {call.request.SECONDS:g} s"))
        except Failure as error:
            if error.unknown_outcome:
                carrier.doubt(call.request)
            return Result(call, error=error)
        except BaseException:
            carrier.doubt(call.request)
            raise

    def _admit(self, call: Call) -> Carrier[Any]:
        require_call(self._permits, call.request, what=call)
        carrier = self._systems.get(call.system)
        if carrier is None:
            raise Withheld(f"nothing here carries requests to {call.system}, so nothing was sent")
        if self._fence is not None:
            self._fence.gate(min(call.request.SECONDS, self._fence.longest_write))
        return carrier
