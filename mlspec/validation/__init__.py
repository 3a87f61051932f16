"""What the API server and operators' webhooks check of an object beyond its schema, as functions with their sources."""
