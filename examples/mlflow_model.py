"""A model in MLflow: saved as a pyfunc with its signature, loaded again, or served by `mlflow models serve`.

    python mlflow_model.py model.snb rows.parquet folder                    # pip install mlflow-skinny
    mlflow models serve -m folder --env-manager local --port 5001

The rows show MLflow the columns and their types: there should be a missing value in each column that may lack one.
"""

import sys

import mlflow
import pandas as pd

import streamnb as snb


class StreamnbModel(mlflow.pyfunc.PythonModel):
    """Probabilities by a model that is saved beside this file; nothing is pickled."""

    def load_context(self, context):
        """Load the model, in the process that predicts."""
        self.model = snb.load(context.artifacts["model"])

    def predict(self, context, model_input: pd.DataFrame, params=None) -> pd.DataFrame:
        """The probability of each class for each row of a data frame."""
        return pd.DataFrame(self.model.predict_proba(model_input), columns=list(map(str, self.model.classes_)))


mlflow.models.set_model(StreamnbModel())


def save(model, rows, folder):
    """Save the file of a model as a folder of MLflow; `mlflow.pyfunc.log_model` takes the same arguments."""
    signature = mlflow.models.infer_signature(rows, pd.DataFrame(snb.load(model).predict_proba(rows[:1000])))
    how = {"artifacts": {"model": model}, "signature": signature, "pip_requirements": ["streamnb[tables]"]}
    mlflow.pyfunc.save_model(folder, python_model=__file__, **how)


if __name__ == "__main__":
    model, rows, folder = sys.argv[1:]
    frame = pd.read_parquet(rows)
    save(model, frame, folder)
    print(mlflow.pyfunc.load_model(folder).predict(frame.head()))
