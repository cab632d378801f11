"""What looks like certificates, as tests of environments need them."""

import base64


def pem(name: str) -> str:
    """One in PEM; `name` tells it from others."""
    body = base64.b64encode(name.encode() * 9).decode()
    return f"-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n"


def encoded(text: str) -> str:
    """The text as a ControllerConfig has it."""
    return base64.b64encode(text.encode()).decode()
