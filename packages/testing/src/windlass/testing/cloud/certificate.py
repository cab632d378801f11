"""The certificate of a cloud with TLS, and its authority."""

from windlass.testing.cloud.errors import CloudError
from windlass.testing.cloud.layout import HOST, Layout


def write(layout: Layout) -> None:
    """Write the files that a layout with TLS names. Raises CloudError without `trustme`."""
    assert layout.ca_file is not None
    assert layout.certificate is not None
    try:
        import trustme
    except ImportError:
        raise CloudError("a cloud with TLS needs the package trustme: pip install trustme") from None
    authority = trustme.CA()
    authority.cert_pem.write_to_path(layout.ca_file)
    authority.issue_cert(HOST, "localhost").private_key_and_cert_chain_pem.write_to_path(layout.certificate)
    layout.certificate.chmod(0o600)
