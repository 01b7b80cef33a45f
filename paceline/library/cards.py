"""Cards: how an answer looks in a notebook's cell, and the same as text on a terminal.

Colours are the notebook's own, so that one card serves light and dark themes. Everything from data
is escaped: a log line is text, never markup.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from alerts.wording import flat_text

MAX_CHARACTERS: Final = 300
"""A line of a card; longer ones stand whole in the object that the card shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Lines under a title.

    Attributes:
        title: Above them.
        lines: One a line; without any, the section is left out.
    """

    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """What is shown of an answer.

    Attributes:
        title: The headline.
        notes: Sentences below it, such as that data is SIMULATED.
        facts: Names with what is told of them.
        sections: Lists of lines.
        text: Lines whose columns stand under each other.
    """

    title: str
    notes: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    sections: tuple[Section, ...] = ()
    text: str = ""


class Shown(ABC):
    """What shows itself as a card: as HTML in a notebook, as text on a terminal."""

    __slots__ = ()

    @abstractmethod
    def card(self) -> Card:
        """Return what is shown."""

    def _repr_html_(self) -> str:
        """Return the card for a notebook."""
        return card_html(self.card())

    def __repr__(self) -> str:
        """Return the card for a terminal."""
        return card_text(self.card())


def section(title: str, lines: Sequence[str]) -> Section:
    """Return lines under a title, each on one line and cut where it is long."""
    return Section(title=title, lines=tuple(_short(line) for line in lines))


def text_card(title: str, text: str) -> Card:
    """Return text of the command line as a card: its columns keep standing under each other."""
    return Card(title=title, text=text.strip("\n"))


def _short(text: str) -> str:
    flat = flat_text(text)
    return flat if len(flat) <= MAX_CHARACTERS else f"{flat[: MAX_CHARACTERS - 3]}..."


def card_html(card: Card) -> str:
    """Return a card as HTML; names and messages from data are escaped."""
    from paceline.reports.page_templates import page_templates  # noqa: PLC0415 -- loads for long

    return page_templates().get_template("card.html.j2").render(card=card)


def card_text(card: Card) -> str:
    """Return a card as text, without a line break at its end."""
    return "\n".join(_lines(card))


def _lines(card: Card) -> Iterator[str]:
    yield card.title
    yield from (f"  {note}" for note in card.notes)
    width = max((len(name) for name, _ in card.facts), default=0)
    yield from (f"  {name:<{width}}  {told}" for name, told in card.facts)
    for part in card.sections:
        if part.lines:
            yield f"  {part.title}"
            yield from (f"    {line}" for line in part.lines)
    yield from card.text.splitlines()
