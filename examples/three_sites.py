"""Three hospitals, one model: files of sums leave a hospital, and no row does.

    python examples/three_sites.py

Biopsies of breast tumours, as if three hospitals had them. Every step of one goes into a file in a folder of its own,
and the coordinator reads these files alone. In the end all models are those of the rows together, to the last bit.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sklearn.datasets import load_breast_cancer

import streamnb as snb

SITES = {"north": slice(0, 90), "south": slice(90, 300), "west": slice(300, None)}


def main():
    known = load_breast_cancer(as_frame=True)
    rows = known.data.iloc[:, :10].assign(tumour=known.target_names[known.target])
    with TemporaryDirectory() as folder:
        sent = Path(folder)
        hospitals = {name: rows[some] for name, some in SITES.items()}

        for name, own in hospitals.items():  # first, the columns: each hospital counts its values
            snb.schema(own, "tumour", bins=4, sites=SITES).save(sent / f"schema-{name}.snb")
        schema = sum(snb.load(sent / f"schema-{name}.snb") for name in SITES)
        schema.without_counts().save(sent / "schema.snb")
        print(f"{schema.n_columns} columns of {rows.shape[1] - 1} numbers, for {', '.join(schema.classes)}")

        for name, own in hospitals.items():  # then the sums, by the schema that was handed round
            snb.load(sent / "schema.snb").scan(own, site=name).save(sent / f"{name}.snb")
        sums = sum(snb.load(sent / f"{name}.snb") for name in SITES)
        print("rows:", ", ".join(f"{name} {site.rows}" for name, site in sums.sites.items()))

        bayes = snb.LinearNBCV("bernoulli"), snb.LinearNBCV("auto")
        chosen = in_rounds(sums.fit(*bayes), hospitals, sent)  # each hospital is judged by the models of the others
        print(f"  {chosen.family} at {chosen.best_params_}, ROC AUC {chosen.best_score_:.4f} on hospitals not seen")
        softmax = in_rounds(schema.fit(snb.SoftmaxRegression(1.0, 0.5, tol=1e-2)), hospitals, sent)
        print(f"  {np.count_nonzero(softmax.coef_)} weights that are not 0")

        together = snb.table(rows, "tumour", bins=4)
        folds = np.repeat(np.arange(3), [len(own) for own in hospitals.values()])
        same_bayes = snb.LinearNBCV(chosen.family, folds=folds).fit(together)
        same_softmax = snb.SoftmaxRegression(1.0, 0.5, tol=1e-2).fit(together)
        same = np.array_equal(chosen.coef_, same_bayes.coef_) and np.array_equal(softmax.coef_, same_softmax.coef_)
        print(f"The same bits as fits of all rows in one place: {same}")

        north = snb.load(sent / "north.snb").stats
        print(f"What the coordinator sees of north alone: {int((north.nonzero == 1).sum())} counts of a single patient")


def in_rounds(found, hospitals, sent):
    """Read and step until the model is there; all that passes between sites is a file."""
    number = 0
    while hasattr(found, "asks"):  # a round, not a model yet
        number += 1
        found.save(sent / "round.snb")
        for name, own in hospitals.items():
            snb.load(sent / "round.snb").read(own, site=name).save(sent / f"read-{name}.snb")
        found = found.step(*(snb.load(sent / f"read-{name}.snb") for name in hospitals))
    print(f"{type(found).__name__} in {number} rounds")
    return found


if __name__ == "__main__":
    main()
