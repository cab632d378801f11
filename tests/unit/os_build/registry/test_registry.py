"""Questions to registries that answer oddly."""

import base64
import hashlib
import json
import time
from typing import Any

import pytest
from multidict import CIMultiDict

from tests.unit.os_build.registry.scripted_registry import Says, ScriptedRegistry
from windlass.api.machineconfiguration import Proxy
from windlass.os_build.credentials import Login
from windlass.os_build.environment import Egress
from windlass.os_build.pullspec import Target
from windlass.os_build.registry import Answer, Denied, Found, Gone, Kind, NotAsked, Registry

ROBOT = Login("robot", "s3cret")
BASIC = f"Basic {base64.b64encode(b'robot:s3cret').decode()}"
UPLOAD = "/v2/org/os/blobs/uploads/"
BEGUN = Says(202, {"Location": f"{UPLOAD}7?_state=a%2Fb"})
ENDED = Says(204)
WANTS_BASIC = Says(401, {"WWW-Authenticate": 'Basic realm="x"'})
WANTS_TOKEN = Says(
    401, {"WWW-Authenticate": 'Bearer realm="{url}/token?a=b",service="reg",scope="repository:org/os:push"'}
)
TOKEN = Says(200, body='{"token": "t0ken"}')
DIGEST = f"sha256:{'ab' * 32}"
OCI = "application/vnd.oci.image.manifest.v1+json"
MANIFEST = json.dumps({"schemaVersion": 2, "mediaType": OCI})


async def probe(server: ScriptedRegistry, login: Login | None = ROBOT, *, seconds: float = 10.0) -> Answer:
    async with Registry(insecure=["127.0.0.1"], seconds=seconds) as registry:
        return await registry.may_push(server.target, login, origin="Secret mco/push")


async def look(server: ScriptedRegistry, login: Login | None = ROBOT) -> Found | Gone | Denied | NotAsked:
    async with Registry(insecure=["127.0.0.1"]) as registry:
        return await registry.manifest(server.target, "v1", login, origin="Secret mco/push")


async def test_a_probe_begins_an_upload_and_cancels_it() -> None:
    async with ScriptedRegistry(BEGUN, ENDED) as server:
        assert (await probe(server)).kind is Kind.GRANTED
    assert server.asked == [f"POST {UPLOAD}", f"DELETE {UPLOAD}7?_state=a%2Fb"]
    assert {headers["User-Agent"] for headers in server.headers} == {"windlass"}
    assert not any("Authorization" in headers for headers in server.headers)


async def test_a_password_is_sent_only_after_a_challenge() -> None:
    async with ScriptedRegistry(WANTS_BASIC, BEGUN, ENDED) as server:
        assert (await probe(server)).kind is Kind.GRANTED
    assert [headers.get("Authorization") for headers in server.headers] == [None, BASIC, BASIC]


@pytest.mark.parametrize("field", ["token", "access_token"])
async def test_a_token_is_asked_for_once_and_used_for_the_whole_question(field: str) -> None:
    token = Says(200, body=json.dumps({field: "t0ken"}))
    async with ScriptedRegistry(WANTS_TOKEN, token, BEGUN, ENDED) as server:
        assert (await probe(server)).kind is Kind.GRANTED
    asked = "GET /token?a=b&scope=repository:org/os:push&client_id=windlass&service=reg"
    assert server.asked == [f"POST {UPLOAD}", asked, f"POST {UPLOAD}", f"DELETE {UPLOAD}7?_state=a%2Fb"]
    sent = [headers.get("Authorization") for headers in server.headers]
    assert sent == [None, BASIC, "Bearer t0ken", "Bearer t0ken"]


async def test_an_identity_token_is_exchanged() -> None:
    async with ScriptedRegistry(WANTS_TOKEN, TOKEN, BEGUN, ENDED) as server:
        assert (await probe(server, Login("<token>", "", "1dent"))).kind is Kind.GRANTED
    assert server.asked[1] == "POST /token?a=b"
    assert "grant_type=refresh_token&refresh_token=1dent" in server.bodies[1]


