"""Renders a report as text for terminals.

| module | what it renders |
|---|---|
| `table` | columns |
"""
