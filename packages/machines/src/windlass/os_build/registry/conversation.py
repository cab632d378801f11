"""Asks a registry as one user: answers its challenge once, keeps the token for the next request, follows redirects.

| challenge | answer |
|---|---|
| Basic | the user's name and password |
| Bearer | a token of the service that the challenge names, asked for with name and password, or an identity token |

Credentials go to the registry and to the token service that it names, and not where either of them redirects to.
"""

import base64
import re
from typing import Final

from yarl import URL

from windlass.os_build.credentials import Login
from windlass.os_build.environment import Egress
from windlass.os_build.pullspec import Target
from windlass.os_build.registry.answers import Reply, shown
from windlass.os_build.registry.wire import BODY, NoAnswer, Wire

_REDIRECTS: Final = 5
_LONGEST: Final = 16 * 2**10
"""Characters of all challenges together."""
_CHALLENGE: Final = re.compile(r'(?<![A-Za-z])([A-Za-z]+)((?:[\s,]+[A-Za-z_-]+=(?:"(?:[^"\\]|\\.)*"|[^\s,"]+))+)')
_PARAMETER: Final = re.compile(r'(?<![A-Za-z_-])([A-Za-z_-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))')


class Conversation:
    """The requests of one question about `target`. `actions` are those of the scope: `pull`, or `pull,push`."""

    def __init__(self, wire: Wire, target: Target, *, login: Login | None, actions: str, egress: Egress) -> None:
        self.root = wire.api(target)
        self._wire = wire
        self._login = login
        self._egress = egress
        self._scope = f"repository:{target.path}:{actions}"
        self._authorization = ""

    async def ask(
        self, method: str, url: URL, *, accept: str = "", most: int = BODY, body: bytes | None = None, kind: str = ""
    ) -> Reply:
        """The answer, after the challenge if there is one: of the registry, or the refusal of its token service.

        `body` is sent with the request, and `kind` is its media type. Raises NoAnswer.
        """
        reply = await self._follow(method, url, accept=accept, most=most, body=body, kind=kind)
        if reply.status != 401 or reply.url.origin() != self.root.origin():
            return reply
        challenges = _challenges(", ".join(reply.headers.getall("WWW-Authenticate", []))[:_LONGEST])
        if "bearer" in challenges:
            granted = await self._token(challenges["bearer"])
            if isinstance(granted, Reply):
                return granted
            self._authorization = f"Bearer {granted}"
        elif "basic" in challenges and self._login is not None:
            self._authorization = _basic(self._login)
        else:
            return reply
        return await self._follow(method, url, accept=accept, most=most, body=body, kind=kind)

    async def _follow(self, method: str, url: URL, *, accept: str, most: int, body: bytes | None, kind: str) -> Reply:
        for _ in range(_REDIRECTS):
            headers = {"Accept": accept or "application/json"}
            if body is not None:
                headers["Content-Type"] = kind
            if self._authorization and url.origin() == self.root.origin():
                headers["Authorization"] = self._authorization
            reply = await self._wire.send(method, url, headers=headers, egress=self._egress, form=body, most=most)
            if reply.status not in (301, 302, 303, 307, 308):
                return reply
            if method not in ("GET", "HEAD") and reply.status not in (307, 308):
                raise NoAnswer(f"it redirects a {method} to {shown(reply.headers.get('Location', 'nowhere'))}")
            url = location(reply)
        raise NoAnswer(f"it redirects more than {_REDIRECTS} times")

    async def _token(self, challenge: dict[str, str]) -> str | Reply:
        """The token, or the refusal of the token service."""
        realm = _url(challenge.get("realm", ""), seen_from=URL(), what="the realm of its challenge")
        asked = {"scope": challenge.get("scope", self._scope), "client_id": "windlass"}
        if "service" in challenge:
            asked["service"] = challenge["service"]
        try:
            if self._login is not None and self._login.identity_token:
                form = asked | {"grant_type": "refresh_token", "refresh_token": self._login.identity_token}
                reply = await self._wire.send("POST", realm, headers={}, egress=self._egress, form=form)
            else:
                headers = {} if self._login is None else {"Authorization": _basic(self._login)}
                url = realm.update_query(asked)
                reply = await self._wire.send("GET", url, headers=headers, egress=self._egress)
        except NoAnswer as error:
            raise NoAnswer(f"its token service {realm.host}: {error}") from error
        if reply.status in (401, 403):
            return reply
        token = reply.document.get("token") or reply.document.get("access_token")
        if reply.status != 200 or not isinstance(token, str) or not (token.isascii() and token.isprintable()):
            raise NoAnswer(f"its token service {realm.host} answers {reply} without a token that can be sent")
        return token


def location(reply: Reply) -> URL:
    """Where an answer sends the client. Raises NoAnswer if it does not say."""
    return _url(reply.headers.get("Location", ""), seen_from=reply.url, what="the Location of its answer")


def _url(text: str, *, seen_from: URL, what: str) -> URL:
    """An absolute URL, whose host and port can be read. Raises NoAnswer."""
    try:
        # yarl reads host and port when it is first asked for one of them, and raises then.
        if text and (url := seen_from.join(URL(text, encoded=True))).host:
            return url
    except ValueError:
        pass
    raise NoAnswer(f"{what} is no URL: {shown(text) or 'it is missing'}")


def _challenges(header: str) -> dict[str, dict[str, str]]:
    """The parameters by scheme; both in lower case."""
    return {
        scheme.lower(): {
            name.lower(): re.sub(r"\\(.)", r"\1", quoted) or plain
            for name, quoted, plain in _PARAMETER.findall(parameters)
        }
        for scheme, parameters in _CHALLENGE.findall(header)
    }


def _basic(login: Login) -> str:
    return f"Basic {base64.b64encode(f'{login.username}:{login.password}'.encode()).decode()}"
