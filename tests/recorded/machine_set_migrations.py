"""Recorded runs of OpenShift's migration of MachineSets: where ours end elsewhere, and why."""

from .runs import GOES_ON, WAITS, Deviation

PAUSES = Deviation(GOES_ON, {"cluster_api.metadata.annotations"})

DEVIATIONS: dict[str, Deviation] = {
    "AWS-to-mapi-start": PAUSES,
    "OpenStack-to-mapi-start": PAUSES,
    "AWS-no-conditions-field": WAITS,
    "AWS-to-mapi-mirror-missing": WAITS,
    "OpenStack-no-conditions-field": WAITS,
}


NOT_SO = {
    f"{platform}-to-capi-start": "the recorded mirror is not paused: ours pauses it before authority moves"
    for platform in ("AWS", "OpenStack")
}
"""Runs in which the whole controller does not come to where the recorded one ended."""
