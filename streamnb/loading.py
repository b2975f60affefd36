"""Reading what was saved; the name of its class is looked up among those that the modules named here register."""

from streamnb import comparing, dirichlet, mixed
from streamnb.estimators import categorical_nb, discrete_nb, gaussian_nb, linear_nb_cv, selector
from streamnb.persistence import load

REGISTERED = comparing, dirichlet, mixed, categorical_nb, discrete_nb, gaussian_nb, linear_nb_cv, selector

__all__ = ["load"]
