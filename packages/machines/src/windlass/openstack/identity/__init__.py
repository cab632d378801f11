"""Credentials of objects, and the Secrets that hold them."""
