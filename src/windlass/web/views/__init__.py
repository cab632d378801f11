"""The views of capabilities: one module each, with a function that makes the `View`."""
