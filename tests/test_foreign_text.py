"""Whatever is foreign can be read everywhere and acts nowhere: a thousand hostile strings through all that shows them."""

from __future__ import annotations

import ast
import csv
import io
import json
import re
import shlex
import sqlite3
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from rich.color import ColorSystem

import populace
from populace import Run, simulate
from populace.base.foreign import for_line, for_prompt, for_terminal, from_cell
from populace.cli import output
from populace.engine.discovery import find_scenario, known_scenarios
from populace.experiments.validation import validity
from populace.models import Request, Scripted
from populace.people import names
from support.commands import populace as command
from support.foreign_run import DESIGN, NAMES, OTHERS, PEOPLE, POSTS, STRINGS, foreign_run, hostile_model
from support.hostile import MARKUP, acting_parts, control_tokens_in, foreign_strings, is_formula

SOURCE = Path(populace.__file__).parent
MARK = re.compile(r"q\d{4}q")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("foreign")


@pytest.fixture(scope="module")
def run(place: Path) -> Run:
    return foreign_run(place)


@pytest.fixture(scope="module")
def other(place: Path, run: Run) -> Run:
    return foreign_run(place, seed=2, parameters={"words": ["x"], "title_of_all": OTHERS[50]})


def test_no_command_prints_what_acts(run: Run, other: Run, place: Path, tmp_path: Path) -> None:
    """Every command that reads a run, as text and as JSON; together they show all thousand strings."""
    outside = tmp_path / "[bold]\x1b[31m\u202e; touch x[" / "runs"
    outside.parent.mkdir()
    name = run.name
    person = ("--step", "1", "--person", NAMES[41])
    commands = [
        ("list",), ("show", name), ("show", name, "--step", "1"), ("show", name, "--person", NAMES[0]),
        ("show", name, *person), ("show", name, "--thread", "1"), ("why", name, *person),
        ("compare", name, other.name), ("digest", name, "--most", "60"), ("replay", name, "--verify"), ("resume", name, "--no-chart"),
        ("interview", name, STRINGS[5], "--person", NAMES[1], "--model", "scripted:uniform"),
        ("interview", name, "Which?", "--options", f"{OTHERS[60]},{OTHERS[61]}", "--model", "scripted:uniform"),
        ("ask-again", name, *person, "--path", "1/0", "--text", STRINGS[9], "--model", "scripted:uniform"),
        ("judge", name, "--model", "scripted:uniform", "--sample", "9", str(tmp_path / "sample.csv")),
        ("feedback", name), ("feedback",), ("experiment", "--list"), ("scenarios",),
        ("report", name, "--to", str(tmp_path / "report")),
        ("fork", name, "--at", "1", "--set", f"title_of_all={OTHERS[51]}", "--no-chart"),
    ]  # fmt: skip
    marks: set[str] = set()
    for words in commands:
        for form in ((), ("--json",)):
            (tmp_path / "sample.csv").unlink(missing_ok=True)
            result = command(*words, "--workspace", str(place), *form)
            shown = result.stdout + result.stderr
            marks |= set(MARK.findall(shown))
            assert acting_parts(shown) == [], words
            assert result.returncode in (0, 6) or words[0] in ("fork", "ask-again"), (words, result.stderr)
            assert "P000" not in result.stderr, (words, result.stderr)
            if form:
                json.loads(result.stdout)
    assert len(marks) > 700, "else the strings were not shown, and this test says nothing"


@pytest.mark.parametrize(
    "words",
    [
        ("show", "{}"), ("show", "RUN", "--person", "{}"), ("why", "RUN", "--step", "1", "--person", "{}"),
        ("run", "{}"), ("run", "norms", "--model", "{}"), ("run", "norms", "--set-nothing", "{}"), ("{}",),
        ("run", "norms", "--days", "{}"), ("run", "norms", "--intervention", "{}"), ("judge", "RUN", "--model", "{}"),
        ("export", "RUN", "x", "--format", "{}"), ("experiment", "{}"), ("report", "{}"), ("models", "{}"),
        ("compare", "RUN", "{}"), ("estimate", "{}"), ("new", "{}/{}"), ("discern", "--study", "{}"),
        ("fork", "RUN", "--at", "1", "--set", "{}"), ("interview", "RUN", "x", "--person", "{}"),
        ("structure", "norms", "--vary", "{}", "--outcome", "share_blue", "--dry-run"), ("robust", "{}"),
        ("structure", "norms", "--vary", "days=1,2", "--outcome", "{}", "--model", "scripted:uniform", "--dry-run"),
        ("structure", "norms", "--vary", "days=1,2", "--outcome", "share_blue", "--model", "{}", "--dry-run"),
        ("robust", "RUN", "--variation", "{}"), ("discern", "RUN", "--real", "{}", "--report"),
        ("feedback", "RUN", "--purpose", "{}"), ("feedback", "{}"),
    ],
)  # fmt: skip
def test_no_error_acts(run: Run, place: Path, words: tuple[str, ...]) -> None:
    for text in foreign_strings(12, seed=len("".join(words))):
        arguments = [word.replace("{}", text.replace("\0", "\1")).replace("RUN", run.name) for word in words]
        for form in ((), ("--json",)):
            result = command(*arguments, *form, POPULACE_WORKSPACE=str(place))
            assert result.returncode, arguments
            assert acting_parts(result.stdout + result.stderr) == []
            assert "P000" not in result.stderr, result.stderr


