"""OpenStack: OpenStackMachine and OpenStackCluster of Cluster API, OpenstackProviderSpec of the Machine API."""
