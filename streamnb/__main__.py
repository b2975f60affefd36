"""`python -m streamnb` is the command `streamnb`."""

from streamnb.cli.start import main

if __name__ == "__main__":
    main()
