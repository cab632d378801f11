"""One cloud: credentials, requests, failures, gates, what exists and what changed."""
