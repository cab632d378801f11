"""`windlass openstack orphans`: on the models of an API server and a cloud."""
