"""Says what the API server refused to create for a build, and what to do about it. Pure.

What the caller may try again at once, such as a conflict or a server that is busy, never comes here
(`windlass.kube.control.rounds`). Remedies are those of `windlass.kube.control.refused`.
"""

from windlass.kube.control.plan import Create, Outcome
from windlass.kube.control.refused import LONGEST, remedy
from windlass.kube.shorten import shortened
from windlass.os_build import log


def refused_creation(last: Outcome) -> str:
    """The refusal in this outcome, with its remedy; empty if there is none."""
    failed = next((each for each in last.failures if isinstance(each.action, Create)), None)
    if failed is None or failed.error is None:
        return ""
    what = failed.action.target
    said = shortened(" ".join(log.clean(str(failed.error)).split()), LONGEST)
    return f"The API server refuses to create {what}: {said}. {remedy(failed.error)}"
