"""New columns of what is no table of numbers yet."""
