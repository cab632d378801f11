"""Decides which failed requests the client sends again, and when.

The client does not know whether it is safe to repeat a write. It repeats only harmless requests, a few times, within
the caller's deadline. Everything else is the caller's decision, by the error that it gets (`windlass.kube.errors`).

| what happened | a read | a write |
|---|---|---|
| 429: throttled, never executed | retry after Retry-After or `backoff` | the same |
| 429 to an eviction: a PodDisruptionBudget forbids it | | `Unevictable` |
| 503, or another 5xx with Retry-After | retry after Retry-After or `backoff` | `Busy`: it may have been executed |
| other 5xx | `Busy` | `Busy` |
| an admission webhook refuses, or cannot be called | | `Forbidden`, `WebhookFailed`: it was not executed |
| a pooled connection turned out to be closed | retry at once, once | `OutcomeUnknown` |
| no connection could be made | `TransportError` | `TransportError`: it was never sent |
| no answer before the deadline, or half of one | `TransportError` | `OutcomeUnknown` |

(401 has its own rule: the client asks its credential source for a new credential and sends once more if there is one.)

    from windlass.kube.client import Client
    from windlass.kube.client.retry import RetryPolicy

    Client(cluster, retry=RetryPolicy(attempts=1))          # never repeat

Source for 429: API Priority and Fairness rejects before a request is dispatched; other 429 (etcd full) are
refusals too. A 503 or 504 gives no such promise.
"""

from random import Random

from msgspec import Struct

from windlass.kube.backoff import Backoff, Exponential
from windlass.kube.errors import ApiError, Busy

BACKOFF = Exponential(0.25).at_most(10.0).jittered(0.5)
"""Between attempts when the server does not say how long to wait."""


class RetryPolicy(Struct, frozen=True):
    """`attempts`: how often one request is sent at most. `backoff`: the wait when the server names none.

    `spread`: a wait that the server names is stretched by up to so many seconds, because it says "1" to everybody.
    """

    attempts: int = 4
    backoff: Backoff = BACKOFF
    spread: float = 0.5

    def wait(self, error: ApiError, *, attempt: int, is_write: bool, random: Random) -> float | None:
        """Seconds to wait before the next attempt, after the `attempt`-th failed with `error`; None: do not retry."""
        if attempt >= self.attempts or not self._harmless(error, is_write=is_write):
            return None
        if error.retry_after is None:
            return self.backoff.delay(attempt, random)
        return error.retry_after + random.random() * self.spread

    @staticmethod
    def _harmless(error: ApiError, *, is_write: bool) -> bool:
        if not isinstance(error, Busy):  # also a refusal of admission, whatever its code is
            return False
        if error.code == 429:
            return True
        return not is_write and (error.code == 503 or (error.code >= 500 and error.retry_after is not None))
