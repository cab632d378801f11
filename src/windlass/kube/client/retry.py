"""Which failed requests are sent once more inside the client, and when.

Repeating is the business of whoever knows whether it is safe. The client only knows a request, so it repeats only what
cannot do harm, a few times, within the deadline that the caller gave; everything else is the caller's decision, who
gets an error of `windlass.kube.errors` that says what it may do.

| what happened | a read | a write |
|---|---|---|
| 429: throttled, never executed | again after Retry-After or `backoff` | the same |
| 429 to an eviction: a PodDisruptionBudget forbids it | | `Unevictable` |
| 503, or another 5xx with Retry-After | again after Retry-After or `backoff` | `Busy`: it may have been executed |
| other 5xx | `Busy` | `Busy` |
| a pooled connection turned out to be closed | again at once, once | `OutcomeUnknown` |
| no connection could be made | `TransportError` | `TransportError`: it was never sent |
| no answer before the deadline, or half of one | `TransportError` | `OutcomeUnknown` |

(401 is not about repeating: the client asks its credential source for a new credential and sends once more if there is
one.)

    from windlass.kube.client import Client
    from windlass.kube.client.retry import RetryPolicy

    Client(cluster, retry=RetryPolicy(attempts=1))          # never repeat

Source for 429: API Priority and Fairness rejects before a request is dispatched; other 429 (etcd full) are
refusals too. Nothing of the kind is promised for 503 and 504.
"""

from random import Random

from msgspec import Struct

from windlass.kube.backoff import Backoff, Exponential
from windlass.kube.errors import ApiError, Unevictable

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
        """Seconds to wait before sending again what failed with `error` at the `attempt`-th time; None: do not."""
        if attempt >= self.attempts or not self._harmless(error, is_write=is_write):
            return None
        if error.retry_after is None:
            return self.backoff.delay(attempt, random)
        return error.retry_after + random.random() * self.spread

    @staticmethod
    def _harmless(error: ApiError, *, is_write: bool) -> bool:
        if error.code == 429:
            return not isinstance(error, Unevictable)
        return not is_write and (error.code == 503 or (error.code >= 500 and error.retry_after is not None))
