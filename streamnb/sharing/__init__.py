"""Learns from rows at several sites, which share sums but no rows."""
