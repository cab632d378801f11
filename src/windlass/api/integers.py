"""The integer widths of Go types: a number that does not fit is refused when it is read.

Python integers have no bounds, so without these a value that the Go program cannot hold would travel on unnoticed.
"""

from typing import Annotated

from msgspec import Meta

Int32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]

MAX_INT32 = 2**31 - 1
