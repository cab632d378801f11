"""Says what the API server refused to create for a build, and what to do about it. Pure.

| the server's answer | remedy |
|---|---|
| Forbidden: a quota is exceeded | raise the quota, or delete something that counts |
| Forbidden: RBAC, or an admission policy or webhook | grant the right, or correct the policy |
| anything else, such as Invalid | correct what the message names |

What the caller may try again at once, such as a conflict or a server that is busy, never comes here
(`windlass.kube.control.rounds`).
"""

from typing import Final

from windlass.kube.control.plan import Create, Outcome
from windlass.kube.errors import Failure, Forbidden
from windlass.kube.shorten import shortened
from windlass.os_build import log

_LONGEST: Final = 1024
"""Characters of the server's message."""
_QUOTA: Final = "exceeded quota"
"""Of the admission plugin ResourceQuota."""


def refused_creation(last: Outcome) -> str:
    """The refusal in this outcome, with its remedy; empty if there is none."""
    failed = next((each for each in last.failures if isinstance(each.action, Create)), None)
    if failed is None or failed.error is None:
        return ""
    what = failed.action.target
    said = shortened(" ".join(log.clean(str(failed.error)).split()), _LONGEST)
    return f"The API server refuses to create {what}: {said}. {_remedy(failed.error)}"


def _remedy(error: Failure) -> str:
    if not isinstance(error, Forbidden):
        return "Correct what the message names."
    if _QUOTA in str(error):
        return "Raise that ResourceQuota, or delete something that it counts."
    return "Grant the right that is missing, or correct the admission policy or webhook that says no."
