"""Corpora: lines scored beside fastText, the best tenth beside packing all anew, and two workers beside one."""

import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from unittest.mock import patch

import streamnb as snb
from benchmarks.peers.table import SLOWER, Row, Size, ratio, ratios
from benchmarks.peers.texts import COPIES, N_FEATURES, WORDS, drawn
from streamnb.corpora import reading

FILES, FILE_BYTES = 16, 16 << 20  # of a corpus for workers
CLASSES = (2, 2.5, 6), (24, 2, 4)  # classes, floor and goal


def corpus_rows(size: Size, folder: Path) -> Iterator[Row]:
    """Scoring has one thread each, and fastText has words without a file; selecting has two."""
    texts, path = drawn(size.n_rows // 8), folder / "texts.jsonl"
    lines = [f"{json.dumps({'text': text, 'id': k})}\n" for k, text in enumerate(texts)]
    path.write_text("".join(lines * COPIES))
    for n_classes, floor, goal in CLASSES:
        labels = [k % n_classes for k in range(len(texts))]
        model = snb.LinearNB("multinomial").fit(snb.text(texts, words=WORDS, n_features=N_FEATURES), labels)

        def ours(model: snb.LinearNB = model) -> None:
            shutil.rmtree(folder / "scores", ignore_errors=True)
            snb.write_predictions(model, path, folder / "scores", proba=True, text="text", n_threads=1)

        what = f"JSON lines to probabilities of {n_classes} classes in Parquet, words and pairs, 2^18 columns"
        theirs = fast_text(folder, texts, labels)
        figure = None if theirs is None else ratios(theirs, [ours], size.repeats, time.process_time)[0]
        yield Row(what, "fastText predict, of words", floor, goal, figure)
    yield selecting_row(path, folder, model, size)
    yield workers_row(path, folder, model, size)


def fast_text(folder: Path, texts: list[str], labels: list[int]) -> Callable[[], object] | None:
    """What predicts the same texts with fastText at its defaults but for pairs of words and columns."""
    if not find_spec("fasttext"):
        return None
    import fasttext

    file = folder / "train.txt"
    file.write_text("".join(f"__label__{label} {text}\n" for text, label in zip(texts, labels)))
    options = {"wordNgrams": WORDS[1], "bucket": N_FEATURES, "epoch": 1, "thread": 1, "verbose": 0}
    model = fasttext.train_supervised(str(file), **options)
    return lambda: model.predict(texts * COPIES, k=len(set(labels)))


def selecting_row(path: Path, folder: Path, model: snb.LinearNB, size: Size) -> Row:
    """The best tenth, in two reads, beside one that packs all lines anew, by the clock."""
    what = "the best tenth of JSON lines packed by zstd, two threads"
    if not shutil.which("zstd"):
        return Row(what, "zstdcat to zstd", 3, 1.5, None, SLOWER)
    packed = folder / "texts.jsonl.zst"
    subprocess.run(["zstd", "-q", "-f", path, "-o", packed], check=True)

    def ours() -> None:
        shutil.rmtree(folder / "kept", ignore_errors=True)
        snb.select(model, packed, folder / "kept", 0, share=0.1, text="text", n_threads=2)

    def theirs() -> None:
        subprocess.run(f"zstdcat {packed} | zstd -q -f -o {folder}/again.zst", shell=True, check=True)

    return Row(what, "zstdcat to zstd", 3, 1.5, ratio(ours, theirs, size.repeats, time.perf_counter), SLOWER)


def workers_row(path: Path, folder: Path, model: snb.LinearNB, size: Size) -> Row:
    """The best tenth by workers of one thread, which have the same files."""
    what = "the best tenth of JSON lines by two workers of a cluster"
    if not find_spec("distributed"):
        return Row(what, "one worker", 1.7, 1.9, None)
    from distributed import LocalCluster

    data, text = folder / "files", path.read_bytes()[:FILE_BYTES].rpartition(b"\n")[0]
    data.mkdir()
    for k in range(FILES):
        (data / f"{k:02d}.jsonl").write_bytes(text)
    with ExitStack() as stack, patch.object(reading, "PART_BYTES", FILE_BYTES):
        options = {"threads_per_worker": 1, "dashboard_address": None}
        clusters = [stack.enter_context(LocalCluster(n_workers=n, **options)) for n in (1, 2)]

        def run(cluster: LocalCluster) -> None:
            shutil.rmtree(folder / "by_workers", ignore_errors=True)
            with cluster.get_client() as client:
                options = {"share": 0.1, "text": "text", "client": client, "progress": False}
                snb.select(model, data, folder / "by_workers", 0, **options)

        one, two = (partial(run, cluster) for cluster in clusters)
        return Row(what, "one worker", 1.7, 1.9, ratio(one, two, size.repeats, time.perf_counter))
