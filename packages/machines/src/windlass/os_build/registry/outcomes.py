"""Remembers what became of requests about images: nothing was wrong, or what was, for a while."""

from typing import Final

from windlass.kube.clock import Clock, SystemClock

_REMEMBERED: Final = 1000


class Outcomes:
    """Outcomes by image, a pullspec with digest, and the versions of the Secrets that were used."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._known: dict[tuple[str, str], tuple[float, str]] = {}

    def known(self, image: str, versions: str) -> str | None:
        """Empty: it was done; else why not. None: nobody has tried, or too long ago."""
        until, why = self._known.get((image, versions), (0.0, None))
        return why if why == "" or self._clock.monotonic() < until else None

    def done(self, image: str, versions: str) -> str:
        """It was done, which counts for ever."""
        return self._remember(image, versions, "", 0.0)

    def failed(self, image: str, versions: str, why: str, *, seconds: float) -> str:
        """It was not done; that counts for so long."""
        return self._remember(image, versions, why, seconds)

    def _remember(self, image: str, versions: str, why: str, seconds: float) -> str:
        self._known[image, versions] = self._clock.monotonic() + seconds, why
        if len(self._known) > _REMEMBERED:
            del self._known[next(iter(self._known))]
        return why
