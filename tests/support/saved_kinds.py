"""One small file of each kind for every version of the container, and what it holds: they stay readable for ever.

`python -m tests.support.saved_kinds` writes the files of the present version that are missing, and their answers.
"""

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

import streamnb as snb
from streamnb.core.persistence import FORMAT_VERSION, save
from streamnb.encoding.sequences import KMers
from streamnb.encoding.table_encoding import TableEncoding
from streamnb.estimators.regressor import LinearRegressor
from streamnb.passes.checkpoint import Checkpoint
from streamnb.scanning.rounds import Answer, Round, SiteSums
from streamnb.solving.normal_models import CovariancePath

HERE = Path(__file__).parent / "formats"
X = (np.arange(40).reshape(10, 4) * 7 % 5).astype(float)
Y = np.array(["ash", "birch", "cedar", "ash", "birch", "ash", "cedar", "birch", "ash", "ash"])
LABELS = np.array([[1, 0, 1], [0, 1, 1], [0, 0, 0], [1, 1, 0], [0, 1, 1]] * 2)
TEXTS = [
    "an ash tree",
    "birch bark",
    "cedar oil",
    "ash",
    "bark of birch",
    "birch",
    "oil",
    "birch tree",
    "ash tree",
    "ash",
]
TABLE = pd.DataFrame(
    {
        "tree": [text.split()[0] for text in TEXTS],
        "age": X[:, 1],
        "height": np.where(X[:, 0] > 3, np.nan, X[:, 0]),
        "day": pd.to_datetime([f"2020-0{1 + i % 3}-0{1 + i % 2}" for i in range(10)]),
        "note": TEXTS,
    }
)
SEQUENCES = ["ACGTNACGT", "gguucc", "TTTTT"]
NUMBERS = np.array([1.5, 0.25, 3.0, -1.0, 2.0, 0.5, 4.25, 1.0, 0.0, -2.5])
AMOUNTS = NUMBERS + 3.0
WEIGHT = np.array([0.1, 1.0, 2.5, 0.3, 1.0, 1.0, 4.0, 0.7, 1.0, 0.2])  # whose sums need pairs


def portable(model):
    with TemporaryDirectory() as folder:
        model.save(Path(folder, "m.snb"), stats=False, meta={"rows": 10})
        return snb.load(Path(folder, "m.snb"))


def stats(y=Y, **options):
    return snb.scan(X, y, sample_weight=WEIGHT, **options)


def checkpoint():
    with TemporaryDirectory() as folder:
        stats(folds=2, checkpoint=f"{folder}/c.snb")
        return snb.load(f"{folder}/c.snb")


def schema(**options):
    return snb.schema(TABLE.assign(y=Y), "y", bins=2, folds=2, **options)


def site_sums():
    return schema().scan(TABLE.assign(y=Y), site="here")


def begun():
    """A fit in rounds that waits for its second."""
    asked = schema().fit(snb.SoftmaxRegression(0.5, tol=1e-3))
    return asked.step(asked.read(TABLE.assign(y=Y), site="here"))


NEEDS = "hits", "confusion", "ranking", "pairs", "probabilities", "multilabel"


CALIBRATION = "hits", "probabilities", "reliability"  # histograms of scores by bucket of groups take megabytes


def judged(y, needs=NEEDS, groups=None, **options):
    """A model judged on the rows that it was fitted on."""
    model = snb.LinearNB("poisson").fit(X, y, WEIGHT)
    evaluation = snb.Evaluation(3, needs, classes=model.classes_, **options)
    codes, predicted = (v if v.ndim == 2 else np.searchsorted(model.classes_, v) for v in (y, model.predict(X)))
    scores = {"ranking": model.decision_function(X), "log_proba": model.predict_log_proba(X)}
    evaluation.add(codes, WEIGHT, predicted=predicted, groups=groups, **scores)
    return evaluation


def private():
    bounded = {"clip": snb.Clip(presence=True, max_features=2), "classes": ["ash", "birch", "cedar"], "n_features": 4}
    return snb.scan(X.repeat(99, axis=0), Y.repeat(99), **bounded).privatize(20.0, delta=1e-6)


