"""Lines in boxes are what they were before a terminal drew the box."""

import pytest

from collectors.texts.envelope import read_lines

LONG = "a" * 40 + "b" * 40 + " " + "c" * 9


def box(*texts: str, side: str = "│", width: int = 40) -> str:
    """Lines padded to a box and cut at its width."""
    pieces = [text[at : at + width] for text in texts for at in range(0, len(text), width)]
    return "".join(f"{side} {piece:{width}} {side}\n" for piece in pieces)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(box(LONG, "next"), [(1, LONG), (4, "next")], id="cut inside words"),
        pytest.param(box(LONG, side="┃"), [(1, LONG)], id="a heavy box"),
        pytest.param(box("d" * 39 + " e"), [(1, "d" * 39 + " e")], id="a blank at the cut is kept"),
        pytest.param(
            box("short", "x" * 12, "y", width=12),
            [(1, "short"), (2, "x" * 12), (3, "y")],
            id="a narrow box cuts nothing",
        ),
        pytest.param(
            f"│ {'x' * 50} │\n│ y │\n", [(1, "x" * 50), (2, "y")], id="lines that are not padded"
        ),
        pytest.param("│ [rank3]:x │ y │\n", [(1, "[rank3]:x │ y")], id="rows of tables"),
    ],
)
def test_boxes(text: str, expected: list[tuple[int, str]]) -> None:
    """The position is where a text began."""
    assert read_lines(text.encode()).select("position", "text").rows() == expected
