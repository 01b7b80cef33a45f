"""Places of lines when many files are read at once: a position tells the file as well.

Lines that stand next to each other may then be of two files, and whoever looks at neighbours has to
keep those apart. A reader of one file need not know of this: all its lines are of file 0.
"""

from typing import Final

import polars as pl

FILE_LINES: Final = 2**40
"""Positions of a file: more than any has lines. Those of the n-th file count from n times this."""


def file_number(position: str = "position") -> pl.Expr:
    """Return the number of the file that a line is of, from 0; null without a position."""
    return (pl.col(position) // FILE_LINES).alias("file")


def file_numbers(positions: pl.Series) -> pl.Series:
    """Return the numbers of the files that lines at some positions are of."""
    return (positions // FILE_LINES).alias("file")


def are_of_one_file(positions: pl.Series) -> bool:
    """Return whether sorted positions are all of one file."""
    return not len(positions) or positions[0] // FILE_LINES == positions[-1] // FILE_LINES
