"""Tests of the documentation: what it says exists, and the rules it is written by hold."""

import re
import shlex
from pathlib import Path
from typing import Any, get_args

import pytest
from typer.main import get_command

from detectors.verdicts import Kind
from paceline.findings import DETECTORS
from paceline.main import app
from paceline.simulation.orion import SCENARIOS

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
EACH_PAGE = pytest.mark.parametrize(
    "page", [pytest.param(page, id=page.relative_to(ROOT).as_posix()) for page in PAGES]
)

FENCE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"`(paceline [^`]+)`")
LABEL = re.compile(r"\b(?:MEASURED|SIMULATED|MODELED|ILLUSTRATIVE)\b")
FIGURE = re.compile(
    r"\bTT[DPR] \d|\b\d+m \d+s\b|\b\d+h \d+m\b|GPU-hours lost \d"
    r"|\d[\d.,]*\s?(?:GPU-hours|(?:rows|samples|steps)/s|[kMG]B(?:/s)?|s a step|times faster)\b"
    r"|\b(?:recall|precision|F1|throughput|MTTF|ETTR)\b[^.\n]{0,20}\d"
    r"|\bfalse alarms? (?:per|in) \d|\btakes? (?:about )?\d"
)
"""How a figure of performance looks: delays, losses, rates, sizes and scores."""


