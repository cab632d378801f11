"""AWS: AWSMachine and AWSCluster of Cluster API, AWSMachineProviderConfig of the Machine API."""
