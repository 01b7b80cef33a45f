"""Progress of long work: a bar on a terminal, nothing in a pipe."""

from collections.abc import Callable, Generator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

Say = Callable[[str, int, int], None]
"""Told the name of a part, how many are done and how many there are."""


@contextmanager
def progress_bar(title: str, console: Console) -> Generator[Say, None, None]:
    """Give a function that moves a bar; the bar goes when the work is done.

    Args:
        title: What is being done.
        console: Where; a console that is no terminal shows nothing.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task(title, total=None)

        def say(_name: str, done: int, everything: int) -> None:
            bar.update(task, completed=done, total=everything)

        yield say
