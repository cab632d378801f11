"""Carries out effects outside Kubernetes: the requests of a plan to a cloud, an image builder or a registry.

    class CreateBucket(Request, frozen=True):      # the vocabulary of a system: frozen values that print themselves
        SYSTEM = "buckets"
        name: str
        owner: str                                 # the ownership mark

    Controller(..., permissions=(calls(CreateBucket, DeleteBucket),))
    Plan.of(Call(target=target(widget), request=CreateBucket(name, mark), why="spec.bucket asks for one"))
    Executor(api, systems={"buckets": carrier}, fence=election)

A `Carrier` sends requests to one system. `Effects` wraps it: it refuses undeclared requests, asks the fence, cuts off
requests that take too long, and tells the carrier to `doubt` its memory when an outcome is unknown.

# What a controller must do

No transaction spans two systems: the process may die between any two lines, and a request may be carried out although
no answer comes. So everything that exists in the other system must always be findable from the persisted state:

1. **Persist the intent first.** The first plan adds the finalizer and stores every choice that is not a function of the
   object (a resolved image, a mark). Only a later round, which has seen it persisted, plans a Call.
2. **Mark what is created, from its first request on.** The mark names the owner, and the other system stores it with
   the resource itself: a tag, a unique name. Step 1 persists it. A name that people can give to other resources is no
   mark. Use the object's uid only if the object never moves to another cluster.
3. **Look before a create.** `decide` asks for what has the mark whenever the intent is persisted and a result is not:
   in the first attempt of a process, and after every Call. It must ask the system: an absence that leads to a create is
   never taken from memory. This also covers a change of leader. A Call may outlast the Lease, so the outcome of an
   earlier leader's Call is unknown until the system is asked.
4. **Persist the result before the next step,** and remove the finalizer only when a look has confirmed that nothing
   with the mark is left.
5. **Expect a late arrival.** A system that carries out a request after our time-out can create a duplicate, unless it
   refuses a second mark by itself. Otherwise `decide` keeps the oldest resource with the mark and deletes the others.

# What the runtime does

| what happens | result |
|---|---|
| the request is not declared | `Undeclared`, like a write |
| no carrier for the system, as in a dry run | `Withheld`: nothing is sent, and the attempt ends |
| this process may not be leading | `Fenced`: nothing is sent, and the attempt ends |
| no answer in `SECONDS` | cut off; `doubt`; `Unanswered` |
| the carrier raises a `Failure` | it is the result; `doubt` if its outcome is unknown |
| the carrier is cancelled, or raises anything else | `doubt`; it is raised, as a time-out or a bug |

The fence is asked for `SECONDS`, or for its longest write if that is less: a request that is longer than the Lease
allows is still sent only while leading, and step 3 covers the rest. `windlass.kube.control.rounds` says how failures
reach `decide`.
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
        """Send it once, and return the answer. Raises leaves of `Failure`; it is cancelled after `SECONDS`.

        Many sends may be under way at a time; the carrier bounds how many reach the system. Blocking libraries run in
        threads of the carrier's own, and may not repeat a request by themselves: aiohttp, for one, repeats a DELETE. A
        carrier that was told to wait may refuse by itself until then, with the rest of the wait as `retry_after`.
        """
        ...

    def doubt(self, request: RequestT, /) -> None:
        """The outcome of `request` is unknown: drop cached data about it, so that the next look asks the system."""
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
        """Make the Call. Never raises a Failure: it is in the result."""
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
            raise Withheld(f"nothing here carries requests to {call.system}")
        if self._fence is not None:
            self._fence.gate(min(call.request.SECONDS, self._fence.longest_write))
        return carrier
