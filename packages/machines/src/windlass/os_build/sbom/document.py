"""The SPDX 2.3 document of an image: what our steps added to the base image. Pure.

| element | from |
|---|---|
| the image, built from the base image | their digests |
| the Containerfile; the user's part | a checksum each |
| the rendered MachineConfig, with its files and units | a checksum each |
| packages of extensions and kernels | their names; the version is decided by the extensions image: NOASSERTION |

What the user's commands did is not known, and the document says so. Files that not everybody may read are left out: a
checksum can tell a short secret. Accounts, their keys and passwords are left out, too.

The same build gives the same document, but for `created`.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final
from urllib.parse import quote

from windlass.kube.clock import rfc3339
from windlass.os_build.inputs.containerfile import base_image, extensions_image, release
from windlass.os_build.inputs.contents import decoded, is_remote
from windlass.os_build.inputs.context import Context
from windlass.os_build.inputs.extensions import DEFAULT, KERNELS, Wanted
from windlass.os_build.inputs.machine_config import File, Invalid, Rendered, Systemd, located, read
from windlass.os_build.inputs.units import unit_nodes
from windlass.os_build.request import Request

UNKNOWN: Final = "NOASSERTION"
CREATOR: Final = "Tool: windlass"
_READABLE: Final = 0o004
_USUAL_MODE: Final = 0o644
_ID: Final = re.compile(r"[^A-Za-z0-9.-]+")


def document(
    request: Request, machine_config: bytes, context: Context, *, digest: str, created: datetime
) -> dict[str, Any]:
    """The document of the image with this digest, which was built from this request. Raises Invalid."""
    config = read(machine_config)
    spec = config.spec
    wanted = Wanted.of(spec.extensions or (), spec.kernel_type or "", release=release(config, request))
    base, extensions = base_image(config, request), extensions_image(config, request, wanted)
    files, left_out = _files(config)
    image = _package("Image", str(request.target), version=digest, sha256=digest, purpose="CONTAINER")
    image["externalRefs"] = _purl(_oci(str(request.target), digest))
    image["comment"] = (
        "Packages, files and units are those that the steps of the build added to the base image. What the user's part "
        f"of the Containerfile added, changed or removed is not known: {UNKNOWN}."
        if request.containerfile.strip()
        else "Packages, files and units are those that the steps of the build added to the base image."
    )
    packages, related = [image], [_relation("DOCUMENT", "DESCRIBES", "Image")]
    if isinstance(base, str):
        packages.append(_of_image("BaseImage", base))
        related.append(_relation("Image", "DESCENDANT_OF", "BaseImage"))
    if isinstance(extensions, str) and extensions:
        packages.append(_of_image("ExtensionsImage", extensions))
        related.append(_relation("ExtensionsImage", "BUILD_DEPENDENCY_OF", "Image"))
    for ref, name, text in (
        ("Containerfile", f"Containerfile of pool {request.pool}", context.containerfile),
        ("UserPart", f"the user's part of the Containerfile of pool {request.pool}", request.containerfile),
    ):
        if text.strip():
            checksum = f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
            packages.append(_package(ref, name, sha256=checksum, purpose="SOURCE"))
            related.append(_relation("Image", "GENERATED_FROM", ref))
    rendered = _package("MachineConfig", request.config, purpose="OTHER")
    if left_out:
        rendered["comment"] = (
            f"{len(left_out)} files are left out, because not everybody may read them, or their contents are not in "
            f"the MachineConfig: {', '.join(left_out)}"
        )
    if files:
        rendered |= {"filesAnalyzed": True, "packageVerificationCode": _verification(files)}
    packages.append(rendered)
    related.append(_relation("Image", "GENERATED_FROM", "MachineConfig"))
    related += [_relation("MachineConfig", "CONTAINS", each["SPDXID"].removeprefix("SPDXRef-")) for each in files]
    for name, why in _rpms(wanted).items():
        package = _package(f"Rpm-{name}", name, purpose="LIBRARY")
        package["externalRefs"] = _purl(f"pkg:rpm/redhat/{quote(name)}")
        package["comment"] = f"{why}; the version is decided by the extensions image"
        packages.append(package)
        related.append(_relation("Image", "CONTAINS", f"Rpm-{name}"))
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": request.target.digested(digest),
        "documentNamespace": f"https://{request.target}/spdx/{digest.replace(':', '-')}",
        "creationInfo": {"created": rfc3339(created), "creators": [CREATOR]},
        "packages": packages,
        "files": files,
        "relationships": related,
    }


def _files(config: Rendered) -> tuple[list[dict[str, Any]], list[str]]:
    """The files with their checksums, by path; and the paths that are left out."""
    found: dict[str, bytes] = {}
    left_out: list[str] = []
    for where, placed in located(config.config):
        if not isinstance(placed, File):
            continue
        mode = _USUAL_MODE if placed.mode is None else placed.mode
        parts = [resource for _, resource in placed.resources]
        if not mode & _READABLE or any(map(is_remote, parts)):
            left_out.append(placed.path)
            continue
        try:
            found[placed.path] = b"".join(decoded(part, where=where) for part in parts)
        except Invalid:
            left_out.append(placed.path)
    try:
        units = [*unit_nodes((config.config.systemd or Systemd()).units or ())]
    except Invalid:
        units = []
    found |= {node.path: node.data for node in units if node.data is not None and not node.target}
    return [_file(path, found[path]) for path in sorted(found)], sorted(left_out)


def _file(path: str, content: bytes) -> dict[str, Any]:
    # SPDX 2.3 demands SHA-1 of files.
    sha1 = hashlib.sha1(content, usedforsecurity=False).hexdigest()
    return {
        "SPDXID": f"SPDXRef-{_id('File', path)}",
        "fileName": f".{path}",
        "checksums": [
            {"algorithm": "SHA1", "checksumValue": sha1},
            {"algorithm": "SHA256", "checksumValue": hashlib.sha256(content).hexdigest()},
        ],
        "licenseConcluded": UNKNOWN,
        "copyrightText": UNKNOWN,
    }


def _verification(files: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The code of a package by its files, as SPDX computes it."""
    sums = sorted(each["checksums"][0]["checksumValue"] for each in files)
    return {"packageVerificationCodeValue": hashlib.sha1("".join(sums).encode(), usedforsecurity=False).hexdigest()}


