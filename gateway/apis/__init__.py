"""The APIs: the declaration of each, and the handlers of its requests and responses, in folders for
Kafka's domains.

A module has the name of its API, or of a family of APIs with the same handlers. Its docstring
describes the gateway's handling of them. ``generic`` handles every API that only carries names;
``table`` finds the declarations and makes the plans.
"""