KINDS = {
    "stats": lambda: stats(moments=["sum", "sum_sq", "nonzero", "above", "deviation"], centre=1.5),
    "stats-folds": lambda: stats(folds=2, repeats=2, seed=3),
    "stats-histogram": lambda: stats(folds=2, histogram="bins", n_bins=4),
    "stats-products": lambda: stats(moments=["sum", "gram", "gram_above"], folds=2, exact=True),
    "stats-private": lambda: private(),
    "model-private": lambda: snb.solve(private(), "bernoulli")[0],
    "stats-pooled": lambda: stats(LABELS, moments=["sum", "gram"], pooled=True),
    "stats-labels": lambda: stats(LABELS, folds=2),
    "linear-nb": lambda: snb.LinearNB("gaussian", snb.L1(0.3) + snb.L2(0.1)).fit(X, Y, WEIGHT),
    "linear-nb-covariance": lambda: snb.LinearNB(snb.Gaussian(covariance="full", shrinkage=(0.5, 0.1))).fit(
        X, Y, WEIGHT
    ),
    "linear-nb-cv-covariance": lambda: snb.LinearNBCV(
        snb.Gaussian(covariance="pooled", shrinkage=[0.1, 0.5]), folds=2
    ).fit(X, Y, WEIGHT),
    "linear-nb-cv-maps": lambda: snb.LinearNBCV(
        snb.Gaussian(covariance="pooled", shrinkage=[0.1, 0.5], maps="auto"), folds=2, scoring="accuracy"
    ).fit(X, Y, WEIGHT),
    "covariance-path": lambda: snb.solve(
        stats(moments=["sum", "gram"]), snb.Gaussian(covariance="full", shrinkage=0.2)
    ),
    "covariance-model": lambda: snb.solve(
        stats(moments=["sum", "gram"]), snb.Gaussian(covariance="full", shrinkage=0.2)
    )[0],
    "linear-nb-isotonic": lambda: snb.LinearNB("poisson").fit(X, Y, WEIGHT).calibrate(X, Y, method="isotonic"),
    "linear-nb-labels": lambda: snb.LinearNB("poisson", transform="sqrt", idf=True).fit(X, LABELS, WEIGHT),
    "linear-nb-reference": lambda: snb.LinearNB(
        "poisson", snb.TopK({0: 2, 1: 0, 2: 4}), scheme="reference", reference=snb.UNLABELLED
    ).fit(X, LABELS, WEIGHT),
    "linear-nb-cv-reference": lambda: snb.LinearNBCV(
        "poisson",
        snb.TopK([1, 3]),
        rule="per_split",
        return_train_score=True,
        folds=np.arange(10) // 5,
        scheme="reference",
        reference=2,
        overlap="keep",
        scoring="roc_auc_reference",
    ).fit(X, LABELS, WEIGHT),
    "linear-nb-mixed": lambda: snb.LinearNB(snb.Mixed({"poisson": [0, 2], snb.Binomial(4): ...})).fit(X, Y, WEIGHT),
    "linear-nb-groups": lambda: snb.LinearNB(
        snb.Mixed([("multinomial", [0, 3]), ("multinomial", slice(1, 3))]), snb.TopK(1)
    ).fit(X, Y, WEIGHT),
    "linear-nb-prior": lambda: snb.LinearNB("bernoulli", smoothing=snb.BetaPrior(2.0, [1.0, 2, 3, 4])).fit(X, Y),
    "linear-nb-decides": lambda: snb.LinearNB("poisson", threshold=0.4, reject_label="none").fit(X, Y),
    "linear-nb-class-threshold": lambda: (
        snb.LinearNB("poisson", smoothing=1.0).fit(X, Y).set_threshold(np.float32(0.5), "birch")
    ),
    "linear-model": lambda: snb.solve(stats(), "poisson", snb.TopK(2), scheme="reference", reference="birch")[0],
    "linear-model-sparse": lambda: snb.solve(stats(), "bernoulli", snb.L1(0.5), scheme="ovo")[0].sparsify(),
    "linear-model-few": lambda: snb.solve(stats(), "poisson", snb.TopK(1))[0],
    "linear-nb-cv": lambda: snb.LinearNBCV("poisson", snb.L1([0.1, 1.0]), folds=2).fit(X, Y, WEIGHT),
    "softmax-texts": lambda: snb.SoftmaxRegression(tol=1e-3).fit(snb.text(TEXTS, y=Y, chars=(1, 2), n_features=4)),
    "linear-nb-sequences": lambda: snb.LinearNB("multinomial", smoothing=0.001).fit(
        snb.sequences(SEQUENCES, Y[:3], k=2, both_strands=True)
    ),
    "linear-nb-table": lambda: snb.LinearNB("auto").fit(
        snb.table(TABLE, Y, bins={"age": 2, "height": None}, text=["note"], pairs=[("tree", "age")], hash_features=4)
    ),
    "softmax-regression": lambda: snb.SoftmaxRegression(0.5, tol=1e-3, normalize="l2", idf=True).fit(X, Y, WEIGHT),
    "softmax-bins": lambda: snb.SoftmaxRegression(0.5, tol=1e-3, transform=snb.Bins(3)).fit(X, Y),
    "margin-classifier": lambda: snb.MarginClassifier(0.5, tol=1e-3, max_passes=200).fit(X, LABELS),
    "linear-discriminant-analysis": lambda: snb.LinearDiscriminantAnalysis("lsqr", 0.1).fit(X, Y, WEIGHT),
    "quadratic-discriminant-analysis": lambda: snb.QuadraticDiscriminantAnalysis(reg_param=0.1).fit(X, Y, WEIGHT),
    "least-squares-classifier": lambda: snb.LeastSquaresClassifier(0.5).fit(X, LABELS, WEIGHT),
    "margin-classifier-calibrated": lambda: snb.MarginClassifier(0.5, tol=1e-2, calibration="sigmoid").fit(
        np.tile(X, (4, 1)), np.tile(Y, 4)
    ),
    "crammer-singer-svm": lambda: snb.CrammerSingerSVM(0.5).fit(X, Y, WEIGHT),
    "crammer-singer-svm-cv": lambda: snb.CrammerSingerSVMCV([0.1, 0.5], folds=2, scoring="accuracy").fit(X, Y, WEIGHT),
    "generalized-nb": lambda: snb.GeneralizedNB(0.5, 3).fit(X, Y, WEIGHT),
    "additive-classifier": lambda: snb.AdditiveClassifier([(0, 1)], l2=1.0, resolutions=(2, 4), folds=2).fit(
        X, Y, WEIGHT
    ),
    "additive-regressor": lambda: snb.AdditiveRegressor(
        interactions=[(0, 1)], l2=1.0, pair_factor=1.0, resolutions=(2, 4), folds=2
    ).fit(X, NUMBERS, WEIGHT),
    "additive-regressor-poisson": lambda: snb.AdditiveRegressor(
        "poisson", interactions=[(0, 1)], l2=1.0, pair_factor=1.0, resolutions=(2, 4), folds=2
    ).fit(X, AMOUNTS, offset=WEIGHT),
    "additive-regressor-quantile": lambda: snb.AdditiveRegressor(
        "quantile", quantile=0.8, interactions=0, l2=1.0, resolutions=(2, 4), folds=2
    ).fit(X, NUMBERS, WEIGHT),
    "poisson-regressor": lambda: snb.PoissonRegressor(0.1).fit(X, AMOUNTS, offset=WEIGHT),
    "gamma-regressor": lambda: snb.GammaRegressor(0.1, standardize=True).fit(TABLE, AMOUNTS),
    "tweedie-regressor": lambda: snb.TweedieRegressor(1.5, 0.1).fit(X, AMOUNTS, WEIGHT),
    "poisson-regressor-cv": lambda: snb.PoissonRegressorCV(n_alphas=3, folds=2).fit(X, AMOUNTS, WEIGHT),
    "gamma-regressor-cv": lambda: snb.GammaRegressorCV(n_alphas=3, folds=2).fit(X, AMOUNTS, offset=WEIGHT),
    "tweedie-regressor-cv": lambda: snb.TweedieRegressorCV(1.5, n_alphas=3, folds=2).fit(X, AMOUNTS, WEIGHT),
    "ridge": lambda: snb.Ridge(0.5).fit(X, NUMBERS, WEIGHT),
    "ridge-table": lambda: snb.Ridge(0.5).fit(TABLE, NUMBERS),
    "ridge-wide": lambda: snb.Ridge(0.5, solver="conjugate_gradients").fit(X, NUMBERS, WEIGHT),
    "lasso": lambda: snb.Lasso(0.1).fit(X, np.column_stack([NUMBERS, X[:, 0]])),
    "elastic-net": lambda: snb.ElasticNet(0.1).fit(X, NUMBERS, WEIGHT),
    "elastic-net-cv": lambda: snb.ElasticNetCV(n_alphas=5, folds=2).fit(X, NUMBERS, WEIGHT),
    "forward-regression": lambda: snb.ForwardRegression(2).fit(X, NUMBERS, WEIGHT),
    "target-sums": lambda: snb.Ridge().fit(X, NUMBERS, WEIGHT).stats_,
    "softmax-regression-cv": lambda: snb.SoftmaxRegressionCV([1.0, 5.0], folds=2, max_passes=20).fit(X, Y, WEIGHT),
    "margin-classifier-cv": lambda: snb.MarginClassifierCV(5.0, folds=2, max_passes=20).fit(X, LABELS),
    "least-squares-classifier-cv": lambda: snb.LeastSquaresClassifierCV(0.5, folds=2).fit(X, LABELS, WEIGHT),
    "label-space": lambda: snb.LabelSpace(2, 0.5).fit(X, LABELS, WEIGHT),
    "label-space-cv": lambda: snb.LabelSpaceCV([1, 2], 0.5, folds=2).fit(X, LABELS, WEIGHT),
    "stacked-nb": lambda: snb.StackedNB(["poisson", snb.LinearNB("bernoulli", binarize=2.0)], "gaussian", folds=2).fit(
        X, Y, WEIGHT
    ),
    "multinomial-nb": lambda: snb.MultinomialNB(alpha=0.5).fit(X, Y, WEIGHT),
    "complement-nb": lambda: snb.ComplementNB().fit(X, Y, WEIGHT),
    "bernoulli-nb": lambda: snb.BernoulliNB(binarize=1.0).fit(X, Y, WEIGHT),
    "poisson-nb": lambda: snb.PoissonNB().fit(X, Y, WEIGHT),
    "gaussian-nb": lambda: snb.GaussianNB().fit(X, Y, WEIGHT),
    "categorical-nb": lambda: snb.CategoricalNB().fit(X.astype(int), Y, WEIGHT),
    "tree-nb": lambda: snb.TreeNB(snb.L1(0.2), strength=2.0).fit(X, Y, WEIGHT),
    "tree-nb-bins": lambda: snb.TreeNB(transform=snb.Bins(3), max_features=3).fit(X, Y, WEIGHT),
    "output-code-nb": lambda: snb.OutputCodeNB("poisson", snb.L1(0.1), code_size=2.0).fit(X, Y, WEIGHT),
    "hierarchy-nb": lambda: snb.HierarchyNB({"ash": "broad", "birch": "broad"}).fit(X, Y, WEIGHT),
    "weight-path": lambda: snb.solve(stats(), "poisson", snb.L1(n_taus=3) + snb.L2([0.1, 1.0]), scheme="ovr"),
    "bins": lambda: snb.Bins(3).fit(X),
    "category-counters": lambda: snb.CategoryCounters([1, {"ash": 1, "birch": 2, "cedar": 0.5}], 2, [(0, 1)]).fit(X, Y),
    "linear-categorical": lambda: snb.LinearNB(
        snb.Mixed({"categorical": [0, 2], snb.Binomial(9): ...}), snb.TopK(2)
    ).fit(X.astype(int), Y, WEIGHT),
    "linear-indicators": lambda: snb.LinearNB(snb.Categorical([1, 3]), snb.L1(0.1)).fit((X > 0) * 1.0, Y, WEIGHT),
    "linear-bins": lambda: snb.LinearNB("bernoulli", transform=snb.Bins(3)).fit(X, Y),
    "portable-model": lambda: portable(snb.LinearNB("bernoulli", transform=snb.Bins(3)).fit(X, Y)),
    "linear-quantile-normal": lambda: snb.LinearNB("gaussian", transform="quantile_normal").fit(X, Y),
    "linear-own-variances": lambda: snb.LinearNB(snb.Gaussian(covariance="own")).fit(X, Y),
    "quadratic-model": lambda: snb.solve(stats(), snb.Gaussian(covariance="own"))[0],
    "feature-selector": lambda: snb.FeatureSelector("mutual_info", 2).fit(X, Y, WEIGHT),
    "feature-search": lambda: snb.FeatureSelector(snb.ForwardSelection(folds=2, penalty=snb.L2(0.5)), 2).fit(X, Y),
    "feature-ranking": lambda: snb.rank_features(stats()),
    "comparison": lambda: snb.compare(X, Y, families="poisson", penalties=["plain", "L1"], folds=2, show=False),
    "search": lambda: snb.search(X, Y, families=["poisson"], folds=2, show=False),
    "checkpoint": checkpoint,
    "schema": schema,
    "schema-vocabulary": lambda: snb.schema(TEXTS, Y, vocabulary=3, sites=["here", "there"]),
    "site-sums": site_sums,
    "round": begun,
    "round-answer": lambda: begun().read(TABLE.assign(y=Y), site="here"),
    "evaluation": lambda: judged(Y),
    "evaluation-bins": lambda: judged(Y, exact_rows=4, n_bins=16),
    "evaluation-intervals": lambda: judged(Y, interval=0.9),
    "evaluation-groups": lambda: judged(Y, CALIBRATION, np.arange(10) // 2, interval=0.9, grouped=True),
    "evaluation-calibration": lambda: judged(LABELS, [*NEEDS, "reliability"], interval=0.9, multilabel=True),
    "evaluation-slices": lambda: snb.evaluate(
        snb.LinearNB("poisson", smoothing=1.0).fit(X, Y), X, Y, by={"tree": [*"aaaab", None, *"bbaa"]}
    ),
    "evaluation-labels": lambda: judged(LABELS, multilabel=True, exact_rows=4, n_bins=16),
}


def answers(value):
    """What an object of any kind says, as plain numbers and words."""
    if isinstance(value, snb.ClassStats):
        parts = [value, *value.folds, *([value.every] if value.multilabel else [])]
        ledger = [] if value.privacy is None else [repr(value.privacy)]
        sums = [[part.classes.tolist(), *(table.value().tolist() for table in part.tables.values())] for part in parts]
        return sums + ledger
    if isinstance(value, snb.WeightPath):
        return [value.grid, value.n_features.tolist(), *(model.coef_.tolist() for model in value)]
    if isinstance(value, CovariancePath):
        return [value.grid, answers(value[0])]
    if isinstance(value, snb.FeatureRanking | snb.FeatureSelector):
        ranked = value if isinstance(value, snb.FeatureRanking) else value._ranked
        return [ranked.by, ranked.scores.tolist(), ranked.ranking.tolist()]
    if isinstance(value, snb.Bins):
        return [value.get_feature_names_out().tolist(), value.transform(X).toarray().tolist()]
    if isinstance(value, snb.CategoryCounters):
        return [value.get_feature_names_out().tolist(), value.transform(X).tolist(), value.class_stats().sum.tolist()]
    if isinstance(value, snb.TargetSums):
        return [value.n_targets, answers(value.joined)]
    if isinstance(value, LinearRegressor):
        rows = TABLE if value.encoding_ is not None else X
        return [value.coef_.tolist(), np.asarray(value.predict(rows)).tolist()]
    if isinstance(value, snb.Search):
        scores = [[one.name, one.point, one.mean("accuracy"), one.reads, one.n_features] for one in value.ranked]
        return [scores, repr(value), answers(value.best_)]
    if isinstance(value, snb.Comparison):
        return [str(value), value.points.tolist(), value.classes.tolist(), value.report_.rows]
    if isinstance(value, snb.Evaluation):
        twice = value + value
        areas = [e.roc_auc(None).tolist() if "ranking" in e.needs else [] for e in (value, twice)]
        return [[e.n_rows, of_e, e.f_score(None).tolist(), repr(e)] for e, of_e in zip((value, twice), areas)]
    if isinstance(value, Checkpoint):
        return [value.about, list(map(list, value.done)), value.report.rows, answers(value.stats)]
    if isinstance(value, snb.Schema):
        parts = value.classes.tolist(), value.encoding.column_names if value.fixed else value.n_columns
        return [list(map(str, part)) if isinstance(part, np.ndarray) else part for part in parts]
    if isinstance(value, SiteSums):
        return [answers(value.schema), [*value.sites], answers(value.stats)]
    if isinstance(value, Round):
        return [answers(value.schema), value.asks, [*value.sites], value.weights["weights"].tolist()]
    if isinstance(value, Answer):
        return [value.task, [*value.sites], value.report.rows, value.total["gradient"].tolist()]
    encoding = getattr(value, "encoding_", None)
    rows = TABLE if isinstance(encoding, TableEncoding) else SEQUENCES if isinstance(encoding, KMers) else X
    of_scores = value.decision_function if hasattr(value, "decision_function") else value.predict_joint_log_proba
    return [value.classes_.tolist(), np.asarray(of_scores(rows)).tolist(), value.predict(rows).tolist()]


def write():
    path = HERE / f"v{FORMAT_VERSION}.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    for name in KINDS.keys() - found.keys():
        value = KINDS[name]()
        save(HERE / f"v{FORMAT_VERSION}-{name}.snb", value)
        found[name] = [type(value).__name__, answers(value)]
    lines = (f"{json.dumps(name)}: {json.dumps(found[name])}" for name in sorted(found))  # one a kind: branches merge
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    sys.exit(write())
