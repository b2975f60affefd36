"""Features that move together: discriminant analysis from one scan, beside naive Bayes and logistic regression.

Regularised discriminant analysis reads the rows once for the sums of products, and once more to judge 48 shrinkages on
five folds; logistic regression reads them some hundred times for each penalty. `python examples/covariance.py`
"""

import time

from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import streamnb as snb

MODELS = {
    "naive Bayes": snb.LinearNB("gaussian"),
    "linear": snb.LinearNB(snb.Gaussian(covariance="pooled", shrinkage=1e-6)),
    "regularised": snb.LinearNBCV(snb.Gaussian(covariance="full", shrinkage="auto"), scoring="accuracy"),
    "logistic regression": GridSearchCV(
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=300)),
        {"logisticregression__C": [0.01, 0.1, 1.0, 10.0]},
    ),
}


def main() -> None:
    """Print accuracy and processor time of each model on each table."""
    for load in (load_wine, load_breast_cancer, load_digits):
        X, y = load(return_X_y=True)
        train, test, of_train, of_test = train_test_split(X, y, test_size=0.4, random_state=0, stratify=y)
        print(f"{load.__name__[5:]}: {X.shape[0]:,} rows, {X.shape[1]} features, {y.max() + 1} classes")
        for name, model in MODELS.items():
            started = time.process_time()
            model.fit(train, of_train)
            seconds = time.process_time() - started
            print(f"  {name:20} accuracy {accuracy_score(of_test, model.predict(test)):.3f}   {seconds:6.2f} s")
            if name == "regularised":
                print(f"  {'':20} chosen: {model.best_params_}")


if __name__ == "__main__":
    main()
