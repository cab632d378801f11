"""What the command line knows of machines on OpenStack."""
