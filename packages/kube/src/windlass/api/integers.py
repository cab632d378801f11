"""The integer widths of Go types: decoding refuses a number that does not fit.

Python integers have no bounds. Without these types, a value that the Go program cannot hold would not be noticed.
"""

from typing import Annotated

from msgspec import Meta

Int32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]

MAX_INT32 = 2**31 - 1
