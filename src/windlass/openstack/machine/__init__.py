"""The controller of OpenStackMachines: each has an OpenStackServer, and says what Cluster API wants to know."""
