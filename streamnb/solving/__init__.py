"""Statistics and a problem become weights, without rows."""
