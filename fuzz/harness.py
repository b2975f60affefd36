"""The process of one harness, which atheris leads: `python -m fuzz.harness stores [options of libFuzzer]`."""

import importlib
import pkgutil
import sys

import atheris


def main():
    instrument()
    one = importlib.import_module(f"fuzz.{sys.argv.pop(1)}").one
    choices = importlib.import_module("fuzz.choices").Choices
    atheris.Setup(sys.argv, lambda content: one(choices(content)))
    atheris.Fuzz()


def instrument():
    """Import every module of streamnb, lazy ones too, so that atheris sees which lines run; before all else."""
    with atheris.instrument_imports(include=["streamnb"]):
        package = importlib.import_module("streamnb")
        for module in pkgutil.walk_packages(package.__path__, "streamnb."):
            if not module.name.startswith("streamnb.reporting"):
                importlib.import_module(module.name)


if __name__ == "__main__":
    main()
