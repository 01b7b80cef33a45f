"""Tests of cards: what data says is text in them, never markup, and stays on its line."""

import re
from html import unescape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.library.cards import MAX_CHARACTERS, Card, card_html, card_text, section, text_card

WORDS = st.text(max_size=40)
TAG = re.compile(r"<[^>]*>")
WHOLE = Card(
    title="PAGE run: gpu 1 <b>",
    notes=("SIMULATED.",),
    facts=(("culprit", "gpu 1"), ("GPU-hours lost", "3.2")),
    sections=(section("Evidence", ["clock 1.4 GHz", "x" * 400]), section("Next", [])),
    text="a  1\nbb 2",
)


def test_text() -> None:
    """On a terminal a card is its title, names beside what is told, lists, and columns."""
    assert card_text(WHOLE).split("\n") == [
        "PAGE run: gpu 1 <b>",
        "  SIMULATED.",
        "  culprit         gpu 1",
        "  GPU-hours lost  3.2",
        "  Evidence",
        "    clock 1.4 GHz",
        f"    {'x' * (MAX_CHARACTERS - 3)}...",
        "a  1",
        "bb 2",
    ]


def test_html() -> None:
    """In a notebook a card has the same, its columns kept, and no empty list."""
    html = card_html(WHOLE)

    assert (
        html.count("<li>"),
        "gpu 1 &lt;b&gt;" in html,
        ">a  1\nbb 2</pre>" in html,
        "Next" in html,
    ) == (2, True, True, False)


@pytest.mark.parametrize("text", ["", "\n\n"], ids=["nothing", "blank lines"])
def test_no_text(text: str) -> None:
    """Without text there is no empty block."""
    assert ("<pre" in card_html(text_card("Title", text)), card_text(text_card("T", text))) == (
        False,
        "T",
    )


@settings(max_examples=30)
@given(title=WORDS, name=WORDS, line=WORDS, text=WORDS)
def test_escaped(title: str, name: str, line: str, text: str) -> None:
    """Whatever data says, the markup of a card is its own, and the text is what was said."""
    one = Card(title=title, facts=((name, line),), sections=(section(name, [line]),), text=text)
    other = Card(title="t", facts=(("n", "l"),), sections=(section("n", ["l"]),), text=text and "x")

    assert (TAG.findall(card_html(one)), title in unescape(card_html(one))) == (
        TAG.findall(card_html(other)),
        True,
    )


@settings(max_examples=30)
@given(st.lists(st.text(max_size=MAX_CHARACTERS + 20), max_size=3))
def test_lines(lines: list[str]) -> None:
    """A line of a list stays one line, whatever is in it, and is not longer than a card is wide."""
    told = section("t", lines).lines

    assert [(len(one.splitlines()) <= 1, len(one) <= MAX_CHARACTERS) for one in told] == [
        (True, True) for _ in lines
    ]
