"""The controller of OpenStackFloatingIPPools: floating IPs for IPAddressClaims.

    claims, IPAddresses, floating IPs ── addresses.allocate ──> who has which, what is missing ── decide ──> Plan

| step | stored in |
|---|---|
| an address is kept for a claim | `status.claims` of the pool, under its resourceVersion |
| the IPAddress, of the claim's name | created after that, so no address is given twice |
| the claim is told | `status.addressRef` of the claim |
| the claim goes, then its IPAddress, by the garbage collector | it has a finalizer until the floating IP is reclaimed |

`addresses` has the rules; it is pure and knows nothing of conditions. `claiming` says which floating IPs are the
pool's.
"""
