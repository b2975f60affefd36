"""Compiled loops over plain arrays. They neither check nor allocate: their input was validated at the boundary."""
