"""What CEL is tried on: definitions of others with many rules, objects that keep them, and each with one fault."""
