"""Whatever bytes a registry sends, a question ends in a classified answer of one short line, and in no exception."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.explore import examples
from windlass.os_build.credentials import Login
from windlass.os_build.pullspec import Target
from windlass.os_build.registry import Answer, Denied, Found, Gone, NotAsked, Registry

SECONDS = 1.0
LONGEST = 1000
"""Characters of a text for people; each part that others have written is much shorter."""
TLS = b"\x16"
"""The first byte of a client that begins TLS."""
LOGINS = [None, Login("robot", "s3cret"), Login("robot", "s3cret", identity_token="1dentity")]


class Bytes:
    """A server on loopback that answers each request with the next of `script`, the last one again and again."""

    def __init__(self) -> None:
        self.script: list[bytes] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if await reader.read(1) != TLS:
                await reader.readuntil(b"\r\n\r\n")
            says = self.script.pop(0) if len(self.script) > 1 else self.script[0]
            writer.write(says)
            await writer.drain()
            writer.write_eof()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


class Side:
    """A loop with a server, a registry that is asked, and what nobody has caught."""

    def __init__(self) -> None:
        self.runner = asyncio.Runner()
        self.uncaught: list[dict[str, Any]] = []
        self.server = Bytes()
        self.runner.get_loop().set_exception_handler(lambda _, context: self.uncaught.append(context))
        self.listening = self.runner.run(asyncio.start_server(self.server.serve, "127.0.0.1", 0))
        self.port = self.listening.sockets[0].getsockname()[1]
        self.registry = Registry(insecure=["127.0.0.1"], seconds=SECONDS)
        self.target = Target(f"127.0.0.1:{self.port}", "org/os")

    def ask(self, script: Sequence[bytes], login: Login | None, *, push: bool) -> Any:
        self.server.script = [says.replace(b"{port}", str(self.port).encode()) for says in script]
        if push:
            asked: Any = self.registry.may_push(self.target, login, origin="Secret mco/push")
        else:
            asked = self.registry.manifest(self.target, "v1", login, origin="Secret mco/push")
        return self.runner.run(asked)

    def check(self, script: Sequence[bytes], login: Login | None, *, push: bool) -> None:
        """Ask, and see that the answer is one that people may be shown."""
        said = self.ask(script, login, push=push)
        assert isinstance(said, Answer if push else (Found, Gone, Denied, NotAsked))
        text = said.digest if isinstance(said, Found) else said.text
        assert text.isprintable()
        assert len(text) < LONGEST
        assert "s3cret" not in text
        assert self.uncaught == []

    def close(self) -> None:
        async def end() -> None:
            self.listening.close()
            await self.registry.__aexit__(None, None, None)

        self.runner.run(end())
        self.runner.close()


@pytest.fixture(scope="module")
def side() -> Iterator[Side]:
    side = Side()
    yield side
    side.close()


# No host but this one: nobody else is asked by a test.
URLS = st.sampled_from(
    [
        *(
            "",
            "/",
            "//",
            "///",
            "?",
            "#",
            ".",
            "..",
            ":",
            "/v2/",
            "http:",
            "http://",
            "https://",
            "http:///x",
            "//[",
            "%",
        ),
        *(
            "http://[",
            "http://[::1",
            "http://[::1]:1/",
            "http://127.0.0.1",
            "http://127.0.0.1:{port}/token",
            "//@",
            "a b",
        ),
        *("http://127.0.0.1:99999/", "http://127.0.0.1:-1/", "http://127.0.0.1:x/", "http://127.0.0.1:/", "http://:1/"),
        *(
            "http://u:p@127.0.0.1:{port}/",
            "https://127.0.0.1:{port}/",
            "http://127.0.0.1:{port}/%zz",
            "mailto:a",
            "a:b",
        ),
        *(
            "file:///etc/passwd",
            "javascript:1",
            "http://127.0.0.1:{port}/?a=%00&a=b#c",
            "http://127.0.0.1:{port}?",
            "\\x",
        ),
    ]
)
TEXTS = st.text(st.characters(max_codepoint=255, exclude_characters="\r\n"), max_size=40)
NUMBERS = st.sampled_from(["", "0", "5", "-1", "+3", "1e3", "0x10", "9" * 30, "9" * 5000, "5, 5", "5, 6", "nan", "inf"])
DATES = st.sampled_from(["Fri, 31 Dec 9999 23:59:59 GMT", "Fri, 31 Dec 1 00:00:00 -2359", "0 0 0 0 0", "soon"])
CHALLENGES = st.one_of(
    st.builds('Bearer realm="{}",service="{}",scope="{}"'.format, URLS, TEXTS, TEXTS),
    st.builds("{} realm={}".format, st.sampled_from(["Bearer", "bearer", "Basic", "Digest", ""]), URLS),
    st.builds('Basic realm="{}", Bearer realm="{}"'.format, TEXTS, URLS),
)
HEADERS = st.one_of(
    st.tuples(st.just("WWW-Authenticate"), CHALLENGES | TEXTS),
    st.tuples(st.sampled_from(["Location", "Link"]), URLS | TEXTS),
    st.tuples(st.just("Retry-After"), NUMBERS | DATES | TEXTS),
    st.tuples(st.just("Docker-Content-Digest"), st.just(f"sha256:{'ab' * 32}") | TEXTS),
    st.tuples(st.just("Content-Type"), st.sampled_from(["application/json", "text/html", "a"]) | TEXTS),
)
FRAMES = st.one_of(
    st.tuples(st.just("Content-Length"), NUMBERS),
    st.tuples(
        st.sampled_from(["Content-Encoding", "Transfer-Encoding", "Connection", "Upgrade"]),
        st.sampled_from(["gzip", "deflate", "br", "zstd", "chunked", "identity", "close", "h2c"]) | TEXTS,
    ),
    st.tuples(TEXTS, TEXTS),
)
STATUSES = st.sampled_from(
    [200, 201, 202, 204, 301, 302, 303, 304, 307, 308, 400, 401, 403, 404, 405, 407, 416, 429, 500, 502, 503, 599, 999]
)
LINES = st.one_of(
    st.builds(
        "{} {} {}".format,
        st.sampled_from(["HTTP/1.1", "HTTP/1.0", "HTTP/2", "HTTP/9.9", "ICY"]),
        STATUSES | st.sampled_from([100, 101, 103, 0, 99, 600, 1000, -1, "", "2e2"]),
        TEXTS,
    ),
    TEXTS,
)
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS | st.just("a\ud800"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["errors", "code", "message", "token", "access_token", "schemaVersion"]), inner
        )
    ),
    max_leaves=8,
)
BODIES = st.one_of(
    st.binary(max_size=60),
    DOCUMENTS.map(lambda document: json.dumps(document).encode()),
    st.sampled_from(
        [b"[" * 60_000, b"9" * 5000, b"<" * 200_000, b"\x1f\x8b", b"5\r\nhello\r\n0\r\n\r\n", b"fffffffff\r\n"]
    ),
    st.builds(
        lambda code, message: json.dumps({"errors": [{"code": code, "message": message}]}).encode(),
        st.sampled_from(["DENIED", "UNAUTHORIZED", "NAME_UNKNOWN", "TOOMANYREQUESTS", "UNSUPPORTED", "UNKNOWN"])
        | TEXTS,
        TEXTS,
    ),
    st.builds(lambda token: json.dumps({"token": token}).encode(), TEXTS),
)


def answer(line: str, headers: Sequence[tuple[str, str]], body: bytes) -> bytes:
    head = "\r\n".join([line, *(f"{name}: {value}" for name, value in headers)])
    return f"{head}\r\n\r\n".encode("latin-1") + body


def well_formed(status: int, headers: Sequence[tuple[str, str]], body: bytes) -> bytes:
    framed = [*headers, ("Content-Length", str(len(body))), ("Connection", "close")]
    return answer(f"HTTP/1.1 {status} x", framed, body)


BASIC = well_formed(401, [("WWW-Authenticate", 'Basic realm="x"')], b"")
BEARER = well_formed(401, [("WWW-Authenticate", 'Bearer realm="http://127.0.0.1:{port}/token"')], b"")
TOKEN = well_formed(200, [], b'{"token": "t"}')
BEGINNINGS = st.sampled_from([[], [BASIC], [BEARER], [BEARER, TOKEN]])
"""What a question has been told before: each answer is then read at its place."""
MEANINGS = st.lists(st.builds(well_formed, STATUSES, st.lists(HEADERS, max_size=5), BODIES), min_size=1, max_size=3)
WIRES = st.lists(
    st.builds(answer, LINES, st.lists(HEADERS | FRAMES, max_size=5), BODIES) | st.binary(max_size=200),
    min_size=1,
    max_size=3,
)


@example(begun=[BASIC], hostile=[well_formed(307, [("Location", "mailto:a")], b"")], login=LOGINS[1], push=True)
@example(begun=[], hostile=[well_formed(301, [("Location", "http://127.0.0.1:99999/")], b"")], login=None, push=False)
@examples(300)
@given(begun=BEGINNINGS, hostile=MEANINGS, login=st.sampled_from(LOGINS), push=st.booleans())
def test_any_answer_in_http_is_classified(
    side: Side, begun: list[bytes], hostile: list[bytes], login: Login | None, push: bool
) -> None:
    side.check([*begun, *hostile], login, push=push)


@examples(100)
@given(begun=BEGINNINGS, hostile=WIRES, login=st.sampled_from(LOGINS), push=st.booleans())
def test_bytes_that_are_no_http_are_classified_too(
    side: Side, begun: list[bytes], hostile: list[bytes], login: Login | None, push: bool
) -> None:
    side.check([*begun, *hostile], login, push=push)


@pytest.mark.parametrize(
    ("sent", "says"),
    [
        (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", "its answer is not HTTP: "),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "its answer is not HTTP: "),
        (b"", "the connection was cut"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", "the connection was cut"),
        (b"HTTP/1.1 307 x\r\nLocation: mailto:a\r\n\r\n", "the Location of its answer is no URL: mailto:a"),
    ],
)
def test_people_read_what_is_wrong_with_it(side: Side, sent: bytes, says: str) -> None:
    assert says in side.ask([sent], None, push=True).text


@pytest.mark.parametrize("token", ["a\\nInjected: b", "\\u0000", "\\u00e9", "\\ud800"])
def test_a_token_that_cannot_be_sent_is_none(side: Side, token: str) -> None:
    granted = well_formed(200, [], b'{"token": "%s"}' % token.encode())
    said = side.ask([BEARER, granted], None, push=True).text
    assert "its token service 127.0.0.1 answers 200 without a token that can be sent" in said
