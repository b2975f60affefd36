"""Settings of the site that `make docs` builds."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

DOCS = Path(__file__).parent
ROOT = DOCS.parent
sys.path.insert(0, str(DOCS))
import pictures  # noqa: E402

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
ON_THE_WEB = f"{PROJECT['urls']['Repository']}/blob/main/"
# Pages of the site whose text stands elsewhere.
ELSEWHERE = {
    "index": ROOT / "README.md",
    "contributing": ROOT / "CONTRIBUTING.md",
    "security": ROOT / "SECURITY.md",
    "changelog": ROOT / "CHANGELOG.md",
    "results": ROOT / "benchmarks" / "RESULTS.md",
}
# What readers type into the search box, and the headings that answer it: these come first in the results.
ANSWERS = json.loads((DOCS / "search_answers.json").read_text())

project = PROJECT["name"]
author = PROJECT["authors"][0]["name"]
copyright = f"2026, {author}"
release = version = PROJECT["version"]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc"]
exclude_patterns = ["_templates", "_static"]
templates_path = ["_templates"]

# Markdown as GitHub shows it, with its anchors. Files beside docs/ that a page links to become downloads.
myst_heading_anchors = 4
highlight_language = "text"  # of blocks that name none

# Docstrings are those of numpydoc; what stands between single backticks is code.
default_role = "code"
smartquotes = False  # quotes are those of Python's strings
autosummary_generate = True
autosummary_context = {  # what is for other programs, or scikit-learn's own
    "skipped": ["__init__", "get_metadata_routing", "set_output", "from_predictions"],
    "pictures": pictures.CODE,
}
autodoc_typehints = "none"  # types are told in the docstring
numpydoc_show_class_members = False

# Nothing is asked of another server: the fonts are those of the reader, the search index is a file of the site.
html_theme = "furo"
html_title = f"{project} {release}"
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["../build/live"]  # with the pages of examples/reports.py


def link_of_the_site(folder, text, path, anchor):
    """A link of a file in `folder` as a page in docs/ has it."""
    target = (folder / path).resolve()
    if target.is_dir():
        return text
    if target.suffix == ".md" and DOCS not in target.parents and target not in ELSEWHERE.values():
        return f"[{text}]({ON_THE_WEB}{target.relative_to(ROOT)}{anchor})"
    page = next((f"{page}.md" for page, file in ELSEWHERE.items() if file == target), os.path.relpath(target, DOCS))
    return f"[{text}]({page}{anchor})"


def as_of_the_site(app, page, source):
    """Put the text of README and its like into their pages, and every page into the navigation."""
    text, folder = source[0], DOCS
    if page in ELSEWHERE:
        navigation = text[text.index("```{toctree}") :] if "```{toctree}" in text else ""
        app.env.note_dependency(str(ELSEWHERE[page]))  # the page is made anew when that text changes
        text, folder = ELSEWHERE[page].read_text() + "\n" + navigation, ELSEWHERE[page].parent
        text = text.replace(f"]({ON_THE_WEB}", "](").replace("<others>", others(navigation))
    for heading, questions in ANSWERS.get(page, {}).items():
        entries = "".join(f"```{{index}} ! {question}\n```\n\n" for question in questions)
        text = text.replace(f"{heading}\n", f"{heading}\n\n{entries}", 1)
    links = r"\[([^\]]*)\]\((?!https?:)([^)#\s]+)(#[^)]*)?\)"
    text = text.replace(NO_LINKS, links_to_reports())
    source[0] = re.sub(links, lambda link: link_of_the_site(folder, link[1], link[2], link[3] or ""), text)


def others(navigation):
    """The pages that the navigation does not name."""
    named = set(navigation.split()) | {"index"}
    return "\n".join(sorted(page.stem for page in DOCS.glob("*.md") if page.stem not in named))


LIVE = "flights", "digits", "subjects"
NO_LINKS = "<!-- live examples -->"  # in report.md, where pages of the site do not exist


def write_reports(app):
    """Write the live examples, three reports."""
    folder = ROOT / "build" / "live" / "reports"
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, ROOT / "examples" / "reports.py", folder], cwd=ROOT, check=True)


def write_pictures(app):
    """Draw the pictures of the reference."""
    pictures.write(ROOT / "build" / "pictures")


def write_module_map(app):
    """Write the page of all modules, from their docstrings."""
    with open(DOCS / "module_map.md", "w") as page:
        subprocess.run([sys.executable, "-m", "tests.support.module_map"], cwd=ROOT, check=True, stdout=page)


def links_to_reports():
    """Links to the live examples as HTML, which Sphinx leaves as it is."""
    links = ", ".join(f'<a href="reports/{name}.html">{name}</a>' for name in LIVE)
    return f"Three of them: {links}."


def setup(app):
    """Called by Sphinx."""
    (ROOT / "build" / "live").mkdir(parents=True, exist_ok=True)
    app.connect("builder-inited", write_reports)
    app.connect("builder-inited", write_pictures)
    app.connect("builder-inited", write_module_map)
    app.connect("source-read", as_of_the_site)
