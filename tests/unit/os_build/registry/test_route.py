"""Which proxy a request to a registry takes: as Go programs, and so buildah, choose it."""

import pytest
from yarl import URL

from windlass.api.machineconfiguration import Proxy
from windlass.os_build.registry.route import bypasses, proxy_of

CASES = [
    ("", "r.example.com", 443, False),
    ("*", "r.example.com", 443, True),
    ("example.com", "example.com", 443, True),
    ("example.com", "r.example.com", 443, True),
    ("example.com", "rexample.com", 443, False),
    (".example.com", "r.example.com", 443, True),
    (".example.com", "example.com", 443, False),
    ("*.example.com", "r.example.com", 443, True),
    ("*.example.com", "example.com", 443, False),
    ("R.Example.Com", "r.example.com", 443, True),
    (" a.com , r.example.com ", "r.example.com", 443, True),
    ("r.example.com:5000", "r.example.com", 5000, True),
    ("r.example.com:5000", "r.example.com", 443, False),
    (".svc,.cluster.local", "image-registry.openshift-image-registry.svc", 5000, True),
    (".svc", "image-registry.openshift-image-registry.svc.example.com", 5000, False),
    ("10.0.0.0/8", "10.1.2.3", 443, True),
    ("10.0.0.0/8", "11.1.2.3", 443, False),
    ("10.0.0.1/8", "10.1.2.3", 443, True),
    ("10.0.0.1", "10.0.0.1", 443, True),
    ("10.0.0.1:5000", "10.0.0.1", 5000, True),
    ("10.0.0.1:5000", "10.0.0.1", 443, False),
    ("10.0.0.0/8", "ten.example.com", 443, False),
    ("0.0.1", "10.0.0.1", 443, False),
    ("fd00::/8", "fd01::1", 443, True),
    ("fd01::1", "fd01::1", 443, True),
    ("not/a/network", "r.example.com", 443, False),
    ("", "localhost", 443, True),
    ("", "127.0.0.1", 443, True),
    ("", "::1", 443, True),
    (",,", "r.example.com", 443, False),
]


@pytest.mark.parametrize(("no_proxy", "host", "port", "expected"), CASES)
def test_a_host_is_asked_without_a_proxy(no_proxy: str, host: str, port: int, expected: bool) -> None:
    assert bypasses(no_proxy, host, port) is expected


@pytest.mark.parametrize(
    ("url", "proxy", "expected"),
    [
        ("https://r.example.com/v2/", Proxy(https_proxy="http://p:3128"), "http://p:3128"),
        ("https://r.example.com/v2/", Proxy(https_proxy="p:3128"), "http://p:3128"),
        ("https://r.example.com/v2/", Proxy(http_proxy="http://p:3128"), None),
        ("http://r.example.com/v2/", Proxy(http_proxy="http://p", https_proxy="http://p"), None),
        ("https://r.example.com:5000/v2/", Proxy(https_proxy="http://p", no_proxy="r.example.com:5000"), None),
        ("https://r.example.com/v2/", Proxy(https_proxy="http://p", no_proxy="r.example.com:443"), None),
    ],
)
def test_a_proxy_is_for_requests_over_tls(url: str, proxy: Proxy, expected: str | None) -> None:
    assert proxy_of(URL(url), proxy) == expected
