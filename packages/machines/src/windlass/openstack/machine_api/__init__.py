"""Machines of the Machine API whose authority is MachineAPI: in the place of its machine and drain controllers.

Their servers are made by the same core as those of OpenStackServers, through the same clouds. There is no
OpenStackServer: the Machine itself keeps the mark in its annotation, and the server in `spec.providerID`.

| module | what it holds |
|---|---|
| `provider_spec`, `user_data`, `floating_ip` | what the provider spec asks for |
| `snapshot`, `observe` | the input of a decision |
| `decide` | the rows; `building`, `deleting` and `drain` are some of them |
| `conditions` | the status: phases and conditions of the Machine API, and ours |
| `controller` | what wakes a Machine, and what the controller may read, write and ask of a cloud |
"""
