"""The controller that gives an OpenStackServer its floating IP from a pool, of any provider.

    OpenStackServer ──> IPAddressClaim NAME-floating-ip-address ──(provider of the pool)──> IPAddress
          └── its port <── the floating IP with that address

It says how far it is in `FloatingAddressFromPoolReady`. The claim has a finalizer, so the address stays claimed until
the server is gone; with its port it leaves the floating IP.
"""
