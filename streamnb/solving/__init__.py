"""Weights: by equations from statistics alone, and by descent where a model needs several reads of the rows."""