@pytest.mark.parametrize(
    ("header", "scheme"),
    [
        ('Basic realm="a, b", Bearer realm="{url}/token"', "Bearer"),
        ('Bearer realm="{url}/token",service="a\\"b", Basic realm="x"', "Bearer"),
        ("bearer realm={url}/token", "Bearer"),
        ('Negotiate, Basic realm="x"', "Basic"),
        ("BASIC realm=x", "Basic"),
    ],
)
async def test_a_challenge_is_found_however_it_is_written(header: str, scheme: str) -> None:
    wants = Says(401, {"WWW-Authenticate": header})
    script = [wants, TOKEN, BEGUN, ENDED] if scheme == "Bearer" else [wants, BEGUN, ENDED]
    async with ScriptedRegistry(*script) as server:
        assert (await probe(server)).kind is Kind.GRANTED
    assert server.headers[-1]["Authorization"].startswith(scheme)


@pytest.mark.parametrize(
    "header",
    ["a" * 8000, "a " * 4000, "Bearer " + "a=b " * 1900, 'a b="' + '\\"' * 3900],
    ids=["one word", "many words", "many parameters", "no end of a quote"],
)
async def test_challenges_of_any_length_are_read_at_once(header: str) -> None:
    wants = Says(401, CIMultiDict([("WWW-Authenticate", header)] * 60))
    began = time.process_time()
    async with ScriptedRegistry(wants) as server:
        assert (await probe(server)).kind is not Kind.GRANTED
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    ("script", "kind", "requests"),
    [
        pytest.param([WANTS_BASIC, WANTS_BASIC], Kind.DENIED, 2, id="wrong password"),
        pytest.param([WANTS_TOKEN, TOKEN, WANTS_TOKEN], Kind.DENIED, 3, id="token without the scope"),
        pytest.param([WANTS_TOKEN, Says(401)], Kind.DENIED, 2, id="token service refuses"),
        pytest.param([WANTS_TOKEN, Says(404)], Kind.NOT_ASKED, 2, id="no token service"),
        pytest.param([WANTS_TOKEN, Says(503)], Kind.NOT_ASKED, 2, id="token service fails"),
        pytest.param([WANTS_TOKEN, Says(200, body="<html>")], Kind.NOT_ASKED, 2, id="token service without JSON"),
        pytest.param([WANTS_TOKEN, Says(200, body='{"token": "a\\nb"}')], Kind.NOT_ASKED, 2, id="no token"),
        pytest.param([WANTS_TOKEN, Says(0)], Kind.NOT_ASKED, 2, id="token service cuts"),
        pytest.param(
            [Says(401, {"WWW-Authenticate": 'Bearer realm="/token"'})], Kind.NOT_ASKED, 1, id="realm without a host"
        ),
        pytest.param([Says(401, {"WWW-Authenticate": "Bearer"})], Kind.DENIED, 1, id="challenge without realm"),
        pytest.param([Says(401)], Kind.DENIED, 1, id="no challenge"),
        pytest.param([Says(403, body="[" * 60_000)], Kind.DENIED, 1, id="a deep answer"),
        pytest.param([Says(0)], Kind.NOT_ASKED, 1, id="cut"),
        pytest.param([Says(202, chunked=True), ENDED], Kind.GRANTED, 1, id="no Location"),
        pytest.param([Says(202, {"Location": "http://["}), ENDED], Kind.GRANTED, 1, id="malformed Location"),
        pytest.param([BEGUN, Says(500)], Kind.GRANTED, 2, id="cannot be cancelled"),
        pytest.param([BEGUN, Says(0)], Kind.GRANTED, 2, id="cut at the cancel, which is not repeated"),
        pytest.param(
            [Says(404, body='{"errors":[{"code":"NAME_UNKNOWN"}]}', chunked=True)], Kind.UNKNOWN, 1, id="chunked"
        ),
        pytest.param([Says(403, endless=True)], Kind.DENIED, 1, id="body without end"),
        pytest.param([Says(403, body=b"\x80" * 100)], Kind.DENIED, 1, id="binary"),
        pytest.param([Says(200, body="<html>Log in</html>")], Kind.NOT_ASKED, 1, id="a page for people"),
    ],
)
async def test_odd_answers_end_in_what_is_known(script: list[Says], kind: Kind, requests: int) -> None:
    async with ScriptedRegistry(*script) as server:
        answer = await probe(server)
    assert answer.kind is kind
    assert len(server.asked) == requests
    assert "s3cret" not in answer.text


