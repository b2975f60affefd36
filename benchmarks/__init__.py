"""Measures of speed, memory and accuracy; asv runs those in `timed`."""
