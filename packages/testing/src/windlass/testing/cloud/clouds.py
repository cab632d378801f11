"""clouds.yaml: the credentials of a cloud as OpenStack's clients read them."""

from pathlib import Path
from typing import Any

import yaml
from keystoneauth1.loading import get_plugin_loader
from keystoneauth1.plugin import BaseAuthPlugin
from keystoneauth1.session import Session
from openstack.connection import Connection

from windlass.testing.cloud.layout import PASSWORD, REGION, Layout

USERS = ("admin", "demo", "alt")
"""Each is a user with a project of the same name; `admin` may do everything."""


def entry(auth_url: str, ca_file: Path | str | None, **auth: str) -> dict[str, Any]:
    """One cloud of clouds.yaml. `auth` are a user with its password and project, or an application credential."""
    kind: dict[str, Any] = {"auth_type": "v3applicationcredential"} if "application_credential_id" in auth else {}
    ca = {"cacert": str(ca_file)} if ca_file else {}
    return {
        **kind,
        "auth": {"auth_url": auth_url, **auth},
        "region_name": REGION,
        "interface": "public",
        "identity_api_version": 3,
        **ca,
    }


def password(user: str, project: str) -> dict[str, str]:
    """The `auth` of a user in a project."""
    return {
        "username": user,
        "password": PASSWORD,
        "project_name": project,
        "user_domain_name": "Default",
        "project_domain_name": "Default",
    }


def write(layout: Layout) -> None:
    """Write clouds.yaml with all USERS."""
    found = {
        user: entry(layout.endpoint("keystone"), layout.ca_file, **password(user, user)) for user in USERS
    }  # fmt: skip
    layout.clouds_yaml.write_text(text(found), encoding="utf-8")
    layout.clouds_yaml.chmod(0o600)


def text(entries: dict[str, Any]) -> str:
    """clouds.yaml with these clouds."""
    return yaml.safe_dump({"clouds": entries}, sort_keys=False)


def connect(entry: dict[str, Any], *, user_agent: str | None = None) -> Connection:
    """A connection of openstacksdk with the credentials of one cloud of clouds.yaml, and no other settings."""
    # A session and not the entry itself: openstacksdk's own reading warns of what nobody has asked for.
    login: BaseAuthPlugin = get_plugin_loader(entry.get("auth_type", "password")).load_from_options(**entry["auth"])
    session = Session(auth=login, verify=entry.get("cacert", True), app_name=user_agent)
    return Connection(session=session, region_name=entry["region_name"], interface=entry["interface"])
