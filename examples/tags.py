"""Several tags a text: each by itself, in a space of few directions, and by a stack; on your own texts, or made ones.

python examples/tags.py                      # made texts
python examples/tags.py rows.npz tags.npz    # SciPy's sparse counts of words, and an indicator of tags
"""

import sys
import time

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline

import streamnb as snb

TF_IDF = {"transform": "log1p", "idf": True, "normalize": "l2"}
N_TOPICS, N_TAGS, N_WORDS = 12, 30, 600


def made(n_rows: int = 3000, seed: int = 0) -> tuple[sp.csr_array, sp.csr_array]:
    """Counts of words whose topics bring tags with them, some of these rare."""
    rng = np.random.default_rng(seed)
    topics = rng.random((n_rows, N_TOPICS)) < 0.15
    of_topic = (rng.random((N_TOPICS, N_TAGS)) < 0.1) | (np.arange(N_TAGS) % N_TOPICS == np.arange(N_TOPICS)[:, None])
    tags = (topics @ of_topic > 0) & (rng.random((n_rows, N_TAGS)) < np.linspace(0.9, 0.2, N_TAGS))
    words = rng.gamma(0.05, 1.0, (N_TOPICS, N_WORDS))
    counts = rng.poisson(0.02 + topics @ words * 0.5)
    return sp.csr_array(counts), sp.csr_array(tags.astype(np.uint8))


def candidates(n_tags: int) -> dict[str, object]:
    """Models of all tags."""
    few = max(n_tags // 4, 2)
    space = {"solver": "conjugate_gradients", "max_passes": 20, "tol": 0.02, "calibration": "sigmoid", **TF_IDF}
    return {
        "naive Bayes, each tag by itself": snb.LinearNB(**TF_IDF),
        "present words, each tag by itself": snb.LinearNB("bernoulli"),
        f"space of {few} directions": snb.LabelSpace(few, 1.0, **space),
        f"space of {2 * few} directions": snb.LabelSpace(2 * few, 1.0, **space),
        "stack of two families": snb.StackedNB([snb.LinearNB(**TF_IDF), "bernoulli"]),
        "scikit-learn, logistic regression": make_pipeline(
            TfidfTransformer(sublinear_tf=True), OneVsRestClassifier(LogisticRegression(C=10.0, solver="liblinear"))
        ),
    }


def main() -> None:
    """Print how well and how quickly each model tells the tags of rows held back."""
    X, Y = (sp.csr_array(sp.load_npz(path)) for path in sys.argv[1:3]) if len(sys.argv) > 2 else made()
    Y = Y.astype(np.int64)  # scikit-learn numbers labels in this type
    test = np.random.default_rng(0).random(X.shape[0]) < 0.2
    print(f"{X.shape[0]:,} rows of {X.shape[1]:,} words, {Y.shape[1]:,} tags, {Y.sum() / X.shape[0]:.1f} a row")
    for name, model in candidates(Y.shape[1]).items():
        began = time.process_time()
        model.fit(X[~test], Y[~test])
        seconds = time.process_time() - began  # of the processor
        judged = snb.evaluate(Y[test], model.predict(X[test]), scores=model.decision_function(X[test]))
        f1, auc = judged.f_score(average="micro"), judged.roc_auc()
        print(f"{name:36} micro F1 {f1:.3f}   macro AUC {auc:.3f}   {seconds:6.1f} s")


if __name__ == "__main__":
    main()
