"""How long tests wait for what they are not about."""

PATIENCE = 180.0
"""Seconds for something to come true where the test is not about how long it takes: what takes one on an idle machine
takes a minute beside everything else that a busy one may be doing."""
