"""Which penalties are defined for which families and schemes, and what models of normal rows do not take."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from streamnb.problem.family import Family
from streamnb.problem.penalties import Custom, Decorrelation, Penalty
from streamnb.problem.priors import Prior
from streamnb.problem.schemes import Joint, LabelReference, OneVsOne, Scheme, TwoClasses
from streamnb.problem.together import Together
from streamnb.solving.own_variances import is_own

CURES = {
    "idf": "scale the columns",
    "smoothing": "give a number, which has no effect here",
    "feature_weight": "scale the columns",
}


def check_normal(family: Family, penalty: Penalty | None, scheme: Scheme, options: Mapping[str, Any]) -> None:
    """Raise an error for what variances or covariances of each class do not go with; nothing for other families."""
    if not (family.covariant or is_own(family)):
        return
    named = f"family={family!r}"
    if not isinstance(scheme, Joint | TwoClasses):
        given = "a 2-D y" if scheme.multilabel else f"scheme={scheme.name!r}"
        raise ValueError(
            f"{named} is for scheme='joint' and one label a row, not for {given}; covariance='diagonal' is for all"
        )
    if penalty is not None:
        raise ValueError(f"{named} takes no penalty, not penalty={penalty!r}; covariance='diagonal' takes penalties")
    for option, cure in CURES.items():
        value = options.get(option)
        number = option == "smoothing" and not isinstance(value, Prior | str)
        if not (number or value is None or value is False):
            shown = "[..]" if np.ndim(value) else repr(value)
            raise ValueError(f"{named} does not go with {option}={shown}; {cure}, or take covariance='diagonal'")


def check_penalty(penalty: Penalty | None, family: Family, scheme: Scheme, n_classes: int) -> None:
    """Raise an error for a penalty that is not defined for this family, scheme or number of classes."""
    check_normal(family, penalty, scheme, {})
    if penalty is None:
        return
    for member in family.members:
        if isinstance(member, Together):
            raise ValueError(
                f"penalty={penalty!r} is not defined for family={member.name!r}, whose parameters are fitted together; "
                "it should be None (LinearNBCV, which chooses a penalty, is not for this family)"
            )
    parts = {part.kind: part for part in penalty.parts}
    for kind in (Custom.kind, Decorrelation.kind):
        for member in family.members:
            if kind in parts and member.coupled:
                raise ValueError(
                    f"penalty={parts[kind]!r} is not defined for family={member.name!r}, whose features are coupled "
                    "already; take another family, 'poisson' for counts"
                )
    if Decorrelation.kind not in parts:
        return
    part = parts[Decorrelation.kind]
    n_classes += isinstance(scheme, LabelReference) and scheme.reference is None  # the rows without any label
    if n_classes < 3:
        raise ValueError(f"penalty={part!r} needs at least 3 classes to set apart; there are {n_classes}")
    if isinstance(scheme, OneVsOne):
        raise ValueError(
            f"penalty={part!r} is not defined for scheme='ovo', whose rows are pairs of classes; "
            "it should be 'joint', 'ovr' or 'reference'"
        )
