"""Recorded runs of OpenShift's migration of machines: where ours end elsewhere, and why."""

from .runs import GOES_ON, WAITS, Deviation

PAUSES = Deviation(GOES_ON, {f"{side}.metadata.annotations" for side in ("cluster_api", "infra_machine")})

DEVIATIONS: dict[str, Deviation] = {
    "AWS-to-mapi-start": PAUSES,
    "OpenStack-to-mapi-start": PAUSES,
    "AWS-no-conditions-field": WAITS,
    "AWS-to-mapi-mirror-missing": WAITS,
    "AWS-to-mapi-migrating-infra-condition-missing": WAITS,
    "OpenStack-no-conditions-field": WAITS,
    "OpenStack-to-mapi-mirror-missing": WAITS,
}


NOT_SO = {
    f"{platform}-to-mapi-start": "ours moves a Machine only when Cluster API says that its instance is provisioned"
    for platform in ("AWS", "OpenStack")
}
"""Runs in which the whole controller does not come to where the recorded one ended."""
