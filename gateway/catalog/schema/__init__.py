"""The schema of the catalog: each kind of entity, its fields, and the forms they take."""
