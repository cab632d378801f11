"""Where our conversion deliberately differs from the recorded one: case name and reason.

Everything that is not listed here must be equal to the letter.
"""

NO_ZONE = (
    "the recorded program crashes on a Volume whose availability zone is absent or has no name; "
    "ours takes it as no zone and goes on to report what else is wrong"
)

DEVIATIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "openstack-t-abd-volume-noaz-panics": (NO_ZONE, ()),
    "openstack-real-mixed-029": (
        NO_ZONE,
        ('spec.image.imageRef: Invalid value: {"name":"orc"}: MAPO only supports defining images by names',),
    ),
    "openstack-real-mixed-032": (NO_ZONE, ('spec.version: Invalid value: "v1.31.0": version is not supported',)),
    "openstack-real-mixed-089": (
        NO_ZONE,
        ("spec.ports[0].network: Required value: A port must have a reference to a network",),
    ),
}
"""By platform and case: the reason, and the errors that ours gives instead."""