def test_no_study_of_a_run_or_of_hostile_threads_prints_what_acts(run: Run, place: Path, tmp_path: Path) -> None:
    """`discern`, `feedback`, `structure` and `robust`, with hostile threads, raters, communities and levels."""
    posts = [{"author": OTHERS[20], "text": OTHERS[21]}, {"author": OTHERS[22], "text": OTHERS[23], "parent": 0}]
    threads = [{"community": OTHERS[24], "title": OTHERS[25 + number], "posts": posts} for number in range(3)]
    (tmp_path / "real.jsonl").write_text("".join(json.dumps(thread) + "\n" for thread in threads))
    pairs = ("discern", run.name, "--real", "real.jsonl", "--community", OTHERS[24], "--answers", "answers.jsonl")
    levels = [
        text.replace(",", ";").replace("{", "(").replace("}", ")") + "{blue}" for text in (OTHERS[40], OTHERS[41])
    ]
    shirts = ("--vary", f"wording={','.join(map(json.dumps, levels))}")
    commands = [
        (*pairs, "--model", "scripted:uniform", "--rater", for_line(OTHERS[30])),
        (*pairs, "--report"),
        ("feedback", run.name, "--size", "20", "--seed", "3"),
        ("feedback", "--by", "purpose"),
        ("feedback", "--by", "run"),
        ("structure", "support.scenarios:Shirts", *shirts, "--outcome", "share_blue", "--model", "scripted:uniform",
         "--set", "people_count=2", "--set", "days=1", "--replicates", "2", "--workers", "1", "--name", "odd"),
        ("robust", "ODD", "--variation", "polite", "--workers", "1"),
    ]  # fmt: skip
    shown = ""
    for words in commands:
        for form in ((), ("--json",)):
            odd = next((path.name for path in place.glob("experiments/odd-*")), "none yet")
            arguments = [word.replace("ODD", odd) for word in words]
            result = command(*arguments, "--workspace", str(place), *form)
            # The two levels are so strange that `robust` takes their prompts for equal, and says so.
            assert result.returncode in (0, 6) or words[0] == "robust", (words, result.stderr)
            assert "P000" not in result.stderr, result.stderr
            assert acting_parts(result.stdout + result.stderr) == [], words
            shown += result.stdout
    assert MARK.search(shown)


def test_no_command_that_asks_models_prints_what_acts(tmp_path: Path) -> None:
    """Designs, questionnaires and tables of respondents are hostile files."""
    model = ("--model", "scripted:uniform")
    write_yaml(tmp_path / "design.yaml", DESIGN | {"people": 8, "posts": 6, "together": 3})
    item = {"id": "a", "type": "single", "text": OTHERS[7].replace("{", "("), "options": [OTHERS[8], OTHERS[10]]}
    write_yaml(tmp_path / "questions.yaml", {"title": OTHERS[6], "items": [item]})
    people = pl.DataFrame({"id": [1, 2, 3], "job": OTHERS[:3], OTHERS[9]: OTHERS[3:6]})
    people.write_csv(tmp_path / "people.csv")
    commands = [
        ("run", "forum", "--design", "design.yaml", "--no-expand", "--no-chart", *model),
        ("whatif", "last", "--post", "1", "--say", OTHERS[60], "--person", "1"),
        ("multiverse", "last", "--n", "1"),
        ("survey", "people.csv", "questions.yaml", *model, "--by", "job", "--to", "answers.csv"),
        ("probe", "norms", *model, "--people", "2", "--vary", "initial_share=0,1", "--out", "curve.csv"),
    ]
    for words in commands:
        for form in ((), ("--json",)):
            result = command(*words, *form)
            assert result.returncode == 0, result.stderr
            assert acting_parts(result.stdout + result.stderr) == [], words
            for file in tmp_path.glob("*.csv"):
                if file.name != "people.csv":
                    cells = [cell for row in csv.reader(io.StringIO(file.read_text())) for cell in row]
                    assert [cell for cell in cells if is_formula(cell) or acting_parts(cell)] == []
                    file.unlink()


