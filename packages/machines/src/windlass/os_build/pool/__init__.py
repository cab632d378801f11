"""The controller of MachineConfigPools: what it observes, decides and writes."""
