"""A model of a table as an HTTP service: one record, batches, a schema of its columns, health, and new models in place.

A classifier answers with the probability of each class, a regression with {"prediction": number}.

    MODEL=model.snb uvicorn service:app --workers 2          # in this folder; pip install fastapi uvicorn

When the file changes it is loaded again; the old model answers until the new one is there, and goes on if it is no use.
"""

import logging
import os
import sys
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from threading import Event, Thread
from typing import Annotated

from fastapi import FastAPI, HTTPException
from pydantic import ConfigDict, Field, create_model

import streamnb as snb

TYPES = {"number": float, "boolean": bool, "date": datetime, "date in a time zone": datetime}
SECONDS = 1.0  # between looks at the file


class Served:
    """The model of a file, and the columns that it reads."""

    def __init__(self, path):
        self.path, self.closed, self.written = path, Event(), path.stat().st_mtime
        self.model, self.columns = self.loaded()

    def loaded(self):
        """The model, and the kinds of its columns by name."""
        model = snb.load(self.path)
        made = getattr(model, "linear", model)  # of a regression that was saved without statistics
        encoding = getattr(made, "encoding_", getattr(made, "encoding", None))
        names = getattr(made, "feature_names_in_", None) if encoding is None else None
        columns = getattr(encoding, "columns", None if names is None else dict.fromkeys(names.tolist(), "number"))
        if columns is None:
            raise ValueError("it is no model of a table, whose columns have names")
        try:
            answers(model, [dict.fromkeys(columns, 0.0 if encoding is None else None)])
        except AttributeError as error:
            raise ValueError(f"a record has no answer: {error}") from error
        return model, columns

    def watch(self):
        """Load the file whenever it changes."""
        tried = self.written
        while not self.closed.wait(SECONDS):
            try:
                if (found := self.path.stat().st_mtime) == tried:
                    continue
                tried = found
                model, columns = self.loaded()
                if columns != self.columns:
                    raise ValueError("it has other columns; start the service anew")
                self.model, self.written = model, found
            except (OSError, ValueError) as error:
                logging.getLogger("uvicorn.error").error("%s is not served: %s", self.path, error)


def answers(model, records):
    """The probabilities of each record by label, or its prediction by a regression."""
    if not hasattr(model, "classes_"):
        return [{"prediction": number} for number in model.predict(records).tolist()]
    if len(records) == 1:
        return [{str(label): share for label, share in model.predict_proba_one(records[0]).items()}]
    return [dict(zip(map(str, model.classes_.tolist()), row)) for row in model.predict_proba(records).tolist()]


try:
    served = Served(Path(os.environ["MODEL"]))
except (OSError, ValueError) as error:
    sys.exit(f"MODEL={os.environ['MODEL']} cannot be served: {error}")
fields = {  # names of columns may be any text
    f"column_{j}": (TYPES.get(kind, str | int | float | bool) | None, Field(alias=name))
    for j, (name, kind) in enumerate(served.columns.items())
}
Record = create_model("Record", __config__=ConfigDict(extra="forbid"), **fields)


@asynccontextmanager
async def watching(app):
    """Watch the file as long as the service runs."""
    Thread(target=served.watch, daemon=True).start()
    yield
    served.closed.set()


app = FastAPI(title="A model of streamnb", lifespan=watching)


@app.post("/predict")
def predict(record: Record) -> dict[str, float]:
    """The probability of each class for one record, or the prediction of a regression."""
    return answered([record])[0]


@app.post("/predict_batch")
def predict_batch(records: Annotated[list[Record], Field(min_length=1, max_length=1000)]) -> list[dict[str, float]]:
    """The same for up to 1,000 records."""
    return answered(records)


@app.get("/health")
def health() -> dict[str, str]:
    """Whether the service answers, and by which model."""
    return {"status": "ok", "model": str(served.path), "written": str(datetime.fromtimestamp(served.written))}


def answered(records):
    """The answers; what the model says of a wrong value is an answer, too."""
    try:
        return answers(served.model, [record.model_dump(by_alias=True) for record in records])
    except (ValueError, TypeError) as error:
        raise HTTPException(422, str(error)) from error
