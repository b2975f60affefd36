"""Few rows: what the prior and the estimate are worth, from one scan of 40 handwritten digits.

    python examples/priors_and_estimates.py

Each line after the first is a `refit`, which reads nothing: maximum likelihood, the mode or the mean of the posterior
under several priors, and the exact predictive distribution, which averages over the posterior.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

import streamnb as snb

PRIORS = {
    "bernoulli": {"Beta(1, 1)": snb.BetaPrior(1.0, 1.0), "Beta(2, 2)": snb.BetaPrior(2.0, 2.0)},
    "poisson": {"Gamma(1, 0.1)": snb.GammaPrior(1.0, 0.1), "Gamma(10, 2)": snb.GammaPrior(10.0, 2.0)},
    "multinomial": {"Dirichlet(1)": snb.DirichletPrior(1.0), "Dirichlet(10)": snb.DirichletPrior(10.0)},
}


def main():
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, train_size=40, stratify=y, random_state=0)
    print(f"{'family':<12} {'prior':<14} {'estimate':<15} accuracy  log loss")

    def show(family, prior, estimate, **options):
        loss = log_loss(y_test, model.predict_proba(X_test, **options))
        accuracy = np.mean(model.predict(X_test, **options) == y_test)
        print(f"{family:<12} {prior:<14} {estimate:<15} {accuracy:8.3f} {loss:9.3f}")

    model = snb.LinearNB("poisson", binarize=7.5).fit(X, y, moments=["sum", "above"])
    for family, priors in PRIORS.items():
        for prior, smoothing in priors.items():
            model.refit(family=family, smoothing=smoothing)
            for estimate in ("mle", "map", "posterior_mean"):
                try:
                    model.refit(estimate=estimate)
                except ValueError as error:  # says so, and what to do; the model stays as it was
                    print(f"{family:<12} {prior:<14} {estimate:<15} {str(error).split(',')[0].split(': ')[1]}")
                else:
                    show(family, prior, estimate)
            show(family, prior, "predictive", predictive=True)


if __name__ == "__main__":
    main()
