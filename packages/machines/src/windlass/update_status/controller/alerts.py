"""Asks Prometheus for alerts while decisions ask for them, and wakes the controller when they change.

In OpenShift that is `thanos-querier`, which takes the token of a ServiceAccount. Both the token and the certificate
authority are files that rotate, so they are read for each request.
"""

import asyncio
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Final

from msgspec import Struct

from windlass.kube.control.poll import Poll, Polled
from windlass.kube.control.question import Question
from windlass.update_status.reading.alerts import read_alerts
from windlass.update_status.reading.live import UNABLE
from windlass.update_status.sources import Alert

PERIOD: Final = 30.0
"""Seconds between requests. Rules of alerts are evaluated every 30 s, and alerts fire after minutes."""

PATIENCE: Final = 5.0
"""Seconds for an answer: a report waits for the first one."""

LARGEST: Final = 8 * 2**20
"""Bytes of an answer; a larger one is refused."""

_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class AlertsSettings(Struct, frozen=True, kw_only=True):
    """Where alerts are; `url` "" for nowhere."""

    url: str = ""
    token: Path = _ACCOUNT / "token"
    authority: Path = _ACCOUNT / "service-ca.crt"


class Answer(Struct, frozen=True):
    """The alerts of the latest answer; `trouble` says why there is none, or that it is old."""

    found: tuple[Alert, ...] = ()
    trouble: str = ""


class FiringAlerts(Question[Answer], frozen=True):
    """The alerts of the cluster. They are asked for again and again until an attempt does not ask this."""

    SYSTEM: ClassVar[str] = "alerts"
    FREE: ClassVar[bool] = True

    def __str__(self) -> str:
        return "alerts of the cluster"


class AlertsAnswerer:
    """The latest alerts, asked for as long as decisions want them."""

    def __init__(self, settings: AlertsSettings, key: str) -> None:
        self._settings = settings
        self._key = key
        self._wanted = False
        self.latest = Answer()

    async def answer(self, question: FiringAlerts, /) -> Answer:
        """The first answer is awaited. Otherwise a process that starts during an update would report as resolved
        whatever its predecessor was told."""
        if not self._wanted:
            self._wanted = True
            if self._settings.url:
                self.latest = await self._answer()
        return self.latest

    def attended(self, key: str, answers: Mapping[Any, Any], /) -> None:
        """Ask no more once nobody wants to know; what an earlier update was told is forgotten."""
        if not answers:
            self._wanted, self.latest = False, Answer()

    @property
    def poll(self) -> Poll[str]:
        """The source that wakes the controller."""
        return Poll("alerts", self._look, period=PERIOD)

    async def _look(self) -> Polled[str]:
        if not (self._wanted and self._settings.url):
            return Polled()
        found = await self._answer()
        changed, self.latest = found != self.latest, found
        return Polled((self._key,) if changed else ())

    async def _answer(self) -> Answer:
        try:
            async with asyncio.timeout(PATIENCE):
                return Answer(*read_alerts(await self._ask()))
        except TimeoutError:
            why = f"{self._settings.url} did not answer within {PATIENCE:g} s"
        except Exception as error:
            why = str(error) or type(error).__name__
        # The alerts of before are still the best guess; the report says that they are old.
        return Answer(self.latest.found, f"{UNABLE}{why}")

    async def _ask(self) -> bytes:
        import aiohttp

        trust = ssl.create_default_context(cafile=str(self._settings.authority))
        headers = {"Authorization": f"Bearer {self._settings.token.read_text().strip()}"}
        async with (
            aiohttp.ClientSession() as session,
            session.get(
                f"{self._settings.url}/api/v1/alerts", headers=headers, ssl=trust, allow_redirects=False
            ) as answer,
        ):
            if answer.status != 200:
                raise Refused(f"{self._settings.url} answered {answer.status} {answer.reason}")
            body = bytearray()
            async for part in answer.content.iter_chunked(2**16):
                body += part
                if len(body) > LARGEST:
                    raise Refused(f"{self._settings.url} answered more than {LARGEST} bytes")
            return bytes(body)


class Refused(Exception):
    """The answer cannot be used; the text says why."""
