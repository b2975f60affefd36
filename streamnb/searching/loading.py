"""Reading what was saved; the name of its class is looked up among those that the modules named here register."""

from streamnb.core.persistence import load
from streamnb.encoding import svmlight_encoding, table_encoding, text
from streamnb.estimators import (
    bins,
    categorical_nb,
    category_counters,
    crammer_singer,
    discrete_nb,
    discriminant_analysis,
    gaussian_nb,
    generalized_nb,
    hierarchy_nb,
    label_space,
    least_squares,
    linear_nb_cv,
    output_code_nb,
    selector,
    stacked_nb,
    trained_cv_models,
    tree_nb,
)
from streamnb.problem import mixed, together
from streamnb.searching import found
from streamnb.selection import comparison

REGISTERED = (
    table_encoding,
    svmlight_encoding,
    text,
    found,
    comparison,
    together,
    mixed,
    bins,
    categorical_nb,
    category_counters,
    crammer_singer,
    discrete_nb,
    discriminant_analysis,
    gaussian_nb,
    generalized_nb,
    hierarchy_nb,
    label_space,
    least_squares,
    linear_nb_cv,
    output_code_nb,
    tree_nb,
    selector,
    stacked_nb,
    trained_cv_models,
)
__all__ = ["load"]
