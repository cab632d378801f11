module windlass.invalid/machine-config-api

go 1.26.0

require github.com/openshift/api v0.0.0-20250320115527-3aa9dd5b9002