def _rpms(wanted: Wanted) -> dict[str, str]:
    """The packages by name, and what asks for each."""
    found: dict[str, str] = {}
    for names, when in ((wanted.packages, "installed"), (wanted.newer, "installed if the extensions image has it")):
        found |= {name: f"{when}, for the extensions {', '.join(wanted.extensions)}" for name in names}
    if wanted.kernel != DEFAULT:
        found |= dict.fromkeys(KERNELS[wanted.kernel], f"in place of the kernel, for kernelType {wanted.kernel}")
    return found


def _of_image(ref: str, pullspec: str) -> dict[str, Any]:
    name, at, digest = pullspec.partition("@")
    package = _package(ref, name, version=digest, sha256=digest if at else "", purpose="CONTAINER")
    return package | ({"externalRefs": _purl(_oci(name, digest))} if at else {})


def _package(ref: str, name: str, *, version: str = "", sha256: str = "", purpose: str) -> dict[str, Any]:
    found: dict[str, Any] = {
        "SPDXID": f"SPDXRef-{_id(ref)}",
        "name": name,
        "downloadLocation": UNKNOWN,
        "filesAnalyzed": False,
        "licenseConcluded": UNKNOWN,
        "licenseDeclared": UNKNOWN,
        "copyrightText": UNKNOWN,
        "primaryPackagePurpose": purpose,
    }
    if version:
        found["versionInfo"] = version
    if sha256.startswith("sha256:"):
        value = sha256.removeprefix("sha256:")
        found["checksums"] = [{"algorithm": "SHA256", "checksumValue": value}]
    return found


def _relation(one: str, kind: str, other: str) -> dict[str, str]:
    return {
        "spdxElementId": f"SPDXRef-{_id(one)}",
        "relationshipType": kind,
        "relatedSpdxElement": f"SPDXRef-{_id(other)}",
    }


def _purl(locator: str) -> list[dict[str, str]]:
    return [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": locator}]


def _oci(repository: str, digest: str) -> str:
    name = repository.rpartition("/")[2]
    return f"pkg:oci/{quote(name)}@{quote(digest, safe='')}?repository_url={quote(repository, safe='')}"


def _id(kind: str, path: str = "") -> str:
    """An identifier of SPDX; of a path with a hash, since others may look the same without its special characters."""
    if not path:
        return _ID.sub("-", kind)
    return f"{kind}-{hashlib.sha256(path.encode()).hexdigest()[:16]}"
