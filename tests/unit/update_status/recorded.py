"""The names of the recorded cases."""

CASES = (
    "4.14.1-degraded",
    "4.14.1-workers-started-updating-multiple-pools",
    "4.15.0-ec2-early",
    "4.15.0-ec2-unavailable-mco-20m",
    "4.16.0-ec2-control-plane-updated-pdb-prohibits-draining",
    "4.16.0-single-node",
    "not-upgrading",
    "v-degraded-node-multiline-reason",
    "v-error-no-progressing",
    "v-multi-arch-rebooting",
    "v-paused-custom-pool-one-draining",
    "v-unannotated-operators-empty-pool",
)
