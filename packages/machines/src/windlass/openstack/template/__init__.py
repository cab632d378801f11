"""What a machine of an OpenStackMachineTemplate offers, so that the autoscaler can start from no machine.

| module | |
|---|---|
| `capacity` | from a flavor to quantities |
| `decide` | the rules |
| `controller` | what wakes a template, and what may be read and written |
"""
