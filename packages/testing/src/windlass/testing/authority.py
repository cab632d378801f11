"""Makes the certificate authorities of servers with TLS that tests start."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import trustme


def new_authority() -> "trustme.CA":
    """An authority of its own for each call. Raises ModuleNotFoundError where the extra `pytest` is not installed."""
    try:
        import trustme
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "servers with TLS need trustme, which comes with the extra 'pytest' of windlass-testing. "
            "In a checkout of Windlass, run `pip install ./packages/kube './packages/testing[pytest]'`",
            name="trustme",
        ) from None
    return trustme.CA()
