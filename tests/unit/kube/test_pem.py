"""PEM that others wrote: comments in any language, and what holds no certificate."""

import pytest

from tests.unit.kube.client.tls import AUTHORITY
from windlass.kube.config.cluster import Tls
from windlass.kube.errors import ConfigError
from windlass.kube.pem import NoCertificate, certificates, is_blank

# The line of the bundle that RHEL installs, and one that is no UTF-8.
NETLOCK = "# NetLock Arany (Class Gold) Főtanúsítvány\n".encode()
LATIN = "# für Zürich\n".encode("latin-1")


@pytest.mark.parametrize(
    "comment", [NETLOCK, LATIN, b"\xef\xbb\xbf", b"\n\n"], ids=["UTF-8", "Latin-1", "BOM", "blank"]
)
def test_comments_may_be_in_any_language(comment: bytes) -> None:
    assert certificates(comment + AUTHORITY) == certificates((comment + AUTHORITY).decode("utf-8", "replace"))
    assert (
        Tls(authority=comment + AUTHORITY).context().get_ca_certs() == Tls(authority=AUTHORITY).context().get_ca_certs()
    )


@pytest.mark.parametrize("text", [b"nonsense", "ä".encode(), b"\n", NETLOCK, AUTHORITY[:200]])
def test_what_holds_no_certificate_is_refused_so_that_nobody_elses_is_trusted(text: bytes) -> None:
    with pytest.raises(NoCertificate):
        certificates(text)
    with pytest.raises(ConfigError, match="the CA bundle holds no usable PEM certificate"):
        Tls(authority=text).context()


@pytest.mark.parametrize(
    ("text", "blank"),
    [("", True), (" \n\t\n", True), ("# a\n\n  # b\r\n", True), ("ä", False), ("# a\nb", False), ("x # a", False)],
)
def test_blank_lines_and_comments_are_nothing(text: str, blank: bool) -> None:
    assert is_blank(text) is blank
