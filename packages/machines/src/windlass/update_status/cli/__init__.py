"""Commands that report how the update of a cluster is going."""
