"""One request and its response on their way, and what a connection holds between them."""
