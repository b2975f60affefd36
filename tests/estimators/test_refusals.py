"""Parameters and targets that estimators refuse: each is named, beside what would be right."""

import numpy as np
import pytest

import streamnb as snb

rng = np.random.default_rng(0)
N = 120
Y = np.array(["ash", "birch", "cedar"])[np.arange(N) % 3]
X = rng.normal(size=(N, 5)) @ rng.normal(size=(5, 5)) + 2.0 * np.eye(3, 5)[np.arange(N) % 3]
NUMBERS = X[:, 0] + rng.normal(size=N)
SETS = rng.integers(0, 2, (N, 6))
LDA, QDA = snb.LinearDiscriminantAnalysis, snb.QuadraticDiscriminantAnalysis

OF_CLASSES = [
    (snb.SoftmaxRegression(l2=-1.0), "l2=-1.0 should be finite and at least 0"),
    (snb.SoftmaxRegression(l1=np.inf), "l1=inf should be finite"),
    (snb.SoftmaxRegression(start="bayes"), "start='bayes' is unknown"),
    (snb.SoftmaxRegression(transform="log"), "transform='log'"),
    (snb.SoftmaxRegression(class_weight={"oak": 2.0}), "class_weight has the label 'oak'"),
    (snb.SoftmaxRegressionCV(l2=[1.0, -1.0]), r"l2\[1\]=-1\.0 should be finite and at least 0"),
    (snb.SoftmaxRegressionCV(l2=[0.1, "a"]), r"l2\[1\]='a' should be a number"),
    (snb.SoftmaxRegressionCV(l2=[np.nan]), r"l2\[0\]=nan should be finite"),
    (snb.SoftmaxRegressionCV(l1=[]), r"l1=\[\] should be a number, or a list"),
    (snb.SoftmaxRegressionCV(l2=[[1.0]]), "l2=.* should be a number, or a list"),
    (snb.SoftmaxRegressionCV(max_passes=1), "max_passes=1 should be at least 2"),
    (snb.SoftmaxRegressionCV(rule="per_split"), "rule='per_split' is unknown"),
    (snb.SoftmaxRegressionCV(scoring="auc"), "scoring='auc' is unknown"),
    (snb.SoftmaxRegressionCV(folds=1), "folds=1 should be at least 2"),
    (snb.SoftmaxRegressionCV(folds=None), "folds=None should be a number"),
    (snb.SoftmaxRegressionCV(class_weight={"oak": 2.0}), "class_weight has the label 'oak'"),
    (snb.MarginClassifierCV(scoring="neg_log_loss"), "needs probabilities, and MarginClassifierCV scores by margins"),
    (snb.MarginClassifierCV(folds=3, calibration="sigmoid"), "calibration='sigmoid' needs at least 5 folds, not 3"),
    (snb.LeastSquaresClassifierCV(scoring=["accuracy", "neg_log_loss"]), "needs probabilities, and Least"),
    (snb.LeastSquaresClassifierCV(solver="qr"), "solver='qr' is unknown"),
    (snb.MarginClassifier(calibration="platt"), "calibration='platt' is unknown"),
    (snb.CrammerSingerSVM(C=0.0), r"C=0\.0 should be above 0: 0 leaves the losses no say"),
    (snb.CrammerSingerSVM(start="zero"), "start='zero'"),
    (snb.CrammerSingerSVMCV(C=[]), "C=.. should be a number above 0, or a list of one at least"),
    (snb.CrammerSingerSVMCV(C=[1.0, 0.0]), r"C\[1\]=0\.0 should be above 0"),
    (snb.CrammerSingerSVMCV(C=[0.1, "a"]), r"C\[1\]='a' should be a number"),
    (snb.CrammerSingerSVMCV(scoring="neg_log_loss"), "needs probabilities"),
    (snb.CrammerSingerSVMCV(folds=1), "folds=1"),
    (snb.CrammerSingerSVMCV(rule="per_split"), "rule='per_split'"),
    (snb.CrammerSingerSVMCV(rule="x"), "one of 'best', 'parsimonious', 'one_se'$"),
    (snb.GeneralizedNB(bins=1), "bins=1"),
    (snb.GeneralizedNB(smoothing=0.0), r"smoothing=0\.0 should be above 0: at 0 a bin without rows"),
    (snb.TreeNB(strength=0), "strength=0 should be above 0"),
    (snb.TreeNB(strength="auto"), "strength='auto' should be 'evidence', or a number above 0"),
    (snb.TreeNB(smoothing=0), "smoothing=0 should be above 0"),
    (snb.TreeNB(family="poisson"), "family='poisson'"),
    (snb.TreeNB(transform="log1p"), r"transform='log1p' should be None, or bins such as snb.Bins\(4\)"),
    (snb.TreeNB(significance_level=0), "significance_level=0 should be between 0 and 1, .* None takes edges"),
    (snb.TreeNB(significance_level="x"), "significance_level='x' should be between 0 and 1, .* None takes"),
    (snb.TreeNB(max_features=0), "max_features=0"),
    (snb.TreeNB(snb.Decorrelation(1.0)), "not defined for TreeNB; it should be L1, L2, TopK, Separable"),
    (snb.TreeNB(snb.L1(1.0), transform=snb.Bins(3)), "is of columns of presence, .* should be None"),
    (snb.TreeNB(priors=[0.5, 0.5]), "priors"),
    (snb.StackedNB([]), "list of one family at least"),
    (snb.StackedNB("gaussian"), "list of one family at least"),
    (snb.StackedNB(["normal"]), "normal"),
    (snb.StackedNB(["gaussian", "gaussian"]), "families has 'gaussian' twice"),
    (snb.StackedNB([snb.LinearNBCV()]), "chooses by folds of its own"),
    (snb.StackedNB(["categorical"]), "learns a transform"),
    (snb.StackedNB([snb.LinearNB(transform=snb.Bins(3))]), "learns a transform"),
    (snb.StackedNB(["gaussian"], snb.SoftmaxRegressionCV()), "compare stacks with snb.search"),
    (snb.StackedNB(["gaussian"], snb.MarginClassifier(calibration="sigmoid")), "calibrate.X_val|calibrate.X, y"),
    (snb.StackedNB(["gaussian"], "multinomial"), "takes no negative values"),
    (snb.StackedNB(["gaussian"], 3), "final=3 should be a family, or an unfitted classifier"),
    (snb.StackedNB(["gaussian"], folds=1), "folds=1"),
    (LDA(solver="qr"), "solver='qr' is unknown"),
    (LDA(shrinkage=0.1), "shrinkage not supported with 'svd' solver"),
    (LDA(solver="lsqr", shrinkage=1.1), "shrinkage=1.1 should be from 0 to 1"),
    (LDA(n_components=3), "n_components=3 should be at most 2"),
    (LDA(priors=[-0.5, 1.0, 0.5]), "priors must be non-negative"),
    (LDA(solver="lsqr", covariance_estimator="any"), "needs the rows themselves"),
    (QDA(reg_param=-1), "reg_param=-1 should be from 0 to 1"),
    (QDA(tol=1e9), "class ash is not full rank.*Increase the value of `reg_param`"),
    (snb.LinearNBCV("gaussian", scoring="auc"), "scoring='auc' is unknown; it should be one of 'accuracy'"),
    (snb.LinearNBCV("gaussian", scoring=3), "scoring=3"),
    (snb.LinearNBCV("gaussian", rule="worst"), "rule='worst'"),
    (snb.LinearNBCV("gaussian", folds=1), "folds=1"),
    (snb.LinearNBCV("gaussian", folds=700), "too few of the 120 rows"),
    (snb.LinearNBCV("gaussian", folds=np.zeros(N, int)), "without gaps"),
    (snb.LinearNBCV("gaussian", folds=np.arange(9) % 3), "inconsistent numbers"),
    (snb.LinearNBCV("gaussian", repeats=0), "repeats=0"),
    (snb.LinearNBCV("gaussian", seed=-3), "seed=-3"),
    (snb.LinearNBCV("gaussian", scheme="ovo", scoring="neg_log_loss"), "needs probabilities"),
    (snb.LinearNBCV("gaussian", "l1"), "penalty='l1'"),
]
OF_NUMBERS = [
    (snb.Ridge("strong"), "alpha='strong' should be a number of at least 0, or 'evidence'"),
    (snb.Ridge(np.nan), "alpha=nan should be finite"),
    (snb.Ridge(solver="svd"), "solver='svd'"),
    (snb.Ridge(exact="yes"), "exact='yes'"),
    (snb.Ridge(standardize="yes"), "standardize='yes'"),
    (snb.Lasso(-0.1), "alpha=-0.1 should be finite and at least 0"),
    (snb.ElasticNet(l1_ratio=[0.1, 0.9]), "l1_ratio=.* should be one number; ElasticNetCV chooses"),
    (snb.ElasticNet(l1_ratio=2.0), "l1_ratio=2.0 should be from 0"),
    (snb.ElasticNetCV(l1_ratio=1.5), "l1_ratio=1.5"),
    (snb.ElasticNetCV(alphas=[-1.0]), r"alphas=\[-1.0\] should be numbers above 0"),
    (snb.ElasticNetCV(alphas=[]), "alphas"),
    (snb.ElasticNetCV(n_alphas=0), "n_alphas=0"),
    (snb.ElasticNetCV(rule="worst"), "rule='worst'"),
    (snb.ElasticNetCV(folds=1), "folds=1"),
    (snb.ElasticNetCV(folds=500), "folds=500"),
    (snb.ForwardRegression(9), "n_nonzero_coefs=9 should be at most the 5 features"),
]
OF_SETS = [
    (snb.LabelSpace(7), "n_components=7 is more than the 6 labels of y; give as many"),
    (snb.LabelSpace(0), "n_components=0 should be at least 1"),
    (snb.LabelSpace([1, 2]), "n_components"),
    (snb.LabelSpace(l2=-1.0), "l2=-1.0 should be finite and at least 0"),
    (snb.LabelSpace(solver="qr"), "solver='qr' is unknown"),
    (snb.LabelSpaceCV([]), r"n_components=\[\] should be a number, or a list of one"),
    (snb.LabelSpaceCV([2, 9]), "n_components=9 is more than the 6 labels"),
    (snb.CrammerSingerSVM(), "CrammerSingerSVM needs one label a row"),
]
OF_TARGETS = [
    (snb.LabelSpace(), SETS[:, 0], "2-D indicator of labels.*use snb.LeastSquaresClassifier for classes"),
    (snb.LabelSpace(), SETS[:, 0].tolist(), "2-D indicator of labels"),
    (snb.LabelSpace(), np.ones_like(SETS), "each of its 6 labels is in all of them or in none"),
    (LDA(), np.arange(N), "number of samples must be more than the number of classes"),
    (QDA(), np.append(Y[:-1], "yew"), "only 1 sample in class yew"),
    (QDA(), np.zeros(N), "Got 1 class"),
]
ALL = [
    (model, y, words)
    for y, table in ((Y, OF_CLASSES), (NUMBERS, OF_NUMBERS), (SETS, OF_SETS))
    for model, words in table
]


@pytest.mark.parametrize(("model", "y", "words"), [*ALL, *OF_TARGETS], ids=lambda value: str(value)[:60])
def test_what_is_wrong_is_named(model, y, words):
    with pytest.raises((TypeError, ValueError, NotImplementedError, np.linalg.LinAlgError), match=words):
        model.fit(X, y)