def commands_of(page: Path) -> list[str]:
    """Return the commands that a page tells people to type."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^ *```(sh|console)\n(.*?)^ *```$", text, re.MULTILINE | re.DOTALL)
    lines = [line.strip().removeprefix("$ ") for _, block in blocks for line in block.split("\n")]
    return [line for line in lines if re.match(r"paceline\b|make\b|python -m ", line)]


def inline_commands_of(page: Path) -> list[str]:
    """Return the commands that stand in sentences."""
    return CODE.findall(FENCE.sub("", page.read_text(encoding="utf-8")))


def leaf_commands() -> dict[str, Any]:
    """Return every public command of the program by what people type."""
    found: dict[str, Any] = {}
    rest: list[tuple[str, Any]] = [("paceline", get_command(app))]
    while rest:
        name, command = rest.pop()
        inner = getattr(command, "commands", {})
        rest += [(f"{name} {each}", one) for each, one in inner.items()]
        if not inner:
            found[name] = command
    return found


def unknown_parts(line: str) -> list[str]:
    """Return what a command line names that the program does not have."""
    words = shlex.split(re.sub(r"^python -m paceline\b", "paceline", line))[1:]
    command: Any = get_command(app)
    while words and words[0] in getattr(command, "commands", {}):
        command = command.commands[words.pop(0)]
    if getattr(command, "commands", {}):
        return words[:1]
    options = {option for each in command.params for option in each.opts} | {"--help"}
    return [word for word in words if word.startswith("-") and word not in options]


def anchors_of(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}


def is_broken(page: Path, link: str) -> bool:
    """Return whether a relative link leads nowhere."""
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    return not target.exists() or bool(anchor and anchor not in anchors_of(target))


def links_of(page: Path) -> list[str]:
    """Return the relative links and images of a page."""
    found = LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8")))
    return [link for link in found if not link.startswith("http")]


def unlabelled(text: str) -> list[str]:
    """Return the paragraphs that hold a figure without a label in them or just before them."""
    parts = re.split(r"\n\s*\n", text)
    return [
        part
        for before, part in zip(["", *parts], parts, strict=False)
        if FIGURE.search(part) and not LABEL.search(before + part)
    ]


@EACH_PAGE
def test_commands_exist(page: Path) -> None:
    """Every command and option that a page names is there."""
    named = [*commands_of(page), *inline_commands_of(page)]
    ours = [line for line in named if re.match(r"paceline\b|python -m paceline\b", line)]

    assert [(line, wrong) for line in ours if (wrong := unknown_parts(line))] == []


@EACH_PAGE
def test_make_targets_exist(page: Path) -> None:
    """Every target that a page makes is in the Makefile, and said in `make help`."""
    lines = (ROOT / "Makefile").read_text(encoding="utf-8").split("\n")
    targets = {found[1] for line in lines if (found := re.match(r"([a-z-]+):.*##", line))}
    made = {line.split()[1] for line in commands_of(page) if line.startswith("make ")}

    assert made - targets == set()


@EACH_PAGE
def test_test_files_exist(page: Path) -> None:
    """Every test file that a page runs is there."""
    files = [
        word
        for line in commands_of(page)
        if line.startswith("python -m pytest")
        for word in shlex.split(line)
        if word.endswith(".py")
    ]

    assert [file for file in files if not (ROOT / file).is_file()] == []


@pytest.mark.parametrize("name", sorted(leaf_commands()))
def test_help(name: str) -> None:
    """Every public command has a help text with an example of itself that would be accepted."""
    command = leaf_commands()[name]
    told = f"{command.help}\n{command.epilog or ''}"
    (example,) = re.findall(r"Example: (.+)", told)

    assert example.startswith(name)
    assert unknown_parts(example) == []


@pytest.mark.parametrize("name", sorted(leaf_commands()))
def test_documented(name: str) -> None:
    """Every public command is shown on some page, outside of the changelog."""
    pages = [page for page in PAGES if page.name != "CHANGELOG.md"]

    assert any(line.startswith(name) for page in pages for line in commands_of(page))


@EACH_PAGE
def test_links(page: Path) -> None:
    """Every relative link, image and anchor leads somewhere."""
    assert [link for link in links_of(page) if is_broken(page, link)] == []


def test_pages_are_reached() -> None:
    """Every page can be reached from the README by links."""
    reached, rest = set[Path](), [ROOT / "README.md"]
    while rest:
        page = rest.pop()
        reached.add(page)
        targets = [(page.parent / link.partition("#")[0]).resolve() for link in links_of(page)]
        targets += [each for folder in targets if folder.is_dir() for each in folder.glob("*.md")]
        rest += [each for each in targets if each.suffix == ".md" and each not in reached]

    assert sorted(set(PAGES) - reached) == []


def test_images_are_used() -> None:
    """Every picture in the tree stands on a page, and is small enough to be cloned."""
    used = {(page.parent / link).resolve() for page in PAGES for link in links_of(page)}
    pictures = sorted((ROOT / "docs" / "images").iterdir())

    assert [picture for picture in pictures if picture not in used] == []
    assert [picture for picture in pictures if picture.stat().st_size > 400_000] == []


@EACH_PAGE
def test_figures_are_labelled(page: Path) -> None:
    """No figure of performance stands without saying where it comes from."""
    assert unlabelled(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("Recall and\nrecall 0.98 here.", 1, id="a score needs a label"),
        pytest.param("It takes 40 s.", 1, id="a time needs a label"),
        pytest.param("SIMULATED, one seed:\n\n| TTD 4m 0s |", 0, id="a label may stand above"),
        pytest.param("No step for 600 s is a hang.", 0, id="a threshold is no figure"),
    ],
)
def test_label_rule(text: str, expected: int) -> None:
    """The rule of labels tells figures from thresholds."""
    assert len(unlabelled(text)) == expected


def first_cells(page: str) -> list[str]:
    """Return the first cell of every row of a page's tables."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(r"^\| ([^|]+?) \|", text, re.MULTILINE)


def test_every_detector_is_explained() -> None:
    """Every detector has a row on the page of detectors, in the order they run."""
    names = [name for name, _ in DETECTORS]

    assert [cell for cell in first_cells("docs/detectors.md") if cell in names] == names


def test_every_scenario_has_its_figures() -> None:
    """Every scenario of the demo stands in the table of figures."""
    assert set(SCENARIOS) <= set(first_cells("docs/detectors.md"))


def test_every_kind_is_listed() -> None:
    """The page for CI lists exactly the kinds that --fail-on takes."""
    text = (ROOT / "docs" / "users" / "ci.md").read_text(encoding="utf-8")
    (sentence,) = re.findall(r"once for each kind: (.+?)\.\n", text, re.DOTALL)

    assert set(re.findall(r"`(\w+)`", sentence)) == set(get_args(Kind))


def test_decisions() -> None:
    """Records are numbered without a hole, and each says context, decision and consequences."""
    pages = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    numbers = [page.name[:4] for page in pages]
    shapes = {
        tuple(re.findall(r"^## (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE))
        for page in pages
    }

    assert numbers == [f"{at:04}" for at in range(1, len(pages) + 1)]
    assert shapes == {("Context", "Decision", "Consequences")}
