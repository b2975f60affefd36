"""A corpus filtered: the sources of installed Python packages as a crawl, of which code for the network is wanted.

A model learns from a fifth of the files, the share to keep is chosen by precision on another, and the best rows of the
rest are written as they are. What was wanted is known here from the paths, so that what was kept can be judged.

    python examples/filter_corpus.py [--folder FOLDER] [--files N]
"""

import json
import sysconfig
import tempfile
from argparse import ArgumentParser
from pathlib import Path

import numpy as np
import pyarrow as pa

import streamnb as snb

WANTED = {"asyncio", "email", "ftplib.py", "http", "imaplib.py", "nntplib.py", "poplib.py", "smtplib.py", "socket.py"}
WANTED |= {"socketserver.py", "ssl.py", "telnetlib.py", "urllib", "wsgiref", "xmlrpc"}
LINES, PER_FILE = 25, 2000  # of a document; documents of a file of the crawl
SHARES = 0.02, 0.05, 0.1, 0.2


def documents(n_files):
    """Pieces of each file of the standard library, with their path and kind; the files in an order without one."""
    root = Path(sysconfig.get_paths()["stdlib"])
    paths = [path for path in sorted(root.rglob("*.py")) if not {"test", "site-packages"} & {*path.parts}]
    files = []
    for path in np.random.default_rng(0).permutation(np.array(paths, object))[:n_files]:
        lines, name = path.read_text(encoding="utf-8", errors="replace").splitlines(), path.relative_to(root)
        kind = "net" if name.parts[0] in WANTED else "other"
        pieces = [(k, "\n".join(lines[k : k + LINES])) for k in range(0, len(lines), LINES)]
        files.append([{"path": f"{name}:{k}", "text": text, "kind": kind} for k, text in pieces])
    return files


def write(rows, path):
    text = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    path.write_bytes(pa.compress(text, "zstd", asbytes=True))


def unpacked(path):
    return pa.input_stream(path, compression="zstd").read().splitlines()


def main(folder, n_files):
    files = documents(n_files)
    parts = files[::5], files[1::5], [file for k, file in enumerate(files) if k % 5 > 1]
    examples, held_out, crawl = ([row for file in part for row in file] for part in parts)
    write(examples, folder / "examples.jsonl.zst")
    (folder / "crawl").mkdir()
    for k in range(0, len(crawl), PER_FILE):
        write(crawl[k : k + PER_FILE], folder / "crawl" / f"{k // PER_FILE:03d}.jsonl.zst")
    print(f"{len(examples):,} examples, {len(crawl):,} rows of the crawl")

    texts = snb.text([folder / "examples.jsonl.zst"], "text", y="kind", words=(1, 2))
    model = snb.SoftmaxRegressionCV(transform="log1p", normalize="l2", idf=True).fit(texts)

    print("precision on other rows, by the share that is kept")
    scores = model.predict_proba([row["text"] for row in held_out])[:, list(model.classes_).index("net")]
    wanted = np.array([row["kind"] == "net" for row in held_out])[np.argsort(-scores)]
    for share in SHARES:
        print(f"  {share:6.0%} {wanted[: round(share * len(wanted))].mean():6.3f}")

    print(snb.select(model, folder / "crawl", folder / "kept", "net", share=0.1))
    again = snb.select(model, folder / "crawl", folder / "kept", "net", share=0.1)
    print(f"the same call again finds {again.there} of {again.parts} parts written")

    kept = [json.loads(line) for path in sorted((folder / "kept").glob("*.zst")) for line in unpacked(path)]
    before, after = (np.mean([row["kind"] == "net" for row in some]) for some in (crawl, kept))
    print(f"wanted: {before:.1%} of all rows, {after:.1%} of those that were kept")

    print("words that rows have more often after than before")
    every = {}
    for name in ("crawl", "kept"):
        each = snb.text(str(folder / name / "*.zst"), "text", words=(1, 1), n_features=2**14, keep_tokens=5000)
        every[name] = snb.scan(each, np.zeros(each.n_rows, int))
    table = every["crawl"].drift(every["kept"], 8, feature_names=each.feature_names)
    print(table[["feature", "old", "new"]].round(2).to_string(index=False))


if __name__ == "__main__":
    options = ArgumentParser()
    options.add_argument("--folder", type=Path, help="where the files are kept; by default they vanish")
    options.add_argument("--files", type=int, default=10_000, help="source files at most")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        main(given.folder or Path(scratch), given.files)
