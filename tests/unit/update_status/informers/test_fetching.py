"""One question over HTTPS to real TLS servers. The number in a name is that of the control in the specification."""

import asyncio
import gzip
import socket
import ssl
import time
from pathlib import Path

import pytest
import trustme
from aiohttp import web

from windlass.update_status.informers.fetching import LARGEST, NoAnswer

from .servers import ASKED, HOST, Served, ask, fetcher, good, insight, response, serving


async def refusal(served: Served, **fields: object) -> str:
    with pytest.raises(NoAnswer) as refused:
        await ask(served, **fields)
    assert "secret-token" not in str(refused.value)
    return str(refused.value)


async def test_a_good_informer_is_asked_by_post_with_the_token() -> None:
    async with serving(good) as served:
        assert (await ask(served))["insights"] == [insight()]
        (request,) = served.requests
    assert (request.method, request.path, request.host) == ("POST", "/insights", f"{HOST}:{served.port}")
    assert request.headers["Authorization"] == "Bearer secret-token"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_control_2_redirects_are_not_followed(status: int) -> None:
    async def redirect(request: web.Request) -> web.Response:
        return web.Response(status=status, headers={"Location": f"https://{request.host}/elsewhere"})

    async with serving(redirect) as served:
        assert await refusal(served) == f"it answered {status}: redirects are not followed"
        assert len(served.requests) == 1


async def test_control_2_a_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with serving(good) as served:
        await ask(served)


async def test_control_4_another_authority_is_refused() -> None:
    async with serving(good) as served:
        other = trustme.CA().cert_pem.bytes().decode()
        assert "certificate is refused" in await refusal(served, authority=other)
        assert served.requests == []


async def test_control_4_a_certificate_for_another_service_is_refused() -> None:
    async with serving(good, "other.storage.svc", "localhost", "127.0.0.1") as served:
        assert "certificate is refused" in await refusal(served)
        assert served.requests == []


async def test_control_4_authorities_of_the_system_do_not_count(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    system = trustme.CA()
    (tmp_path / "system.pem").write_bytes(system.cert_pem.bytes())
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "system.pem"))
    async with serving(good, authority=system) as served:
        assert "certificate is refused" in await refusal(served, authority=trustme.CA().cert_pem.bytes().decode())


async def test_control_14_the_service_ca_is_read_again_when_it_rotates(tmp_path: Path) -> None:
    file = tmp_path / "service-ca.crt"
    asks = fetcher(service_ca=file)
    async with serving(good) as served:
        with pytest.raises(NoAnswer, match="there is no service CA"):
            await asks(served.endpoint(authority=""), ASKED, token="t")
        file.write_bytes(trustme.CA().cert_pem.bytes())
        with pytest.raises(NoAnswer, match="certificate is refused"):
            await asks(served.endpoint(authority=""), ASKED, token="t")
        file.write_text(f"# Főtanúsítvány\n{served.authority}", encoding="utf-8")
        await asks(served.endpoint(authority=""), ASKED, token="t")
        file.write_text("# none")
        with pytest.raises(NoAnswer, match="there is no service CA"):
            await asks(served.endpoint(authority=""), ASKED, token="t")


async def test_control_6_a_slow_answer_ends_at_the_deadline() -> None:
    async def drip(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        while True:
            await answer.write(b" ")
            await asyncio.sleep(0.02)

    async with serving(drip) as served:
        began = time.monotonic()
        assert await refusal(served, timeout=0.3) == "no answer within 0.3 s"
        assert time.monotonic() - began < 2


async def test_control_6_who_does_not_even_greet_is_left_at_the_deadline() -> None:
    """It accepts the connection, and no TLS begins."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        began = time.monotonic()
        served = Served(port, trustme.CA().cert_pem.bytes().decode())
        assert await refusal(served, timeout=0.3) == "no answer within 0.3 s"
        assert time.monotonic() - began < 2


@pytest.mark.parametrize("answer", [b"\x00" * 100, b"SSH-2.0-OpenSSH_9.6\r\n"], ids=["zeros", "SSH"])
async def test_control_6_who_speaks_something_else_than_tls_is_left(answer: bytes) -> None:
    async def speak(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(speak, "127.0.0.1", 0) as other:
        served = Served(other.sockets[0].getsockname()[1], trustme.CA().cert_pem.bytes().decode())
        assert "SSL" in await refusal(served)


async def test_control_6_a_huge_answer_is_not_read_to_its_end() -> None:
    async def flood(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        for _ in range(256):
            await answer.write(b"x" * 2**16)
        return answer

    async with serving(flood) as served:
        assert await refusal(served) == f"its answer is larger than {LARGEST} bytes"


async def test_control_6_an_answer_that_says_it_is_huge_is_not_read() -> None:
    async def said(_: web.Request) -> web.Response:
        return web.Response(body=b" " * (LARGEST + 1))

    async with serving(said) as served:
        assert "larger" in await refusal(served)


async def test_control_6_a_gzip_bomb_is_not_unpacked() -> None:
    async def bomb(_: web.Request) -> web.Response:
        return web.Response(body=gzip.compress(b" " * 2**24), headers={"Content-Encoding": "gzip"})

    async with serving(bomb) as served:
        assert await refusal(served) == "its answer is compressed, which was not asked for"
        assert served.requests[0].headers["Accept-Encoding"] == "identity"


async def test_control_6_long_headers_are_refused() -> None:
    async def headers(_: web.Request) -> web.Response:
        return web.json_response(response(), headers={"X-Long": "x" * 8000})

    async with serving(headers) as served:
        assert await refusal(served) == "its answer is not HTTP"


@pytest.mark.parametrize(("status", "why"), [(401, "does not accept"), (403, "does not accept"), (500, "500")])
async def test_what_it_answers_in_place_of_insights_is_said_without_its_words(status: int, why: str) -> None:
    async def no(_: web.Request) -> web.Response:
        return web.Response(status=status, reason="evil", text="<script>")

    async with serving(no) as served:
        said = await refusal(served)
    assert why in said
    assert "evil" not in said


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1])
async def test_control_14_old_tls_is_refused(version: ssl.TLSVersion) -> None:
    async with serving(good, newest=version) as served:
        await refusal(served)
        assert served.requests == []


async def test_control_14_the_oldest_tls_that_is_spoken_is_1_2() -> None:
    async with serving(good, newest=ssl.TLSVersion.TLSv1_2) as served:
        await ask(served)