@pytest.mark.parametrize("status", [307, 308])
async def test_redirects_are_followed_with_their_method(status: int) -> None:
    async with ScriptedRegistry(Says(status, {"Location": "/elsewhere"}), BEGUN, ENDED) as server:
        assert (await probe(server)).kind is Kind.GRANTED
    assert server.asked[1] == "POST /elsewhere"


@pytest.mark.parametrize(
    ("redirect", "says"),
    [
        pytest.param(Says(302, {"Location": "/login"}), "it redirects a POST to /login", id="to a page"),
        pytest.param(Says(307, {"Location": UPLOAD}), "it redirects more than 5 times", id="for ever"),
        pytest.param(Says(307), "the Location of its answer is no URL: it is missing", id="nowhere"),
        pytest.param(Says(307, {"Location": "http://10.0.0.1/"}), "is not asked without TLS", id="to plain HTTP"),
    ],
)
async def test_other_redirects_are_no_answer(redirect: Says, says: str) -> None:
    async with ScriptedRegistry(redirect) as server:
        answer = await probe(server)
    assert answer.kind is Kind.NOT_ASKED
    assert says in answer.text


async def test_credentials_do_not_follow_a_redirect_to_another_host() -> None:
    async with ScriptedRegistry(Says(200, {"Docker-Content-Digest": DIGEST})) as store:
        to_store = Says(307, {"Location": f"{store.url}/signed"})
        async with ScriptedRegistry(WANTS_BASIC, to_store) as server:
            assert isinstance(await look(server), Found)
    assert server.headers[-1]["Authorization"] == BASIC
    assert "Authorization" not in store.headers[0]


async def test_a_host_that_the_registry_redirects_to_cannot_ask_for_credentials() -> None:
    async with (
        ScriptedRegistry(WANTS_TOKEN, TOKEN) as elsewhere,
        ScriptedRegistry(Says(307, {"Location": elsewhere.url})) as server,
    ):
        assert (await probe(server)).kind is Kind.DENIED
    assert elsewhere.asked == ["POST /"]


async def test_cookies_are_not_kept_for_the_question_of_another() -> None:
    remembering = Says(403, {"Set-Cookie": "session=robot; Path=/"})
    async with ScriptedRegistry(remembering) as server, Registry(insecure=["127.0.0.1"]) as registry:
        for login in (ROBOT, None):
            await registry.may_push(server.target, login, origin="Secret mco/push")
    assert [headers.get("Cookie") for headers in server.headers] == [None, None]


async def test_a_question_has_one_deadline() -> None:
    async with ScriptedRegistry(WANTS_BASIC, Says(-1)) as server:
        answer = await probe(server, seconds=0.2)
    assert answer.kind is Kind.NOT_ASKED
    assert answer.text.endswith("no answer within 0.2 s")


@pytest.mark.parametrize(
    ("options", "asked"),
    [
        pytest.param({}, False, id="not by itself"),
        pytest.param({"insecure": ["127.0.0.1"]}, True, id="the host, if it is said to be insecure"),
        pytest.param({"insecure": ["127.0.0.1:1"]}, False, id="another port"),
    ],
)
async def test_plain_http_is_asked_only_where_it_is_allowed(options: dict[str, Any], asked: bool) -> None:
    async with ScriptedRegistry(BEGUN, ENDED) as server, Registry(**options) as registry:
        answer = await registry.may_push(server.target, None, origin="Secret mco/push")
    assert (answer.kind is Kind.GRANTED) == asked == bool(server.asked)


async def test_a_registry_that_nobody_is_at_could_not_be_asked() -> None:
    async with ScriptedRegistry(BEGUN) as server:
        pass
    answer = await probe(server)
    assert answer.kind is Kind.NOT_ASKED
    assert "cannot connect" in answer.text


async def test_what_a_proxy_refuses_is_no_answer_of_the_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    async with ScriptedRegistry(Says(403)) as proxy, Registry() as registry:
        monkeypatch.setenv("https_proxy", proxy.url)
        answer = await registry.may_push(Target("registry.invalid", "org/os"), ROBOT, origin="Secret mco/push")
    assert answer.kind is Kind.NOT_ASKED
    assert "the proxy refuses the connection" in answer.text


async def test_plain_http_goes_past_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    async with ScriptedRegistry(Says(403)) as proxy, ScriptedRegistry(BEGUN, ENDED) as server:
        monkeypatch.setenv("https_proxy", proxy.url)
        monkeypatch.setenv("http_proxy", proxy.url)
        assert (await probe(server)).kind is Kind.GRANTED


