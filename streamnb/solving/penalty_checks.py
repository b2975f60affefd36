"""Which penalties are defined for which families and schemes."""

from streamnb.problem.family import Family
from streamnb.problem.penalties import Custom, Decorrelation, Penalty
from streamnb.problem.schemes import LabelReference, OneVsOne, Scheme
from streamnb.problem.together import Together
from streamnb.solving.own_variances import check_own


def check_penalty(penalty: Penalty | None, family: Family, scheme: Scheme, n_classes: int) -> None:
    """Raise an error for a penalty that is not defined for this family, scheme or number of classes."""
    check_own(penalty, family, scheme)
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
