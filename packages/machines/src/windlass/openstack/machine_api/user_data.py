"""The user data of a Machine, from its Secret, as Nova takes it.

| key of the Secret | meaning |
|---|---|
| `userData` | the text |
| `disableTemplating` | if it exists: the text is sent as it is |
| `postprocessor` | a program that changes the text |

OpenShift's OpenStack provider treats the text as a Go template unless templating is disabled. Windlass has no Go
templates: a text without `{{` is the same either way, and one with it is refused. So are postprocessors, of which the
provider had one (`ct`, for Container Linux).
"""

import base64
import binascii
from typing import Final

from windlass.api.core import Secret
from windlass.openstack.instance.spec import Problem

USER_DATA: Final = "userData"
DISABLE_TEMPLATING: Final = "disableTemplating"
POSTPROCESSOR: Final = "postprocessor"
_FIELD: Final = "userDataSecret"


def user_data(secret: Secret, *, where: str) -> str | Problem:
    """The user data in base64, or why there is none. `where` names the Secret for people."""
    encoded = secret.data.get(USER_DATA)
    if encoded is None:
        return Problem("Dependency", _FIELD, f"{where} has no key `{USER_DATA}`: put the user data there")
    if POSTPROCESSOR in secret.data:
        return Problem(
            "Invalid", _FIELD, f"{where} has the key `{POSTPROCESSOR}`, which is not supported: store the final text"
        )
    try:
        text = base64.b64decode(encoded, validate=True)
    except binascii.Error:
        return Problem("Invalid", _FIELD, f"{where} has a key `{USER_DATA}` that is not base64: correct it")
    if b"{{" in text and DISABLE_TEMPLATING not in secret.data:
        remedy = f"store the final text, and add the key `{DISABLE_TEMPLATING}`"
        return Problem("Invalid", _FIELD, f"{where} has a template in `{USER_DATA}`, which is not supported: {remedy}")
    return encoded
