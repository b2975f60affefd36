"""Learns from rows that stay where they are: sites share sums, and their rows with nobody."""
