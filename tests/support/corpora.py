"""Small corpora in files, a model of their texts, and what was written of them."""

import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa

import streamnb as snb

WORDS = {"good": [f"fine{k}" for k in range(40)], "raw": [f"spam{k}" for k in range(40)]}
PACK = {"": bytes, ".gz": gzip.compress, ".zst": lambda text: pa.compress(text, "zstd", asbytes=True)}


def lines(n=300, seed=0):
    """Lines of JSON, half of them good, with ids and texts of few words, so that many scores are near each other."""
    rng = np.random.default_rng(seed)
    rows = []
    for k in range(n):
        kind = "good" if rng.random() < 0.5 else "raw"
        other = "raw" if kind == "good" else "good"
        words = [*rng.choice(WORDS[kind], 5), *rng.choice(WORDS[other], 3)]
        rows.append({"id": k, "text": " ".join(words), "kind": kind, "nested": {"é": [k, None]}})
    return [json.dumps(row, ensure_ascii=k % 2 == 0).encode() for k, row in enumerate(rows)]


def corpus(folder, rows=None, n_files=3, packing=""):
    """The lines in files of a folder; the pattern that finds them."""
    rows = lines() if rows is None else rows
    folder.mkdir(exist_ok=True)
    for k, some in enumerate(np.array_split(np.array(rows, object), n_files)):
        text = b"".join(line + b"\n" for line in some)
        (folder / f"{k}.jsonl{packing}").write_bytes(PACK[packing](text))
    return str(folder / f"*.jsonl{packing}")


def model(**options):
    """A model of the kind of a text, fitted on other rows of the same sort."""
    rows = [json.loads(line) for line in lines(100, seed=1)]
    texts = snb.text([row["text"] for row in rows], n_features=1 << 10, **options)
    return snb.LinearNB("multinomial").fit(texts, [row["kind"] for row in rows])


def written(folder):
    """Name and content, unpacked, of each part."""
    found = {}
    for path in sorted(Path(folder).iterdir()):
        if path.is_file():
            packed = path.suffix in (".gz", ".zst")
            content = pa.input_stream(str(path), compression="detect" if packed else None).read()
            found[path.name] = content
    return found


def written_lines(folder):
    """All lines that were written, in order."""
    return b"".join(written(folder).values()).splitlines()


def odds(fitted, rows, label="good"):
    """Log-odds of a label, by the rows' texts alone."""
    logs = fitted.predict_log_proba([json.loads(row)["text"] for row in rows])
    k = fitted.classes_.tolist().index(label)
    return logs[:, k] - np.logaddexp.reduce(np.delete(logs, k, axis=1), axis=1)


def record(kind, url, payload, http=False):
    """A record of a web archive."""
    of = "application/http; msgtype=response" if http else "text/plain"
    named = f"WARC-Target-URI: {url}\r\n" if url else ""
    head = (
        f"WARC/1.0\r\nWARC-Type: {kind}\r\n{named}WARC-Date: 2026-01-02T03:04:05Z\r\n"
        f"WARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-{len(payload):012d}>\r\nContent-Type: {of}\r\n"
        f"Content-Length: {len(payload)}\r\n\r\n"
    )
    return head.encode() + payload + b"\r\n\r\n"


def wet(texts):
    """Records of texts, as WET files have them."""
    return [record("conversion", f"http://x/{k}", text.encode()) for k, text in enumerate(texts)]
