"""scikit-learn's own tests of naive Bayes, run against the drop-ins: `python -m tests.support.sklearn_suite`.

They are taken from the installed scikit-learn, where it ships them. Nothing may fail but what is listed here with its
reason, and what is listed has to fail.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
import sklearn

DIFFERENT = {  # names of tests, those of all parameters or of one
    "test_NB_partial_fit_no_first_classes": "the first partial_fit needs no classes=: the set of labels is open",
    "test_gnb_check_update_with_no_data": "calls a private function of scikit-learn",
    "test_check_alpha": "calls a private function of scikit-learn",
    "test_alpha_vector": "calls a private function of scikit-learn after what it checks",
    "array_api": "for arrays of other libraries, which the drop-ins do not take",
}
OURS = "BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB"


class Listed:
    """A plugin of pytest: what is listed is expected to fail."""

    @pytest.fixture
    def global_random_seed(self):
        """As scikit-learn's own settings of pytest have it."""
        return 42

    @pytest.fixture(params=[np.float32, np.float64])
    def global_dtype(self, request):
        return request.param

    def pytest_collection_modifyitems(self, items):
        for item in items:
            reason = next((why for name, why in DIFFERENT.items() if name in item.name), None)
            if reason is not None:
                strict = "array_api" not in item.name  # these are mostly skipped
                item.add_marker(pytest.mark.xfail(reason=reason, strict=strict))


def main():
    source = Path(sklearn.__file__).parent / "tests" / "test_naive_bayes.py"
    if not source.exists():
        print(f"scikit-learn {sklearn.__version__} was installed without its tests: nothing to run")
        return 0
    text = source.read_text()
    start = text.index("from sklearn.naive_bayes import (")
    stop = text.index(")", start) + 1
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "test_naive_bayes_of_sklearn.py")
        copy.write_text(f"{text[:start]}from streamnb import {OURS}{text[stop:]}")
        return pytest.main(["-q", "-rxX", "-p", "no:cacheprovider", "--rootdir", folder, str(copy)], plugins=[Listed()])


if __name__ == "__main__":
    sys.exit(main())
