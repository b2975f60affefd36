"""Rows for tests of pictures, and what pictures say."""

import numpy as np


def counts():
    """Counts of six features in rows of three classes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 60)
    return rng.poisson(rng.gamma(1.0, 1.0, (3, 6))[y]).astype(float), y


def title(display):
    """The title of a display on one line."""
    return " ".join(display.ax_.get_title("left").split())


def names_of(display):
    """Texts of the legend, which belongs to the axes or, where there is one alone, to the figure."""
    legends = [*display.figure_.legends, *filter(None, [display.ax_.get_legend()])]
    return [text.get_text() for legend in legends for text in legend.get_texts()]
