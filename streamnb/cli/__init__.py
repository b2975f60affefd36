"""The command line: `streamnb`, or `python -m streamnb`."""
