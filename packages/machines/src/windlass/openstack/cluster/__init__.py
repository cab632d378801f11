"""OpenStackClusters: networks, groups and the endpoint of the API servers, found or made, and told to Cluster API.

Each part is a pure function of the spec, of what the cloud has, and of the parts before it; one decision sends what all
of them need next. Here alone load balancers and floating IPs are changed.

| module | what it holds |
|---|---|
| `snapshot` | the input of a decision |
| `decide`, `conditions` | the rows; what is said of the parts |
| `part`, `parts` | what a part is; all of them, in the order in which they need each other; how the API is reached |
| `network` | what the spec names in the cloud: what is asked, and what the answers mean |
| `managed_network`, `groups`, `rules` | what is made: the network with its router, security groups |
| `balancer`, `new_balancer`, `vip_subnet`, `admitted` | the load balancer |
| `endpoint`, `ingress` | the endpoint, and the way to machines |
| `control_plane`, `resolve` | what those need to know: machines, addresses of names |
| `claiming`, `ownership`, `unmarked`, `names` | what belongs to a cluster, what may, and how that is called |
| `deleting`, `removal` | its end |
| `bastion`, `bastion_address` | the bastion, and its floating IP |
| `controller` | what wakes a cluster, and what the controller may read and write |
"""
