"""The view of the web page that shows machines: what it publishes (`machines`), and its script (`static`)."""
