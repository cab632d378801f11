"""Which keys can sign, and what is said of the others."""

import base64
import hashlib
import json
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
)
from nacl.secret import SecretBox

from windlass.os_build.signing.key import WrongKey, key_of, public_of, read_key

KEY = ec.generate_private_key(ec.SECP256R1())


def pem(key: Any = KEY, encryption: KeySerializationEncryption | None = None, *, old: bool = False) -> bytes:
    form = PrivateFormat.TraditionalOpenSSL if old else PrivateFormat.PKCS8
    found: bytes = key.private_bytes(Encoding.PEM, form, encryption or NoEncryption())
    return found


def cosign(password: bytes, *, name: str = "SIGSTORE", cost: int = 1024, **changed: Any) -> bytes:
    """The form of cosign, with a cheaper cost than its own."""
    salt, nonce = b"s" * 32, b"n" * 24
    secret = hashlib.scrypt(password, salt=salt, n=cost, r=8, p=1, dklen=32)
    der = KEY.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    tree = {
        "kdf": {"name": "scrypt", "params": {"N": cost, "r": 8, "p": 1}, "salt": _packed(salt)},
        "cipher": {"name": "nacl/secretbox", "nonce": _packed(nonce)},
        "ciphertext": _packed(SecretBox(secret).encrypt(der, nonce).ciphertext),
        **changed,
    }
    body = base64.encodebytes(json.dumps(tree).encode()).decode()
    return f"-----BEGIN ENCRYPTED {name} PRIVATE KEY-----\n{body}-----END ENCRYPTED {name} PRIVATE KEY-----\n".encode()


def _packed(content: bytes) -> str:
    return base64.b64encode(content).decode()


def data(key: bytes, password: bytes | None = None) -> dict[str, str]:
    found = {"cosign.key": _packed(key)}
    return found if password is None else {**found, "cosign.password": _packed(password)}


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(data(pem()), id="PKCS 8"),
        pytest.param(data(pem(), b""), id="with an empty password"),
        pytest.param(data(pem(old=True)), id="SEC 1"),
        pytest.param(data(pem(encryption=BestAvailableEncryption(b"pw")), b"pw"), id="PKCS 8, encrypted"),
        pytest.param(data(cosign(b"pw"), b"pw"), id="cosign"),
        pytest.param(data(cosign(b"")), id="cosign, without a password"),
        pytest.param(data(cosign(b"pw", name="COSIGN"), b"pw"), id="cosign, its first form"),
    ],
)
def test_a_key_signs(given: dict[str, str]) -> None:
    key = read_key(given)
    signature = key.sign(b"content")
    assert key.has_signed(b"content", signature)
    assert not key.has_signed(b"other", signature)
    assert not key.has_signed(b"content", b"no signature")
    assert public_of(key.public.encode()) == key.public


@pytest.mark.parametrize(
    ("given", "says"),
    [
        pytest.param({}, "cosign.key is missing or empty", id="nothing"),
        pytest.param({"cosign.key": "%"}, "cosign.key is not base64", id="no base64"),
        pytest.param(data(b"what?"), "cannot be read", id="no PEM"),
        pytest.param(data(pem(encryption=BestAvailableEncryption(b"pw"))), "cosign.password does not fit", id="locked"),
        pytest.param(data(pem(), b"pw"), "cosign.password does not fit", id="not locked"),
        pytest.param(
            data(pem(encryption=BestAvailableEncryption(b"pw")), b"x"), "cannot be read", id="another password"
        ),
        pytest.param(data(cosign(b"pw"), b"x"), "cosign.password is not the password", id="cosign, another password"),
        pytest.param(data(cosign(b"pw", kdf={"name": "argon2"}), b"pw"), "cosign.key is damaged", id="another form"),
        pytest.param(data(cosign(b"pw", ciphertext="%"), b"pw"), "is not the password", id="damaged"),
        pytest.param(
            data(cosign(b"pw", kdf={"name": "scrypt", "params": {"N": 2**40, "r": 8, "p": 1}, "salt": ""}), b"pw"),
            "cosign.key is damaged",
            id="a cost that would take all memory",
        ),
        pytest.param(data(pem(ec.generate_private_key(ec.SECP384R1()))), "no ECDSA key on the curve P-256", id="P-384"),
        pytest.param(data(pem(ed25519.Ed25519PrivateKey.generate())), "no ECDSA key on the curve P-256", id="Ed25519"),
    ],
)
def test_what_is_no_key_is_told_without_a_part_of_it(given: dict[str, str], says: str) -> None:
    with pytest.raises(WrongKey) as raised:
        read_key(given)
    assert says in str(raised.value)
    assert raised.value.__cause__ is None
    for value in given.values():
        assert len(value) < 9 or value not in str(raised.value)


def test_a_private_key_is_no_public_key() -> None:
    with pytest.raises(WrongKey, match="no public key"):
        public_of(pem())


def test_a_key_does_not_show_itself() -> None:
    assert repr(key_of(pem())) == "SigningKey()"