@pytest.mark.parametrize(
    ("proxy", "reached"),
    [
        pytest.param("{proxy}", True, id="a proxy"),
        pytest.param("", False, id="none: this process has one that does not answer"),
    ],
)
async def test_the_proxy_of_a_question_comes_before_that_of_the_process(
    monkeypatch: pytest.MonkeyPatch, proxy: str, reached: bool
) -> None:
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    async with ScriptedRegistry(Says(403)) as server, Registry() as registry:
        egress = Egress(proxy=Proxy(https_proxy=proxy.format(proxy=server.url)))
        answer = await registry.may_push(Target("registry.invalid", "org/os"), ROBOT, origin="Secret s", egress=egress)
    assert answer.kind is Kind.NOT_ASKED
    assert ("the proxy refuses the connection" in answer.text) is reached


async def test_certificates_that_cannot_be_read_are_told_and_no_request_is_sent() -> None:
    broken = Egress(trust_bundle="-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    async with Registry() as registry:
        answer = await registry.may_push(Target("registry.invalid", "os"), None, origin="nobody", egress=broken)
    assert answer.kind is Kind.NOT_ASKED
    assert "the certificates that are to be trusted cannot be read" in answer.text


@pytest.mark.parametrize(
    ("script", "expected", "asked"),
    [
        pytest.param(
            [Says(200, {"Docker-Content-Digest": DIGEST, "Content-Type": f"{OCI}; charset=utf-8"})],
            Found(DIGEST),
            ["HEAD"],
            id="HEAD tells",
        ),
        pytest.param(
            [Says(200), Says(200, {"Content-Type": OCI}, MANIFEST)],
            Found(f"sha256:{hashlib.sha256(MANIFEST.encode()).hexdigest()}"),
            ["HEAD", "GET"],
            id="HEAD without digest",
        ),
        pytest.param(
            [Says(405), Says(200, {"Docker-Content-Digest": DIGEST, "Content-Type": OCI}, MANIFEST)],
            Found(DIGEST),
            ["HEAD", "GET"],
            id="no HEAD",
        ),
        pytest.param([Says(404)], Gone, ["HEAD"], id="not there"),
        pytest.param([Says(404, {"Docker-Content-Digest": DIGEST})], Gone, ["HEAD"], id="not there, with a digest"),
        pytest.param(
            [
                Says(200, {"Docker-Content-Digest": "latest"}),
                Says(200, {"Docker-Content-Digest": "sha256:1"}, MANIFEST),
            ],
            Found(f"sha256:{hashlib.sha256(MANIFEST.encode()).hexdigest()}"),
            ["HEAD", "GET"],
            id="a digest that is none",
        ),
        pytest.param(
            [Says(500), Says(500, body='{"errors":[{"code":"INTERNAL","message":"tag expired"}]}')],
            Gone,
            ["HEAD", "GET"],
            id="2.10 Quay, expired",
        ),
        pytest.param([Says(500)], NotAsked, ["HEAD", "GET"], id="500"),
        pytest.param([Says(503)], NotAsked, ["HEAD"], id="503"),
        pytest.param([Says(429)], NotAsked, ["HEAD"], id="429"),
        pytest.param([Says(200), Says(200, body="<html>")], NotAsked, ["HEAD", "GET"], id="a page for people"),
        pytest.param([Says(200), Says(200, body=MANIFEST + " " * 5_000_000)], NotAsked, ["HEAD", "GET"], id="too long"),
        pytest.param([WANTS_BASIC, WANTS_BASIC], Denied, ["HEAD", "HEAD"], id="wrong password"),
        pytest.param([Says(0)], NotAsked, ["HEAD"], id="cut, and not repeated"),
    ],
)
async def test_a_manifest_is_found_gone_denied_or_not_asked_for(
    script: list[Says], expected: Found | type, asked: list[str]
) -> None:
    async with ScriptedRegistry(*script) as server:
        found = await look(server)
    assert found == expected or (isinstance(expected, type) and isinstance(found, expected))
    assert [line.split()[0] for line in server.asked] == asked
    assert {line.split()[1] for line in server.asked} == {"/v2/org/os/manifests/v1"}
    assert OCI in server.headers[0]["Accept"]
