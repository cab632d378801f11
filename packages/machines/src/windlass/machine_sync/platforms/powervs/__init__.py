"""PowerVS: IBMPowerVSMachine and IBMPowerVSCluster of Cluster API, PowerVSMachineProviderConfig of the Machine API."""
