"""The live page on the HTTP port: what it shows, who may see it, and how it is served."""
