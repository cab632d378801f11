module windlass.invalid/cluster-api-provider-openstack

go 1.26.0

require sigs.k8s.io/cluster-api-provider-openstack v0.13.0
