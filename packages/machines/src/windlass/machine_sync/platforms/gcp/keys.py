"""Converts the keys of disks: keys of Cloud KMS, by their parts in the Machine API, by their full name in Cluster API.

A key that a customer supplies is in the GCPMachine itself. No text shows one.
"""

import re
from typing import Final

from windlass.api import capg, mapi_gcp
from windlass.machine_sync.conversion.field_errors import FieldError, Findings, invalid, invalid_json

_MANAGED: Final = "Managed"
_NAME: Final = re.compile(r"projects/([^/]+)/locations/([^/]+)/keyRings/([^/]+)/cryptoKeys/([^/]+)")
_PART: Final = r"[-_\[A-Za-z0-9]+"
# What the CRD of GCPMachine accepts; it does not look at the ends of the text.
_ACCEPTED_NAME: Final = re.compile(rf"projects/[-_:\[A-Za-z0-9]+/locations/{_PART}/keyRings/{_PART}/cryptoKeys/{_PART}")
_ACCEPTED_ACCOUNT: Final = re.compile(r"[-_.\[A-Za-z0-9]@[-_.\[A-Za-z0-9]+.iam.gserviceaccount.com")
_NAME_LIMIT: Final = 160
_ACCOUNT_LIMIT: Final = 85


def customer_key(
    key: mapi_gcp.EncryptionKey | None, path: str, *, project: str, found: Findings
) -> capg.CustomerEncryptionKey | None:
    """The key in Cluster API. `project` is that of keys that name none. Adds to `found`."""
    if key is None:
        return None
    account = key.kms_key_service_account
    if key.kms_key is None:
        if account:
            # The Machine API ignores it, too.
            found.lose(f"{path}.kmsKeyServiceAccount", account)
        return None
    kms = key.kms_key
    name = (
        f"projects/{kms.project_id or project}/locations/{kms.location}/keyRings/{kms.key_ring}/cryptoKeys/{kms.name}"
    )
    if len(name) > _NAME_LIMIT or not _ACCEPTED_NAME.search(name) or not _NAME.fullmatch(name):
        found.errors.append(invalid_json(f"{path}.kmsKey", kms, "Cluster API accepts no such key"))
    if account and (len(account) > _ACCOUNT_LIMIT or not _ACCEPTED_ACCOUNT.search(account)):
        detail = "Cluster API accepts no such account"
        found.errors.append(invalid(f"{path}.kmsKeyServiceAccount", account, detail))
    return capg.CustomerEncryptionKey(
        key_type=_MANAGED,
        kms_key_service_account=account or None,
        managed_key=capg.ManagedKey(kms_key_name=name),
    )


def encryption_key(
    key: capg.CustomerEncryptionKey | None, path: str, errors: list[FieldError]
) -> mapi_gcp.EncryptionKey | None:
    """The key in the Machine API, which has only those of Cloud KMS. Adds to `errors`."""
    if key is None:
        return None
    name = key.managed_key.kms_key_name if key.managed_key is not None else ""
    parts = _NAME.fullmatch(name)
    if key.key_type != _MANAGED or parts is None or key.supplied_key is not None:
        shown = name if key.key_type == _MANAGED and name else key.key_type
        errors.append(invalid(path, shown, "only a key of Cloud KMS by its full name is supported"))
        return None
    project, location, ring, kms_name = parts.groups()
    return mapi_gcp.EncryptionKey(
        kms_key=mapi_gcp.KMSKey(name=kms_name, key_ring=ring, project_id=project, location=location),
        kms_key_service_account=key.kms_key_service_account or "",
    )
