"""Random durations in seconds: distributions, the remaining time after a given time, and sums."""

import math
from collections.abc import Iterable
from statistics import NormalDist
from typing import Final

from msgspec import Struct, structs

from windlass.update_status.report import Estimate
from windlass.update_status.times import SECOND, Moment

LONGEST: Final = 30 * 86400.0
"""Nothing is expected to take longer."""
SHORTEST: Final = 30.0
"""What is left of something that goes on, at least."""

_NORMAL: Final = NormalDist()
_LOW, _MIDDLE, _HIGH = 0.1, 0.5, 0.9
_LASTING: Final = (0.05, 0.3, 1.3)
"""What lasts longer than usual goes on for such shares of the time that it is late: something holds it."""
_FAINTEST: Final = 1e-9


class Left(Struct, frozen=True, kw_only=True):
    """How long something still takes: in four of five cases from `low` to `high`. `basis`: the source of the
    estimate."""

    low: float
    middle: float
    high: float
    basis: str = ""

    def after(self, other: "Left") -> "Left":
        """Both, one after the other; they vary independently. The basis is that of the later."""
        middle = self.middle + other.middle
        return structs.replace(
            self,
            low=max(0.0, middle - math.hypot(self.middle - self.low, other.middle - other.low)),
            middle=middle,
            high=middle + math.hypot(self.high - self.middle, other.high - other.middle),
        )

    def as_estimate(self, now: Moment) -> Estimate:
        """From `now` on, in whole seconds."""
        ends = (min(one, LONGEST) for one in (self.low, self.middle, self.high))
        low, middle, high = ((now // SECOND + round(end)) * SECOND for end in ends)
        return Estimate(earliest=low, middle=middle, latest=high, basis=self.basis)


class Law(Struct, frozen=True, kw_only=True):
    """How long something takes: `mean` and `deviation`, and a log-normal law of `median` and `sigma` for single ones.

    The former are those of samples, so that the few that last long count in sums; the latter is not led astray by them.
    `weight`: how many samples that is worth.
    """

    mean: float
    deviation: float
    median: float
    sigma: float
    weight: float = 0.0

    def left(self, passed: float) -> Left:
        """What is left of one that has lasted for `passed`."""
        passed = min(max(0.0, passed), LONGEST)
        place = math.log(max(passed, 1e-3) / self.median) / self.sigma
        survival = max(_NORMAL.cdf(-place), _FAINTEST)
        late = max(0.0, passed - self.median)
        low, middle, high = (
            max(self.longest((1 - chance) * survival) - passed, share * late)
            for chance, share in zip((_LOW, _MIDDLE, _HIGH), _LASTING, strict=True)
        )
        middle = max(middle, low, SHORTEST)
        return Left(low=low, middle=middle, high=max(high, middle))

    def longest(self, survival: float) -> float:
        """The seconds that only this share lasts longer than."""
        return self.median * math.exp(-self.sigma * _NORMAL.inv_cdf(survival))


def law_of(samples: Iterable[tuple[float, float]]) -> Law:
    """The law of durations, each with its weight; there must be one whose weight is positive."""
    known = [(min(max(duration, 1.0), LONGEST), weight) for duration, weight in samples]
    total = sum(weight for _, weight in known)
    mean = sum(duration * weight for duration, weight in known) / total
    deviation = math.sqrt(sum((duration - mean) ** 2 * weight for duration, weight in known) / total)
    mu = sum(math.log(duration) * weight for duration, weight in known) / total
    spread = math.sqrt(sum((math.log(duration) - mu) ** 2 * weight for duration, weight in known) / total)
    return Law(mean=mean, deviation=deviation, median=math.exp(mu), sigma=max(spread, 0.15), weight=total)


def largest(found: Iterable[Left]) -> Left:
    """The last of several that go on at the same time; there must be one."""
    each = list(found)
    low, middle, high = (max(getattr(one, end) for one in each) for end in ("low", "middle", "high"))
    # Of many that are alike, the last is later than any one of them is expected to be.
    rivals = sum(max(0.0, one.middle / middle) ** 4 for one in each) - 1
    shift = 1 - 1 / (1 + rivals) ** 0.5
    return Left(low=low + (middle - low) * shift, middle=middle + (high - middle) * shift * 0.7, high=high)
