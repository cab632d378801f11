module windlass.invalid/cluster-api-provider-gcp

go 1.26.0

require sigs.k8s.io/cluster-api-provider-gcp v1.13.1
