"""Loads what was saved; imports the modules whose classes may be in a file."""

from streamnb.additive import classifier, regressor
from streamnb.core.persistence import load
from streamnb.encoding import opening, sequences, table_encoding, text
from streamnb.estimators import (
    categorical_nb,
    category_counters,
    class_sets,
    crammer_singer,
    discriminant_analysis,
    drop_ins,
    linear_nb_cv,
    selector,
    stacked_nb,
    trained_models,
    transformers,
    tree_nb,
)
from streamnb.problem import mixed, together
from streamnb.regression import chosen, generalized, penalised
from streamnb.searching import comparing, search_result
from streamnb.sharing import rounds, schema

REGISTERED = (
    table_encoding,
    opening,
    text,
    sequences,
    search_result,
    comparing,
    together,
    mixed,
    classifier,
    regressor,
    chosen,
    penalised,
    generalized,
    rounds,
    schema,
    categorical_nb,
    category_counters,
    class_sets,
    crammer_singer,
    discriminant_analysis,
    drop_ins,
    linear_nb_cv,
    tree_nb,
    selector,
    stacked_nb,
    trained_models,
    transformers,
)
__all__ = ["load"]
