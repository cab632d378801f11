"""The conditions of OpenStackServers, OpenStackMachines and OpenStackClusters: one vocabulary, one rule for each.

| condition | True | False or Unknown |
|---|---|---|
| `Ready` | all that the object stands for is there | what is in the way, all life long, deletion included |
| `Progressing` | we go on by ourselves: what comes next, and when it is tried again | at rest, or a person has to act |
| `Paused` | nothing is done, because the Cluster or an annotation says so | |
| `Deleting` | the step of the deletion | it is not being deleted |
| `OpenStackAuthenticationSucceeded` | the cloud accepts the credentials | who has to correct what |
| `InstanceReady` | the server is ACTIVE | why not |
| `NetworkReady`, `RouterReady`, `SecurityGroupsReady`, `APIEndpointReady` | of a cluster | why not |

Every condition of an object is there after the first visit, before the cloud is asked: Unknown, `NotYetObserved`.
"""
