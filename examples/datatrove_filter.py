"""A model as a filter of DataTrove (pip install datatrove[io]): documents in batches, kept where a label is probable.

DataTrove reads, filters and writes documents in pipelines of blocks; this one adds the model's probability to each.
"""

import json
import tempfile
from pathlib import Path

import streamnb as snb

try:
    from datatrove.pipeline.filters.base_filter import BaseFilter
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.writers.jsonl import JsonlWriter
except ImportError as error:
    raise SystemExit(f"this example needs the package datatrove: pip install datatrove[io] ({error})") from error


class ModelFilter(BaseFilter):
    """Keeps documents to which a saved model gives a label with at least this probability."""

    name = "streamnb"

    def __init__(self, path, label, threshold, batch_size=1000):
        super().__init__(batch_size=batch_size)
        self.path, self.label, self.threshold, self.model = path, label, threshold, None

    def filter(self, doc):
        return self.filter_batch([doc])[0]

    def filter_batch(self, batch):
        self.model = self.model or snb.load(self.path)  # by the process that runs the block
        column = self.model.classes_.tolist().index(self.label)
        scores = self.model.predict_proba([doc.text for doc in batch])[:, column].tolist()
        for doc, score in zip(batch, scores):
            doc.metadata["score"] = score
        return [score >= self.threshold for score in scores]


def main(folder):
    texts = {"wine": ["red wine", "white wine", "wine of the year"], "tea": ["green tea", "black tea", "tea with milk"]}
    labels = [label for label, some in texts.items() for _ in some]
    rows = snb.text([text for some in texts.values() for text in some], n_features=2**12)
    snb.LinearNB("multinomial").fit(rows, labels).save(folder / "m.snb")
    crawl = ["a glass of red wine", "a cup of green tea", "wine, white or red", "tea for two"]
    lines = "".join(json.dumps({"text": text, "id": str(k)}) + "\n" for k, text in enumerate(crawl))
    (folder / "crawl").mkdir()
    (folder / "crawl" / "0.jsonl").write_text(lines)

    documents = JsonlReader(str(folder / "crawl"))()
    kept = ModelFilter(str(folder / "m.snb"), "wine", 0.6)(documents)
    for doc in JsonlWriter(str(folder / "kept"), compression=None)(kept):
        print(f"{doc.metadata['score']:.2f} {doc.text}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        main(Path(scratch))
