"""Other tools as classifiers of scikit-learn's kind."""

import tempfile

import numpy as np
import pandas as pd


class Boosted:
    """Trees on columns as they are; a value that no training row has is missing."""

    def __init__(self, model):
        self.model = model

    def fit(self, X, y):
        self.classes_, codes = np.unique(y, return_inverse=True)
        names = [] if not isinstance(X, pd.DataFrame) else [n for n in X if not pd.api.types.is_numeric_dtype(X[n])]
        self.values = {name: sorted(X[name].dropna().unique()) for name in names}
        self.learn(self.columns(X), codes)
        return self

    def learn(self, X, codes):
        self.model.fit(X, codes)

    def columns(self, X):
        return X.assign(**{n: pd.Categorical(X[n], categories=v) for n, v in self.values.items()}) if self.values else X

    def predict_proba(self, X):
        return self.model.predict_proba(self.columns(X))

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class CategoriesAsText(Boosted):
    """CatBoost knows no missing categories: they are one more."""

    def learn(self, X, codes):
        self.model.fit(X, codes, cat_features=[*self.values])

    def columns(self, X):
        return X.assign(**{n: X[n].fillna("missing").astype(str) for n in self.values}) if self.values else X


class FastText:
    """Rows of counts: each column is a word, as often as its count says. Order tells a bag of words nothing."""

    def fit(self, X, y):
        import fasttext

        self.classes_, codes = np.unique(y, return_inverse=True)
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.writelines(f"__label__{code} {line}\n" for code, line in zip(codes, self.lines(X)))
            file.flush()
            self.model = fasttext.train_supervised(file.name, epoch=25, lr=0.5, thread=1, verbose=0)
        return self

    def lines(self, X):
        for start, end in zip(X.indptr[:-1], X.indptr[1:]):
            yield " ".join(f"w{j}" for j in np.repeat(X.indices[start:end], X.data[start:end].astype(int)))

    def predict_proba(self, X):
        proba = np.zeros((X.shape[0], len(self.classes_)))
        for row, line in enumerate(self.lines(X)):
            for share, label in self.model.f.predict(line + "\n", -1, 0.0, "strict"):  # as its predict, in any NumPy
                proba[row, int(label.removeprefix("__label__"))] = share
        return proba / proba.sum(axis=1, keepdims=True)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]
