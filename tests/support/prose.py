"""Sentences of more than 30 words in the pages: `python -m tests.support.prose`, which `make prose` runs."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").glob("*.md"))]
MOST = 30
CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
OTHER = re.compile(r"^( {4}\S|\||<!--|#).*$", re.MULTILINE)  # formulas, tables, comments and headings
MARKUP = re.compile(r"!?\[([^\]]*)\]\([^)]*\)|`[^`]*`")
END = re.compile(r"(?<=[.?!:;])\s+(?=[A-Z*`\"(\[]|streamnb|fastText)|\n\s*\n|\n\s*(?:[-*]|\d+\.)\s")


def sentences(text):
    """The sentences of a page, without code, tables and headings; a piece of code is one word."""
    prose = MARKUP.sub(lambda found: found[1] or "Code", OTHER.sub("\n\n", CODE.sub("\n\n", text)))
    return [" ".join(sentence.split()) for sentence in END.split(prose) if sentence and sentence.strip()]


def long_sentences(text):
    return [sentence for sentence in sentences(text) if len(sentence.split()) > MOST]


def main(pages):
    for page in pages:
        found, n_all = long_sentences(page.read_text()), len(sentences(page.read_text()))
        if found:
            print(f"{page.relative_to(ROOT)}: {len(found)} of {n_all} sentences have more than {MOST} words")
            for sentence in found:
                print(f"  {sentence}")


if __name__ == "__main__":
    main([Path(page).resolve() for page in sys.argv[1:]] or PAGES)
