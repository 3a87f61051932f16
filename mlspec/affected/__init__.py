"""A root and a revision in, the project files out that a change touches: what differs, and what that may concern.

Everything that mlspec says of a project follows from its own files, the environments, and mlspec itself; but names and
namespaces are shared by all projects of a root. So a project file is taken where one of its own files differs (itself,
what it ships, what was generated for it), where it may claim what one of those claims, and every one where an
environment or mlspec itself differs. What is taken in excess costs time only.
"""
