"""Deletes orphans of a project, until they are gone or time is up. It looks again before each round of requests."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection
from typing import Final

from msgspec import Struct

from windlass.openstack.cloud.account import VOLUMES, Account
from windlass.openstack.cloud.failures import CloudFailure
from windlass.openstack.cloud.requests import CloudRequest, Naming
from windlass.openstack.overview.orphans import Orphan, next_requests, still_there

_FIRST_PAUSE: Final = 0.2
_LONGEST_PAUSE: Final = 5.0
"""Seconds between two rounds, which grow: Nova needs seconds for a server, Octavia a minute for a load balancer."""


class _Progress(Struct):
    """Of one mark. `reasons`: why a resource is still there, by ID; `refused`: what is not sent again."""

    reasons: dict[str, str]
    refused: set[CloudRequest]
    general: str = ""
    over: bool = False


async def clean(
    account: Account,
    found: Collection[Orphan],
    *,
    seconds: float,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> dict[str, str]:
    """Delete what has the marks of `found`, for so many `seconds`. Returns why each that is left is there, by its ID.

    What is refused for good is not tried again; what must go after it stays too.
    """
    deadline, pause = clock() + seconds, _FIRST_PAUSE
    marks = {each.mark: _Progress({}, set()) for each in found}
    left, trouble = list(found), ""
    while left:
        try:
            left = still_there(await account.project_inventory(), found)
            trouble = ""
            there = {each.mark for each in left}
            for mark, progress in marks.items():
                if mark in there and not progress.over:
                    await _round(account, mark, progress)
        except CloudFailure as failure:
            trouble = str(failure)
            if not failure.transient:
                break
        if clock() >= deadline or all(marks[each.mark].over for each in left):
            break
        await sleep(min(pause, max(deadline - clock(), 0.0)))
        pause = min(2 * pause, _LONGEST_PAUSE)
    return {each.id: _reason(each, marks[each.mark], trouble, seconds) for each in left}


async def _round(account: Account, mark: str, progress: _Progress) -> None:
    """Send what can be sent for one mark. Raises CloudFailures of looking."""
    never = float("inf")
    inventory, network = await account.look(mark, services=(VOLUMES,)), await account.network_inventory(mark, age=never)
    following = next_requests(inventory, network, project=account.key, mark=mark)
    progress.general = following.waits or following.stuck
    sent = [each for each in following.requests if each not in progress.refused]
    for request in sent:
        which = request.id if isinstance(request, Naming) else ""
        try:
            await account.carry(request)
        except CloudFailure as failure:
            if request.is_done(failure):
                continue
            progress.reasons[which] = str(failure)
            if not failure.transient:
                progress.refused.add(request)
    progress.over = not sent and not following.waits


def _reason(left: Orphan, progress: _Progress, trouble: str, seconds: float) -> str:
    waited = f"it was still there after {seconds:g} s"
    return trouble or progress.reasons.get(left.id) or progress.general or next(iter(progress.reasons.values()), waited)
