"""Reads certificates in PEM form that others wrote: between the blocks there may be comments in any language."""

import ssl


class NoCertificate(ValueError):
    """The text says what the TLS library misses."""


def certificates(pem: bytes | str) -> str:
    """The certificates of `pem`, as the ssl module takes them. Raises NoCertificate unless it can use them all."""
    # The ssl module wants ASCII, which blocks are. An error for comments would refuse the bundles of distributions.
    text = pem.decode("ascii", "ignore") if isinstance(pem, bytes) else pem.encode("ascii", "ignore").decode()
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=text)
    except (ssl.SSLError, ValueError) as error:
        raise NoCertificate(str(error)) from None
    return text


def is_blank(pem: str) -> bool:
    """Whether there is nothing but blank lines and lines of comment."""
    return all(not line.strip() or line.lstrip().startswith("#") for line in pem.splitlines())
