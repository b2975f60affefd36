"""The choice of taus, of families, of features."""
