"""Every code block in the documentation is executed, and the reference is what the code says."""

from __future__ import annotations

import contextlib
import io
import pkgutil
import re
import runpy
import shlex
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from populace.cli import COMMANDS
from populace.engine.discovery import SHIPPED
from support.commands import populace

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("src/**/card.md")])
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)")


def blocks(page: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(page.read_text())


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=name_of)
def test_every_code_block_of_a_page_runs(page: Path) -> None:
    namespace: dict[str, object] = {"__name__": "__main__"}
    for language, code in blocks(page):
        if language == "python":
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(code, f"<{name_of(page)}>", "exec"), namespace)
        elif language == "sh":
            run_lines(code)
        elif language == "yaml":
            name = re.match(r"# (\w+\.yaml)$", code, re.MULTILINE)
            assert name, f"{name_of(page)} has a YAML block without a line that names its file"
            Path(name[1]).write_text(code)
        elif code.startswith("$ populace "):
            check_output(code)
        else:
            assert language == "text", f"{name_of(page)} has a block of {language!r}, which nobody runs"


def run_lines(code: str) -> None:
    for line in code.strip().splitlines():
        if line.startswith("make "):
            done = subprocess.run([*shlex.split(line), "-n"], cwd=ROOT, capture_output=True, text=True)
        elif line.startswith("populace "):
            done = populace(*shlex.split(line)[1:])
        else:
            raise AssertionError(f"{line!r} is neither make nor populace")
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"


def check_output(code: str) -> None:
    """The lines after `$ command` stand in what the command prints, in this order."""
    command, *lines = code.strip().splitlines()
    done = populace(*shlex.split(command)[2:])
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    printed = iter([line.rstrip() for line in done.stdout.splitlines()])
    for line in lines:
        assert line.rstrip() in printed, f"{command} does not print this line, or not here:\n{line}\n\n{done.stdout}"


def test_the_reference_of_commands_is_up_to_date() -> None:
    reference = runpy.run_path(str(ROOT / "docs" / "generate.py"))["reference"]()
    assert (ROOT / "docs" / "cli.md").read_text() == reference, "run `make docs`"


def test_every_command_is_documented() -> None:
    reference = (ROOT / "docs" / "cli.md").read_text()
    assert all(f"## {name}\n" in reference for name in COMMANDS)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text()):
        if not target.startswith(("http:", "https:")):
            assert (page.parent / target).exists(), f"{name_of(page)} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_module_and_file_that_a_page_names_exists(page: Path) -> None:
    if page.name == "CHANGELOG.md":
        return
    for name in re.findall(r"\bpopulace(?:\.[A-Za-z_]\w*)+", page.read_text()):
        assert pkgutil.resolve_name(name) is not None
    for path in re.findall(r"(?<![\w/.])(?:src|tests|benchmarks)/[\w./]*\w", page.read_text()):
        assert (ROOT / path).exists() or path.startswith("benchmarks/results"), f"{name_of(page)} names {path}"


@pytest.mark.parametrize("path", ["README.md", "docs/tutorial.md", "docs/howto.md", "docs/notebooks"])
def test_one_import_is_enough_to_begin(path: str) -> None:
    pages = sorted((ROOT / path).glob("*.ipynb")) if (ROOT / path).is_dir() else [ROOT / path]
    assert pages
    for page in pages:
        imports = re.findall(r"(?:^|\")((?:from|import) populace[^\n\"\\]*)", page.read_text(), re.MULTILINE)
        assert "import populace as pc" in imports
        others = {line for line in imports if not line.startswith("from populace.scenarios.")}
        assert others <= {"import populace as pc", "from populace.statistics import difference"}


def test_an_entry_of_the_changelog_has_at_most_25_words() -> None:
    entries = re.findall(r"^\* (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert entries
    assert [entry for entry in entries if len(entry.split()) > 25] == []


def test_the_terms_of_the_glossary_are_in_alphabetical_order() -> None:
    terms = re.findall(r"^### (.*)$", (ROOT / "docs" / "glossary.md").read_text(), re.MULTILINE)
    assert len(terms) > 30
    assert terms == sorted(terms, key=str.lower)


class Links(HTMLParser):
    """The ids of a page, where it leads to, and what it makes a browser load."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.targets: list[str] = []
        self.loaded: list[str] = []
        self.feed(page.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value for name, value in attrs if value}
        self.ids.update(values[name] for name in ("id", "name") if name in values)
        if "href" in values:
            (self.targets if tag == "a" else self.loaded).append(values["href"])
        if "src" in values:
            self.loaded.append(values["src"])


@pytest.mark.slow
def test_the_site_builds_without_warnings_and_has_no_broken_link(tmp_path: Path) -> None:
    pytest.importorskip("mkdocstrings")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    pages = {page: Links(page) for page in tmp_path.rglob("*.html") if page.name != "404.html"}
    assert len(pages) > 30
    for page, links in pages.items():
        outside = [target for target in links.loaded if re.match(r"(https?:)?//", target)]
        assert not outside, f"{page.name} loads {outside} from the network"
        for target in links.targets + links.loaded:
            if not re.match(r"\w+:", target):
                assert leads_somewhere(page, target, pages), f"{page.relative_to(tmp_path)} links to {target}"


def leads_somewhere(page: Path, target: str, pages: dict[Path, Links]) -> bool:
    path, _, anchor = unquote(target).partition("#")
    file = (page.parent / path.partition("?")[0]).resolve() if path else page
    return file.exists() and (not anchor or file not in pages or anchor in pages[file].ids)


def test_every_shipped_scenario_has_a_card() -> None:
    for module in sorted({reference.partition(":")[0] for reference in SHIPPED.values()}):
        card = (ROOT / "src" / Path(*module.split(".")) / "card.md").read_text()
        for heading in ("## Purpose", "## Source", "## Parameters", "## What is expected", "## What was seen"):
            assert heading in card, f"the card of {module} lacks {heading}"
