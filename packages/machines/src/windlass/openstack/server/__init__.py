"""The controller of OpenStackServers, the only one that creates anything in a cloud."""
