"""Asks Prometheus for alerts while an update is going on, and wakes the controller when they change.

In OpenShift that is `thanos-querier`, which takes the token of a ServiceAccount. Both the token and the certificate
authority are files that rotate, so they are read for each request.
"""

import ssl
from pathlib import Path
from typing import Final

from msgspec import Struct

from windlass.kube.control.poll import Poll, Polled
from windlass.update_status.reading.alerts import read_alerts
from windlass.update_status.sources import Alert

PERIOD: Final = 30.0
"""Seconds between requests. Rules of alerts are evaluated every 30 s, and alerts fire after minutes."""

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


class Alerts:
    """The latest alerts. They are asked for while `wanted`, which who observes sets: while something is updated."""

    def __init__(self, settings: AlertsSettings, key: str) -> None:
        self._settings = settings
        self._key = key
        self.wanted = False
        self.latest = Answer()

    @property
    def poll(self) -> Poll[str]:
        """The source that wakes the controller."""
        return Poll("alerts", self._look, period=PERIOD)

    async def _look(self) -> Polled[str]:
        if not (self.wanted and self._settings.url):
            return Polled()
        try:
            found = Answer(*read_alerts(await self._ask()))
        except Exception as error:
            # The alerts of before are still the best guess; the report says that they are old.
            found = Answer(self.latest.found, _why(error))
        changed, self.latest = found != self.latest, found
        return Polled((self._key,) if changed else ())

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


def _why(error: Exception) -> str:
    """The line of `oc`."""
    return f"Unable to fetch alerts, ignoring alerts in 'Update Health':  {error or type(error).__name__}"
