"""The controller of OpenStackClusters on networks that exist."""