@pytest.mark.slow
def test_an_experiment_with_hostile_words_prints_and_reports_them_as_text(tmp_path: Path) -> None:
    design = {
        "name": "study", "question": OTHERS[4], "scenario": "norms", "parameters": {"workers": 4, "days": 1},
        "factors": {"initial_share": [0.1, 0.9]}, "replicates": 2, "model": "scripted:uniform",
        "outcomes": [{"name": OTHERS[5], "metric": "share_blue"}],
    }  # fmt: skip
    write_yaml(tmp_path / "study.yaml", design)
    for words in (
        ("experiment", "study.yaml", "--workers", "1"),
        ("experiment", "--list"),
        ("report", "study", "--to", "out"),
    ):
        result = command(*words)
        assert result.returncode == 0, result.stderr
        assert acting_parts(result.stdout + result.stderr) == []
    texts = [file.read_text() for file in (tmp_path / "out").rglob("*.*") if file.is_file()]
    assert len(texts) > 2
    assert [text for text in texts if acting_parts(text)] == []


def write_yaml(path: Path, data: object) -> None:
    path.write_text(yaml.safe_dump(data, allow_unicode=True), encoding="utf-8")


def test_the_help_of_a_scenario_is_text(tmp_path: Path) -> None:
    text = " ".join(STRINGS[::20])
    code = f"""
import populace as pc

class Hostile(pc.Scenario):
    {text!r}
    size: int = pc.Field(3, description={text!r})
    word: str = pc.Field({text!r})
"""
    (tmp_path / "hostile.py").write_text(code, encoding="utf-8")
    for words in (("run", "hostile.py", "--help"), ("scenarios", "hostile.py"), ("scenarios", "hostile.py", "--json")):
        shown = command(*words)
        assert shown.returncode == 0
        assert acting_parts(shown.stdout + shown.stderr) == []
        assert len(set(MARK.findall(shown.stdout))) > 20


def test_brackets_and_styles_of_others_are_only_text_on_a_terminal(
    run: Run, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output.out, "_force_terminal", True)
    monkeypatch.setattr(output.out, "_color_system", ColorSystem.STANDARD)
    result = command("show", run.name, "--step", "1", "--workspace", str(place), COLUMNS="4000")
    assert "\x1b[1m" in result.stdout, "headings are bold, so this is a terminal"
    plain = re.sub(r"\x1b\[(?:0|1|2|3|3;?)m", "", result.stdout)
    assert acting_parts(plain) == []


def test_a_command_to_copy_runs_no_other_command(run: Run, place: Path) -> None:
    for name in NAMES:
        if set(name) & set(";$`'&|"):
            shown = command("show", run.name, "--person", name, "--workspace", str(place)).stdout
            words = shlex.split(shown.strip().splitlines()[-1].partition("open one:")[2])
            assert words[:3] == ["populace", "show", run.name]
            assert words[words.index("--person") + 1] == for_line(name)


def test_a_console_prints_every_string_as_it_can_be_read() -> None:
    file = io.StringIO()
    console = output.Terminal(file=file, width=5000)
    for text in foreign_strings(400, surrogates=True):
        console.print_line("  ", output.bold(text), f" and {text}")
        console.print_text(text)
        console.print(text)
    assert acting_parts(file.getvalue()) == []
    assert len(set(MARK.findall(file.getvalue()))) == 400
    assert [text for text in MARKUP if for_line(text) not in file.getvalue()] == [], "markup is text, and stays"
    file.truncate(file.seek(0))
    console.print_line("one\nforged line", ":smile: [b]x[/b]")
    assert file.getvalue() == "one forged line:smile: [b]x[/b]\n"


