"""What each operator makes of its objects, as plain Pods and Services; one module an operator, sources named there."""
