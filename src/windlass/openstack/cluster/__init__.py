"""OpenStackClusters on networks that exist: what the cloud has of them is looked up, and told to Cluster API.

Nothing is created or deleted. What would have to be is InvalidConfiguration, with what to set instead.

| module | what it holds |
|---|---|
| `snapshot` | the input of a decision |
| `decide` | the rows |
| `network` | networks, subnets and router: what is asked, and what the answers mean; API endpoint, failure domains |
| `unsupported` | fields that ask for what this version does not make |
| `controller` | what wakes a cluster, and what the controller may read and write |
"""
