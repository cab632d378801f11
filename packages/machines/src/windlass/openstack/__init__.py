"""Machines on OpenStack: servers with their ports, trunks and volumes, kept as Cluster API objects say.

| package | what it holds |
|---|---|
| `cloud` | clouds: credentials, requests, failures, gates, what exists and what changed |
| `instance` | the core, pure: resolves specs, decides on the next requests, reads states, deletes |
| `server` | the controller of OpenStackServers, the only one that creates servers |
| `machine` | OpenStackMachines: each has an OpenStackServer, and reports to Cluster API |
| `machine_api` | Machines of OpenShift's Machine API: in the place of its machine and drain controllers |
| `cluster` | OpenStackClusters: networks, security groups, load balancer and endpoint |
| `template` | OpenStackMachineTemplates: what a machine of one offers, for the autoscaler |
| `pool` | OpenStackFloatingIPPools: floating IPs for IPAddressClaims |
| `floating` | OpenStackServers get their floating IP from a pool, of any provider |
| `identity` | Secrets with credentials, held while they are needed |
| `ownership`, `owners`, `recorders`, `taken` | the owner of a resource, by mark or by record; its text for people |
| `status`, `trouble`, `objects` | conditions; failures as conditions; what all controllers do alike |
| `sending`, `refused`, `collected` | requests to send now; refused writes as conditions; garbage collection |
| `questions`; `looking` in each package | what a decision asks a project, and who answers; the rules that ask |
| `filters`, `constants` | parameters of the API as queries; names shared with Cluster API and its provider |
| `create` | `create_instance`, the same core for programs without Kubernetes |
| `overview` | what exists in clouds beside what objects say: trees of clusters, orphans |
| `versions` | objects of v1beta1 as v1beta2 and back, for files; pure |
| `beside`, `service`, `controllers` | the process, which never works beside another provider |
| `planning`, `policies`, `owned`, `metrics` | plans, admission policies, CRDs, figures |
| `capability`, `installation`; `cli`, `demo` | all of it as a value; its commands and its demo |
| `provider_spec_reading` | what a provider spec of the Machine API asks for, for machine sync too; pure |
"""
