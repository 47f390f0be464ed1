"""The APIs: a declaration of each, and the handlers of its requests and responses, in a folder for
each of Kafka's domains.

A module bears the name of its API, or of a family whose handlers are the same. Its docstring tells
what the gateway does with them. ``generic`` handles every API that only carries names; ``table``
finds the declarations and makes the plans.
"""