def test_an_exported_csv_holds_no_formula_and_no_control_character(run: Run, place: Path, tmp_path: Path) -> None:
    assert (
        command("export", run.name, str(tmp_path / "out"), "--format", "csv", "--workspace", str(place)).returncode == 0
    )
    cells = [
        cell
        for file in sorted((tmp_path / "out").iterdir())
        for row in csv.reader(io.StringIO(file.read_text(encoding="utf-8")))
        for cell in row
    ]
    assert [cell for cell in cells if is_formula(cell) or acting_parts(cell)] == []
    assert len({mark for cell in cells for mark in MARK.findall(cell)}) > 900
    people = pl.read_csv(tmp_path / "out" / "people.csv", infer_schema=False)
    shown = [for_terminal(name) for name in NAMES]
    assert [from_cell(cell) for cell in people["name"][:PEOPLE]] == shown


@pytest.mark.parametrize("form", ["sqlite", "parquet"])
def test_a_database_and_parquet_hold_the_very_strings(run: Run, place: Path, tmp_path: Path, form: str) -> None:
    target = tmp_path / "out"
    assert command("export", run.name, str(target), "--format", form, "--workspace", str(place)).returncode == 0
    if form == "parquet":
        people = pl.read_parquet(target / "people.parquet")
        assert people["name"].to_list()[:PEOPLE] == NAMES
        return
    with sqlite3.connect(target) as database:
        rows = database.execute("SELECT name FROM people LIMIT ?", [PEOPLE]).fetchall()
        columns = [row[1] for row in database.execute("PRAGMA table_info(people)")]
    assert [row[0] for row in rows] == NAMES
    assert '"quoted" =1' in columns and '"QUOTED" =1 2' in columns, "names that differ in case only are kept apart"


