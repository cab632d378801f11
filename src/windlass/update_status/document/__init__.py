"""A report as the status of the UpdateStatus object, and back."""
