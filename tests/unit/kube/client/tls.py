"""Servers with the keys of tests/data/kube/tls."""

import ssl
from pathlib import Path

PEM = Path(__file__).parents[3] / "data" / "kube" / "tls"
AUTHORITY = (PEM / "ca.crt").read_bytes()


def tls_server(name: str) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=PEM / "ca.crt")
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.load_cert_chain(PEM / f"{name}.crt", PEM / f"{name}.key")
    context.verify_mode = ssl.CERT_OPTIONAL
    return context
