"""Reads the private key of a Secret, and signs with it.

| key of the Secret | value |
|---|---|
| `cosign.key` | an ECDSA key on the curve P-256 in PEM: in cosign's own form, or PKCS 8, encrypted or not |
| `cosign.password` | its password; may be missing or empty |

`cosign generate-key-pair k8s://NAMESPACE/NAME` makes such a Secret. Its own form is encrypted by NaCl's secretbox, with
a key that scrypt makes of the password.
"""

import base64
import binascii
import hashlib
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from nacl.exceptions import CryptoError
from nacl.secret import SecretBox

from windlass.kube.foreign import Malformed, read_json

KEY: Final = "cosign.key"
PASSWORD: Final = "cosign.password"
_ALGORITHM: Final = ec.ECDSA(hashes.SHA256())
_COSIGN: Final = ("ENCRYPTED SIGSTORE PRIVATE KEY", "ENCRYPTED COSIGN PRIVATE KEY")
_MOST_MEMORY: Final = 2**28
"""Bytes that scrypt may take: cosign's own parameters take 64 MiB."""
SECRET: Final = "NAMESPACE/NAME"
"""Stands for the Secret in what is said of a key."""
_REMEDY: Final = f"make one with `cosign generate-key-pair k8s://{SECRET}`"


class WrongKey(ValueError):
    """There is no key that can sign; the text says why, with the remedy, and has no part of the key."""


class SigningKey:
    """A private key."""

    def __init__(self, key: ec.EllipticCurvePrivateKey) -> None:
        self._key = key

    def __repr__(self) -> str:
        return "SigningKey()"

    @property
    def public(self) -> str:
        """The public key in PEM."""
        return public_pem(self._key.public_key())

    def sign(self, content: bytes) -> bytes:
        """The signature of the content, in ASN.1."""
        return self._key.sign(content, _ALGORITHM)

    def has_signed(self, content: bytes, signature: bytes) -> bool:
        """It is a signature by this key."""
        try:
            self._key.public_key().verify(signature, content, _ALGORITHM)
        except InvalidSignature:
            return False
        return True


def read_key(data: Mapping[str, str]) -> SigningKey:
    """The key in the data of a Secret, whose values are base64. Raises WrongKey. It takes a fifth of a second."""
    pem, password = _value(data, KEY), _value(data, PASSWORD)
    if not pem.strip():
        raise WrongKey(f"{KEY} is missing or empty: {_REMEDY}")
    return key_of(pem, password)


def key_of(pem: bytes, password: bytes = b"") -> SigningKey:
    """The key in PEM. Raises WrongKey."""
    for name in _COSIGN:
        begin, end = f"-----BEGIN {name}-----".encode(), f"-----END {name}-----".encode()
        if begin in pem and end in pem:
            der = _opened(pem.partition(begin)[2].partition(end)[0], password)
            return _usable(partial(serialization.load_der_private_key, der, None))
    return _usable(partial(serialization.load_pem_private_key, pem, password or None))


def public_of(pem: bytes) -> str:
    """A public key that nodes can verify by, in PEM. Raises WrongKey."""
    try:
        key = serialization.load_pem_public_key(pem)
    except ValueError:
        raise WrongKey("it is no public key in PEM: give cosign.pub, or the output of `openssl pkey -pubout`") from None
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256R1):
        raise WrongKey(f"it is no ECDSA key on the curve P-256: {_REMEDY}")
    return public_pem(key)


def public_pem(key: ec.EllipticCurvePublicKey) -> str:
    """The key in PEM."""
    return key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo).decode()


def _usable(load: Any) -> SigningKey:
    try:
        key = load()
    except TypeError:
        # Both are told by this: a key with a password that was not given, and one without that was.
        raise WrongKey(f"{PASSWORD} does not fit: give the password of the key, or none if it has none") from None
    except ValueError:
        raise WrongKey(f"{KEY} cannot be read with {PASSWORD}: correct either, or {_REMEDY}") from None
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
        raise WrongKey(f"{KEY} is no ECDSA key on the curve P-256: {_REMEDY}")
    return SigningKey(key)


def _opened(body: bytes, password: bytes) -> bytes:
    """The content of a key that cosign encrypted."""
    broken = WrongKey(f"{KEY} is damaged: {_REMEDY}")
    try:
        document = read_json(base64.b64decode(body))
    except (binascii.Error, Malformed):
        raise broken from None
    match document:
        case {
            "kdf": {"name": "scrypt", "params": {"N": int(cost), "r": int(size), "p": int(lanes)}, "salt": str(salt)},
            "cipher": {"name": "nacl/secretbox", "nonce": str(nonce)},
            "ciphertext": str(sealed),
        }:
            pass
        case _:
            raise broken
    try:
        secret = hashlib.scrypt(
            password, salt=base64.b64decode(salt), n=cost, r=size, p=lanes, maxmem=_MOST_MEMORY, dklen=32
        )
        return SecretBox(secret).decrypt(base64.b64decode(sealed), base64.b64decode(nonce))
    except CryptoError:
        raise WrongKey(f"{PASSWORD} is not the password of {KEY}: correct it") from None
    except (binascii.Error, ValueError, OverflowError, MemoryError):
        raise broken from None


def _value(data: Mapping[str, str], name: str) -> bytes:
    try:
        return base64.b64decode(data.get(name, ""), validate=True)
    except binascii.Error:
        raise WrongKey(f"{name} is not base64: create the Secret again") from None
