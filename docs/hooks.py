"""MkDocs hooks: pages of the site that do not lie in docs/, and links that work both on the forge and in the site.

Sources link to each other as files of the repository, so that the links work on the forge. In the site every such
link is rewritten to the page that the file became.
"""

from __future__ import annotations

import importlib
import inspect
import json
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent
LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)]*)?\))")
FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
PUBLIC_NAMES = "<!-- public names -->"
FOREIGN = {"Field": "The default, bounds and description of a parameter of a scenario (the `Field` of pydantic)."}
"""Public names that come from other packages, in our own words."""


def outside_pages() -> dict[str, str]:
    """Files outside docs/ (and notebooks), by their path in the repository: the site's page for each."""
    cards = {f"src/populace/scenarios/{name}/card.md": f"scenarios/{name}.md" for name in scenario_names()}
    notebooks = {
        f"docs/notebooks/{path.name}": f"notebooks/{path.stem}.md" for path in ROOT.glob("docs/notebooks/*.ipynb")
    }
    top = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
    top["CITATION.cff"] = "CITATION.cff"
    return {**top, **cards, **notebooks}


def scenario_names() -> list[str]:
    """Scenarios that have a card."""
    return sorted(path.parent.name for path in ROOT.glob("src/populace/scenarios/*/card.md"))


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages whose sources lie outside docs/, and leave out the raw notebooks."""
    for source, target in outside_pages().items():
        path = ROOT / source
        content = notebook_markdown(path) if path.suffix == ".ipynb" else path.read_text()
        files.append(File.generated(config, target, content=content))
    for file in [file for file in files if file.src_uri.endswith(".ipynb")]:
        files.remove(file)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Rewrite links between files of the repository, and insert the table of public names."""
    target = page.file.src_uri
    source = next((path for path, uri in outside_pages().items() if uri == target), f"docs/{target}")
    parts = FENCE.split(markdown)
    prose = [LINK.sub(lambda match: rewrite_link(match, source, target), part) for part in parts[::2]]
    parts[::2] = prose
    return "".join(parts).replace(PUBLIC_NAMES, public_names())


def rewrite_link(match: re.Match[str], source: str, target: str) -> str:
    """One Markdown link from a file of the repository, as a link between pages of the site."""
    link = match[2]
    if re.match(r"[a-z]+:", link):
        return match[0]
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), link))
    uri = outside_pages().get(path, path.removeprefix("docs/") if path.startswith("docs/") else path)
    return match[1] + posixpath.relpath(uri, posixpath.dirname(target) or ".") + match[3]


def notebook_markdown(path: Path) -> str:
    """A notebook as Markdown: its text, its code and what the code put out, as plain text."""
    parts = []
    for cell in json.loads(path.read_text())["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(text)
        else:
            output = "\n".join(filter(None, (output_text(output) for output in cell["outputs"])))
            parts += [f"```python\n{text}\n```", f"```text\n{output}\n```"]
    return "\n\n".join(parts) + "\n"


def output_text(output: dict[str, Any]) -> str:
    """The plain text of one output of a notebook's cell."""
    return "".join(output.get("text") or output.get("data", {}).get("text/plain", "")).rstrip()


def public_names() -> str:
    """A table of what `import populace as pc` offers, each name with the first sentence of its docstring."""
    package = importlib.import_module("populace")
    rows = [f"| {name_cell(package, name)} |" for name in package.__all__]
    return "\n".join(["| name | what it is |", "|---|---|", *rows])


def name_cell(package: Any, name: str) -> str:
    """One public name and its summary, with a link to its description where it is described in this site."""
    if name in FOREIGN:
        return f"`pc.{name}` | {FOREIGN[name]}"
    summary = (inspect.getdoc(getattr(package, name)) or "").split("\n\n")[0].replace("\n", " ").replace("|", "&#124;")
    return f"[`pc.{name}`][populace.{name}] | {summary}"