class Elements(HTMLParser):
    """The elements and attributes of a page, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: set[tuple[str, str]] = set()
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found |= {(tag, ""), *((tag, name) for name, _ in attrs)}

    def handle_data(self, data: str) -> None:
        self.text += data


def test_pages_and_reports_hold_the_strings_as_text_alone(
    run: Run, place: Path, tmp_path: Path, shirts_run: Run
) -> None:
    """The elements of a page with hostile strings are those of any page."""
    page = tmp_path / "page.html"
    command("export", run.name, str(page), "--format", "html", "--no-filter", "--workspace", str(place))
    files = [page]
    result = command("report", run.name, "--to", str(tmp_path / "report"), "--workspace", str(place), "--json")
    files += [Path(file) for file in json.loads(result.stdout)["data"]["files"]]
    assert {file.suffix for file in files} == {".html", ".md", ".svg"}
    marks = set()
    for file in files:
        text = file.read_text(encoding="utf-8")
        assert acting_parts(text) == [], file
        marks |= set(MARK.findall(text))
        if file.suffix == ".md":
            outside = re.sub(r"^(`{3,})text\n.*?\n\1$", "", text, flags=re.MULTILINE | re.DOTALL)
            assert not re.search(r"<[a-z/!]|(?<!\\)\]\((?!report|[\w%.-]+-figures/)", outside)
            continue
        elements = Elements(text)
        names = {tag for tag, _ in elements.found}
        assert not names & {"script", "img", "iframe", "form", "object", "base", "b:x"}
        assert not [name for _, name in elements.found if name.startswith("on")]
    assert len(marks) > 600


def test_a_metric_with_a_hostile_name_stays_in_its_folder_and_in_its_attribute(tmp_path: Path) -> None:
    from populace.experiments.reports import figures

    table = pl.DataFrame({"step": [1, 2], "mean": [0.1, 0.2], "low": [None, None], "high": [None, None]})
    table = table.with_columns(pl.col("low", "high").cast(pl.Float64))
    for text in STRINGS[::300]:
        svg = figures.paths({text: table, "b": table}, text, name=f'metric-{text}"><script>')
        assert acting_parts(svg) == []
        assert not {tag for tag, _ in Elements(svg).found} & {"script", "img", "svg/onload"}


class ErrorServer(ThreadingHTTPServer):
    """A server that answers every request with an error in hostile words."""

    body = b""


@pytest.fixture
def error_server() -> Iterator[ErrorServer]:
    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = server.body
            self.send_response(400)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = answer  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    server = ErrorServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def test_no_error_of_a_server_acts(error_server: ErrorServer) -> None:
    marks = 0
    for number in range(0, 1000, 334):
        text = " ".join(STRINGS[number + at] for at in range(0, 300, 20))
        error_server.body = json.dumps({"error": {"message": text}}).encode()
        address = f"http://127.0.0.1:{error_server.server_port}/v1#x"
        result = command("run", "norms", "--days", "1", "--workers", "2", "--model", address)
        assert result.returncode in (3, 5)
        assert acting_parts(result.stdout + result.stderr) == []
        marks += len(set(MARK.findall(result.stderr)))
    assert marks > 4, "else the words of the server were not shown"


SETTINGS: dict[str, dict[str, Any]] = {
    "party": {"embedder": "hashing", "days": 1, "residents": 6},
    "forum": {"design": DESIGN | {"people": 60, "posts": 40, "together": 10}},
    "discussion": {"embedder": "hashing", "topic": " ".join(STRINGS[60:90])},
}
WITH_AXELROD = [pytest.mark.slow, pytest.mark.xdist_group("axelrod")]
"""The package takes many seconds to import, so one process does it for all tests."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=WITH_AXELROD if name == "axelrod" else []) for name in known_scenarios()]
)
def test_no_prompt_of_a_shipped_scenario_holds_a_control_token(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names, texts among the parameters and replies of the model are hostile; every message is looked at."""
    messages: list[str] = []
    inner = hostile_model()

    def reply(request: Request) -> Any:
        messages.extend(text for _, text in request.messages)
        return inner.script(request)

    drawn = names.draw_names

    def hostile_names(count: int, *args: Any, **settings: Any) -> pl.DataFrame:
        table = drawn(count, *args, **settings)
        return table.with_columns(pl.Series("name", [STRINGS[row % 1000] + str(row) for row in range(count)]))

    for module in ("populace.people.table", "populace.people.expansion"):
        monkeypatch.setattr(f"{module}.draw_names", hostile_names, raising=True)
    scenario = find_scenario(name)(**SETTINGS.get(name, {}))
    simulate(scenario, model=Scripted(reply, spec="scripted:hostile"), keep="nothing", seed=1)
    assert messages
    assert [text for text in messages if control_tokens_in(text)] == []


def test_objects_in_a_notebook_hold_text_alone(run: Run) -> None:
    people = run.people(1)
    shown = [repr(run), repr(people), run._repr_html_(), str(validity(run)), validity(run)._repr_html_()]
    assert [text for text in shown if acting_parts(text)] == []
    assert Elements(people._repr_html_()).found == Elements(pl.DataFrame({"a": [1]})._repr_html_()).found


def test_the_record_holds_the_prompt_that_was_sent(run: Run) -> None:
    texts = run.prompts()
    sent = [*texts["system"].to_list(), *texts["user"].to_list()]
    assert [text for text in sent if for_prompt(text) != text] == []
    assert sum("‹|" in text for text in sent) > 20, "tokens stay readable"
    assert any(text in " ".join(POSTS) for text in POSTS)


PRINTS = {
    "cli/__init__.py": {"echo"},
    "cli/output.py": {"echo", "Console"},
    "studio/server.py": {"print"},
    "community/terminal.py": set(),
}
"""Who may call what: the command line before its console is imported, the console itself, and Studio's default."""


def test_there_is_one_way_to_print() -> None:
    strange = []
    for file in sorted(SOURCE.rglob("*.py")):
        where, code = file.relative_to(SOURCE).as_posix(), file.read_text(encoding="utf-8")
        suspect = where.startswith("cli/") or re.search(
            r"\bprint\(|echo\(|Console\(|from_markup|TextColumn|write_csv|html.escape", code
        )
        for node in ast.walk(ast.parse(code)) if suspect else ():
            if isinstance(node, ast.Call):
                called = node.func
                name = (
                    called.id
                    if isinstance(called, ast.Name)
                    else called.attr
                    if isinstance(called, ast.Attribute)
                    else ""
                )
                plain_print = isinstance(called, ast.Name) and name == "print"
                if (plain_print or name in ("echo", "secho", "Console", "from_markup")) and name not in PRINTS.get(
                    where, ()
                ):
                    strange.append(f"{where}:{node.lineno} calls {name}")
                if name == "TextColumn" and not any(word.arg == "markup" for word in node.keywords):
                    strange.append(f"{where}:{node.lineno} shows markup in a progress bar")
                if ast.unparse(called) == "html.escape" and where != "base/foreign.py":
                    strange.append(f"{where}:{node.lineno} escapes HTML in a way of its own")
                if name == "write_csv" and "csv_table" not in ast.unparse(called):
                    strange.append(f"{where}:{node.lineno} writes cells that are not made for a spreadsheet")
            text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
            if where.startswith("cli/") and re.search(r"\[/?(?:bold|dim|red|green|yellow|italic)\]", text):
                strange.append(f"{where}:{node.lineno} writes markup")
    assert strange == []
