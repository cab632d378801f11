"""OpenStackMachines: each has one OpenStackServer of its name, and reports its state to Cluster API.

No request goes to a cloud from here: state, addresses and troubles come from the status of the OpenStackServer.

| module | what it holds |
|---|---|
| `snapshot` | the input of a decision |
| `decide` | the rows; `deletion` is one of them |
| `server_of` | the OpenStackServer of an OpenStackMachine |
| `existing` | the server that exists already, by providerID or record |
| `conditions` | the conditions, from those of the OpenStackServer |
| `controller` | what wakes a machine, and what the controller may read and write |
"""
