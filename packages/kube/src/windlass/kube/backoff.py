"""Delays between attempts, as values that compose.

A `Backoff` says how long to wait after the n-th failure in a row. It has no state and no clock; the caller counts the
attempts. Small ones compose:

| written | means |
|---|---|
| `Constant(2)` | 2 s each time |
| `Exponential(0.005)` | 5 ms, 10 ms, 20 ms, ... |
| `Exponential(0.005).at_most(300)` | the same, never more than 5 min |
| `Exponential(0.005).at_most(300).jittered(0.2)` | each stretched by a random factor between 1 and 1.2 |
| `Constant(1) + Exponential(0.1)` | the sum of both |
| `Constant(0.1).times(3).then(Constant(5))` | three quick attempts, then slow ones |

    from random import Random
    from windlass.kube.backoff import Exponential

    policy = Exponential(0.005).at_most(1.0).jittered(0.1)
    print([round(policy.delay(failures, Random(1)), 3) for failures in range(1, 10)])

Jitter only adds, so a minimum (Retry-After) stays a minimum. Without jitter, clients that failed together would retry
together.

The shape is tenacity's (strategies that compose with `+`); the numbers of `RECONCILE` are those of client-go's
ItemExponentialFailureRateLimiter, with a cap people can wait for.
"""

from random import Random

from msgspec import Struct


class Backoff(Struct, frozen=True):
    """How long to wait after so many failures in a row."""

    def delay(self, failures: int, random: Random) -> float:
        """Seconds to wait after the `failures`-th failure in a row (counted from 1); never negative."""
        raise NotImplementedError

    def __add__(self, other: "Backoff") -> "Backoff":
        return Sum(self, other)

    def at_most(self, seconds: float) -> "Backoff":
        """The same, but no delay longer than `seconds`."""
        return Capped(self, seconds)

    def jittered(self, fraction: float) -> "Backoff":
        """The same, each delay stretched by a random factor between 1 and 1 + `fraction`."""
        return Jittered(self, fraction)

    def times(self, failures: int) -> "FirstFew":
        """The same for the first `failures` failures only; say what follows with `.then(...)`."""
        return FirstFew(self, failures)


class Constant(Backoff, frozen=True):
    seconds: float

    def delay(self, failures: int, random: Random) -> float:
        return self.seconds


class Exponential(Backoff, frozen=True):
    """`first` seconds after the first failure, then `factor` times the one before."""

    first: float
    factor: float = 2.0

    def delay(self, failures: int, random: Random) -> float:
        try:
            return self.first * self.factor ** (max(failures, 1) - 1)
        except OverflowError:  # after about a thousand failures
            return float("inf")


class Sum(Backoff, frozen=True):
    one: Backoff
    other: Backoff

    def delay(self, failures: int, random: Random) -> float:
        return self.one.delay(failures, random) + self.other.delay(failures, random)


class Capped(Backoff, frozen=True):
    inner: Backoff
    seconds: float

    def delay(self, failures: int, random: Random) -> float:
        return min(self.inner.delay(failures, random), self.seconds)


class Jittered(Backoff, frozen=True):
    inner: Backoff
    fraction: float

    def delay(self, failures: int, random: Random) -> float:
        return self.inner.delay(failures, random) * (1.0 + self.fraction * random.random())


class FirstFew(Struct, frozen=True):
    """An incomplete backoff: it has no delay after the first few failures until `then` is called."""

    inner: Backoff
    failures: int

    def then(self, later: Backoff) -> Backoff:
        return Chain(self.inner, self.failures, later)


class Chain(Backoff, frozen=True):
    first: Backoff
    failures: int
    later: Backoff

    def delay(self, failures: int, random: Random) -> float:
        if failures <= self.failures:
            return self.first.delay(failures, random)
        return self.later.delay(failures - self.failures, random)


RECONCILE = Exponential(0.005).at_most(300.0).jittered(0.2)
"""Between attempts at a key that fails: from 5 ms, doubling, to 5 min."""

CONFLICT = Exponential(0.01).at_most(1.0).jittered(0.5)
"""After losing a race with another writer: soon, but not in step with it."""
