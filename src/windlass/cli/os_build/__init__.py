"""The commands of OS build: `windlass os-build VERB`, and its options for commands of all capabilities (`room`)."""
