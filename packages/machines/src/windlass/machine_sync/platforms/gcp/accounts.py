"""Converts service accounts: one in Cluster API, a list with one in the Machine API."""

from typing import Final

from windlass.api import capg, mapi_gcp
from windlass.machine_sync.conversion.field_errors import FieldError, invalid_json, required, too_many
from windlass.machine_sync.conversion.provider_spec import PATH

DEFAULT: Final = mapi_gcp.ServiceAccount(email="default", scopes=["https://www.googleapis.com/auth/cloud-platform"])
"""What Cluster API's provider gives a machine without an account."""


def service_account(
    accounts: list[mapi_gcp.ServiceAccount] | None, errors: list[FieldError]
) -> capg.ServiceAccount | None:
    """The only account. Without one the Machine API makes a machine without an account, which Cluster API cannot."""
    path = f"{PATH}.serviceAccounts"
    if not accounts:
        detail = "exactly one service account is needed: without one Cluster API gives the project's default account"
        errors.append(required(path, detail))
        return None
    if len(accounts) > 1:
        errors.append(too_many(path, len(accounts), 1))
    return capg.ServiceAccount(email=accounts[0].email, scopes=accounts[0].scopes or [])


def service_accounts(account: capg.ServiceAccount | None, errors: list[FieldError]) -> list[mapi_gcp.ServiceAccount]:
    """A list with the account, or the default one."""
    if account is None:
        return [DEFAULT]
    if not account.email or not account.scopes:
        errors.append(invalid_json("spec.serviceAccounts", account, "email and at least one scope are needed"))
    return [mapi_gcp.ServiceAccount(email=account.email, scopes=account.scopes)]
