"""A model of a table as an HTTP service: one record, batches, a schema of its columns, health, and new models in place.

    MODEL=model.snb uvicorn service:app --workers 2          # in this folder; pip install fastapi uvicorn

When the file changes it is loaded again; the old model answers until the new one is there, and goes on if it is no use.
"""

import logging
import os
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
        return model, (model.encoding_ if hasattr(model, "encoding_") else model.encoding).columns

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


served = Served(Path(os.environ["MODEL"]))
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
    """The probability of each class for one record."""
    return probabilities([record])[0]


@app.post("/predict_batch")
def predict_batch(records: Annotated[list[Record], Field(min_length=1, max_length=1000)]) -> list[dict[str, float]]:
    """The probability of each class for up to 1,000 records."""
    return probabilities(records)


@app.get("/health")
def health() -> dict[str, str]:
    """Whether the service answers, and by which model."""
    return {"status": "ok", "model": str(served.path), "written": str(datetime.fromtimestamp(served.written))}


def probabilities(records):
    """The probabilities by label; what the model says of a wrong value is an answer, too."""
    model = served.model  # one for all records, whatever is loaded meanwhile
    try:
        if len(records) == 1:
            found = [model.predict_proba_one(records[0].model_dump(by_alias=True)).values()]
        else:
            found = model.predict_proba([record.model_dump(by_alias=True) for record in records]).tolist()
    except (ValueError, TypeError) as error:
        raise HTTPException(422, str(error)) from error
    return [dict(zip(map(str, model.classes_.tolist()), row)) for row in found]
