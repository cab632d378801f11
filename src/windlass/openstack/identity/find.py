"""Finds the credentials that an `identityRef` names: a Secret, or an OpenStackClusterIdentity that names one."""

from msgspec import Struct


class IdentityTrouble(Struct, frozen=True):
    """Why there are no credentials: the object, the field and the remedy, in a sentence.

    `denied`: the identity exists, but not for this namespace.
    """

    message: str
    denied: bool = False
