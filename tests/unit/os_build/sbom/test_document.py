"""The list of what was added to an image, judged by the SPDX project's own tools."""

import base64
import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from spdx_tools.spdx.parser.parse_anything import parse_file
from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document

from tests.unit.os_build.inputs.cases import BASE, EXTENSIONS, NAME, context, machine_config, request
from windlass.os_build.inputs.context import ApplyBy
from windlass.os_build.sbom.document import document

DIGEST = "sha256:" + "a" * 64
NOW = datetime(2026, 11, 29, tzinfo=UTC)
SECRET = "correct horse battery staple"


def source(text: str) -> dict[str, str]:
    return {"source": f"data:;base64,{base64.b64encode(text.encode()).decode()}"}


def made(
    user_part: str = "", *, files: list[dict[str, Any]] | None = None, units: Any = None, **spec: Any
) -> dict[str, Any]:
    config = {"ignition": {"version": "3.4.0"}, "storage": {"files": files or []}, "systemd": {"units": units or []}}
    config["passwd"] = {"users": [{"name": "core", "passwordHash": SECRET, "sshAuthorizedKeys": [SECRET]}]}
    spec = {"baseOSExtensionsContainerImage": EXTENSIONS, **spec}
    raw = machine_config(config=config, **spec)
    raw = raw if isinstance(raw, bytes) else json.dumps(raw).encode()
    asked = request(user_part)
    built = context(raw, asked, apply_by=ApplyBy.IGNITION)
    return document(asked, raw, built, digest=DIGEST, created=NOW)


FULL: dict[str, Any] = {
    "user_part": "RUN dnf install -y htop\n",
    "files": [
        {"path": "/etc/motd", "contents": source("hello")},
        {"path": "/etc/empty"},
        {"path": "/etc/a b&c", "contents": source("odd")},
        {"path": "/etc/a-b-c", "contents": source("odd")},
        {"path": "/etc/password", "contents": source(SECRET), "mode": 0o600},
        {"path": "/etc/group-only", "contents": source(SECRET), "mode": 0o640},
        {"path": "/etc/remote", "contents": {"source": "https://files.example.com/x"}},
    ],
    "units": [{"name": "a.service", "enabled": True, "contents": "[Unit]\n[Install]\nWantedBy=multi-user.target\n"}],
    "extensions": ["usbguard", "kerberos", "ipsec"],
    "kernelType": "realtime",
}


@pytest.mark.parametrize(
    "given", [{}, {"user_part": "RUN true\n"}, FULL], ids=["nothing", "a user's part", "everything"]
)
def test_it_is_valid(given: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "contents.spdx.json"
    file.write_text(json.dumps(made(**given)))
    parsed = parse_file(str(file))
    assert [str(each) for each in validate_full_spdx_document(parsed, "SPDX-2.3")] == []


def test_it_has_the_image_its_base_and_what_was_added() -> None:
    found = made(**FULL)
    by_id = {each["SPDXID"]: each for each in found["packages"]}
    assert by_id["SPDXRef-Image"]["versionInfo"] == DIGEST
    assert by_id["SPDXRef-BaseImage"]["versionInfo"] == BASE.partition("@")[2]
    assert by_id["SPDXRef-MachineConfig"]["name"] == NAME
    assert {"usbguard", "krb5-workstation", "libreswan", "kernel-rt-core"} <= {
        each["name"] for each in found["packages"]
    }
    assert [each["fileName"] for each in found["files"]] == [
        "./etc/a b&c",
        "./etc/a-b-c",
        "./etc/empty",
        "./etc/motd",
        "./etc/systemd/system/a.service",
    ]
    [motd] = [each for each in found["files"] if each["fileName"] == "./etc/motd"]
    assert motd["checksums"][1]["checksumValue"] == hashlib.sha256(b"hello").hexdigest()
    related = {(each["relationshipType"], each["relatedSpdxElement"]) for each in found["relationships"]}
    assert {("DESCENDANT_OF", "SPDXRef-BaseImage"), ("GENERATED_FROM", "SPDXRef-UserPart")} <= related


def test_what_is_not_known_is_said() -> None:
    by_id = {each["SPDXID"]: each for each in made(**FULL)["packages"]}
    assert by_id["SPDXRef-Image"]["comment"].endswith("is not known: NOASSERTION.")
    assert "versionInfo" not in by_id["SPDXRef-Rpm-usbguard"]
    assert "decided by the extensions image" in by_id["SPDXRef-Rpm-usbguard"]["comment"]
    assert "NOASSERTION" not in made()["packages"][0]["comment"]


def test_no_secret_and_no_checksum_of_one_is_in_it() -> None:
    text = json.dumps(made(**FULL))
    for secret in (SECRET, base64.b64encode(SECRET.encode()).decode()):
        assert secret not in text
    for algorithm in ("sha1", "sha256"):
        assert hashlib.new(algorithm, SECRET.encode()).hexdigest() not in text
    comment = next(each for each in made(**FULL)["packages"] if each["SPDXID"] == "SPDXRef-MachineConfig")["comment"]
    assert "/etc/group-only, /etc/password, /etc/remote" in comment


def test_the_same_build_gives_the_same_document() -> None:
    assert made(**FULL) == made(**FULL)
