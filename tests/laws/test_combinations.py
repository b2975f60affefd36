"""Every family under every penalty in every scheme, as the two tables of docs/models.md tell it."""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import streamnb as snb

PAGE = (Path(__file__).parents[2] / "docs" / "models.md").read_text()
K, N_FEATURES, KEPT = 4, 6, 2
NOT_DEFINED = "–"
N_ROWS = {"K": K, "K(K - 1)/2": K * (K - 1) // 2, "K - 1": K - 1, "1": 1, "labels": 3, "labels - 1": 2}  # of coef_


class Tweedie(snb.Family):
    """A family of one's own: variance m^1.5."""

    name = "tweedie of the combinations"
    lowest = 0.0

    def link(self, m):
        return -2.0 / np.sqrt(m)

    def variance(self, m):
        return m**1.5

    def cumulant(self, m):
        return 2.0 * np.sqrt(m)


FAMILIES = {
    "Gaussian": [snb.Gaussian()],
    "Poisson": [snb.Poisson()],
    "Bernoulli": [snb.Bernoulli()],
    "Binomial": [snb.Binomial(6)],
    "Geometric": [snb.Geometric()],
    "NegativeBinomial": [snb.NegativeBinomial(2.5)],
    "Gamma": [snb.Gamma(), snb.Gamma(dispersion="ml")],
    "InverseGaussian": [snb.InverseGaussian(), snb.InverseGaussian(dispersion="ml")],
    "Laplace": [snb.Laplace(1.5)],
    "ChiSquared": [snb.ChiSquared()],
    "Multinomial": [snb.Multinomial()],
    "Categorical": [snb.Categorical([2, 2, 2])],
    "your own": [Tweedie()],
    "Dirichlet": [snb.Dirichlet()],
    "Beta": [snb.Beta()],
    "Mixed": [snb.Mixed({"gaussian": [0, 3], "bernoulli": 1, snb.Binomial(6): ...})],
    "Mixed with Multinomial": [snb.Mixed({"gaussian": [0, 3], "multinomial": ...})],
    "Mixed with Dirichlet or Beta": [
        snb.Mixed({"gaussian": [0, 3], "beta": ...}),
        snb.Mixed({"poisson": [0, 3], "dirichlet": ...}),
    ],
}
PENALTIES = {
    "none": [None],
    "L1": [snb.L1(1.5), snb.L1(0.7, scale="score")],
    "L2": [snb.L2(0.8), snb.L1(0.5) + snb.L2(0.4)],
    "TopK": [snb.TopK(KEPT), snb.TopK(KEPT, by="likelihood") + snb.L2(0.5)],
    "Decorrelation": [
        snb.Decorrelation(0.2),
        snb.Decorrelation(0.2, scale="curvature"),
        snb.L1(0.5) + snb.Decorrelation(0.2),
    ],
    "Separable": [snb.Separable(lambda w: -np.tanh(w), 0.9)],
}
SCHEMES = {  # the scheme's name, number of classes, and whether y is an indicator
    "joint": ("joint", K, False),
    "ovr": ("ovr", K, False),
    "ovo": ("ovo", K, False),
    "reference": ("reference", K, False),
    "two classes": ("joint", 2, False),
    "2-D y": ("joint", K, True),
    "2-D y, reference": ("reference", K, True),
}


# ---- what PAGE says ------------------------------------------------------------------------------------------------


def table(first_cell):
    """Cells of the table whose first column has that title: {row: {column: cell}}."""
    lines = PAGE[PAGE.index(f"| {first_cell} |") :].split("\n\n")[0].splitlines()
    cells = [[cell.strip().replace("`", "") for cell in line.strip("|").split("|")] for line in lines]
    return {row[0]: dict(zip(cells[0][1:], row[1:])) for row in cells[2:]}


def plain(name):
    """The name of a family without its parameters and links."""
    return re.sub(r"\(.*?\)|\[|\]", "", name)


FAMILY_TABLE = {plain(name): row for name, row in table("family").items()}
SCHEME_TABLE = table("scheme")


def is_defined(family, penalty, scheme):
    return FAMILY_TABLE[family][penalty] != NOT_DEFINED and SCHEME_TABLE[scheme][penalty] != NOT_DEFINED


def test_readme_names_what_there_is():
    assert FAMILY_TABLE.keys() == FAMILIES.keys() and SCHEME_TABLE.keys() == SCHEMES.keys()
    for row in [*FAMILY_TABLE.values(), *SCHEME_TABLE.values()]:
        assert row.keys() >= PENALTIES.keys()
    public = [getattr(snb, name) for name in snb.__all__]
    classes = {kind.__name__ for kind in public if isinstance(kind, type) and issubclass(kind, snb.Family)}
    assert classes - {"Family"} <= FAMILIES.keys()


# ---- one cell --------------------------------------------------------------------------------------------------------


@cache
def rows(family, n_classes, indicator):
    """Small counts with zeros where the family takes them, shares where it takes these."""
    rng = np.random.default_rng(7)
    y = np.concatenate([np.repeat(np.arange(n_classes), 5), rng.integers(0, n_classes, 45)])
    x = rng.binomial(5, rng.uniform(0.1, 0.7, (n_classes, N_FEATURES))[y]).astype(float)
    if family.name == "categorical":  # of each pair of columns the larger count
        first = x[:, ::2] >= x[:, 1::2]
        x = np.stack([first, ~first], axis=2).reshape(len(y), N_FEATURES).astype(float)
    if any(member.lowest > 0.0 for member in family.members):
        x += 1.0
    if any(member.name in ("beta", "dirichlet") for member in family.members):
        x /= x.sum(axis=1, keepdims=True)
    return x, (np.column_stack([y == 0, y > 0, (y == 2) | (x[:, 0] > 3)]).astype(int) if indicator else y)


@cache
def scanned(family, n_classes, indicator, sparse):
    x, y = rows(family, n_classes, indicator)
    return snb.scan(sp.csr_array(x) if sparse else x, y, moments=family.moments, binarize=1.0, centre=family.centre)


def growth(penalty, w):
    """What the penalty keeps small, -R(w) up to its strength."""
    kinds = {part.kind for part in (penalty.parts if penalty else ())}
    if "top_k" in kinds:
        return np.count_nonzero(w, axis=1).max()
    parts = {
        "l1": lambda: 0.5 * np.abs(w).sum() if len(kinds) > 1 else np.abs(w).sum(),
        "l2": lambda: 0.2 * (w * w).sum(),
        "decorrelation": lambda: 0.1 * (w.sum(axis=0) ** 2 - (w * w).sum(axis=0)).sum(),
        "separable": lambda: np.log(np.cosh(w)).sum(),
    }
    return sum(parts[kind]() for kind in kinds)


def check_answers(model, x, scheme, indicator):
    """Labels follow from the scores, probabilities add up, and sparse rows get the same."""
    scores, found = model.decision_function(x), model.predict(x)
    assert np.isfinite(scores).all()
    np.testing.assert_allclose(model.decision_function(sp.csr_array(x)), scores, rtol=1e-9, atol=1e-9)
    if scheme == "2-D y, reference":
        assert np.array_equal(np.delete(found, 1, axis=1), scores > 0) and not found[:, 1].any()
    elif indicator:
        assert np.array_equal(found, scores > 0)
    elif len(model.classes_) == 2:
        assert np.array_equal(found, model.classes_[(scores > 0).astype(int)])
    else:
        assert np.array_equal(found, model.classes_[scores.argmax(axis=1)])
    assert hasattr(model, "predict_proba") == (SCHEME_TABLE[scheme]["predict_proba"] != "none")
    if scheme != "ovo":
        proba = model.predict_proba(x)
        assert ((proba >= 0.0) & (proba <= 1.0)).all()
        assert indicator or np.allclose(proba.sum(axis=1), 1.0)


def cells():
    """Each family in each scheme, and a number, by which every family and scheme meets each penalty."""
    families = [(family, row) for row, objects in FAMILIES.items() for family in objects]
    for i, (family, row) in enumerate(families):
        for j, scheme in enumerate(SCHEMES):
            yield pytest.param(family, scheme, row, i + j, id=f"{family}-{scheme}")


@pytest.mark.parametrize(("family", "scheme", "row", "number"), list(cells()))
def test_the_cells_are_what_readme_says(family, scheme, row, number):
    """A penalty of every second kind for a family in a scheme."""
    name, n_classes, indicator = SCHEMES[scheme]
    options = {"scheme": name, "reference": 1 if name == "reference" else None, "overlap": "keep"}
    dense, sparse = (scanned(family, n_classes, indicator, sparse) for sparse in (False, True))
    for moment, table in dense.tables.items():  # equal to the last bit, and so are the weights from them
        assert np.array_equal(table.value(), sparse.tables[moment].value())
    x = rows(family, n_classes, indicator)[0]
    free = snb.solve(dense, family, None, **options)[0]
    for kind, some in [*PENALTIES.items()][number % 2 :: 2]:
        penalty = some[number // 2 % len(some)]
        if not is_defined(row, kind, scheme):
            with pytest.raises(ValueError, match=r"penalty=.* (is not defined for|needs at least 3 classes)"):
                snb.solve(dense, family, penalty, **options)
            continue
        model = snb.solve(dense, family, penalty, **options)[0]
        assert model.coef_.shape == (N_ROWS[SCHEME_TABLE[scheme]["rows"]], N_FEATURES), penalty
        assert np.isfinite(model.coef_).all() and np.isfinite(model.intercept_).all() and model.coef_.any(), penalty
        if penalty is not None:
            assert growth(penalty, model.coef_) < growth(penalty, free.coef_), penalty
        check_answers(model, x, scheme, indicator)
