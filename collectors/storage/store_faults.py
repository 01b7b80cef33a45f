"""A store that is there and cannot be read: said in one line, whichever library found out.

Parquet files that are torn make Polars panic, files that are gone are missing to it, and tables of
a newer Delta protocol are refused by deltalake.
"""

from collections.abc import Generator
from contextlib import contextmanager

from deltalake.exceptions import DeltaError
from polars.exceptions import ComputeError, PanicException

from collectors.storage.store_commits import NoStoreError


class UnreadableStoreError(ValueError):
    """A store is there, and cannot be read by this program, or not as it is."""


@contextmanager
def reading_store(root: str) -> Generator[None, None, None]:
    """Say of what reads a store in the block that it cannot be read, where it cannot.

    Args:
        root: The store, for the message.

    Raises:
        UnreadableStoreError: Files of it are torn or gone, or it is of a newer protocol.
    """
    try:
        yield
    except NoStoreError:
        raise
    except DeltaError as error:
        raise UnreadableStoreError(
            f"the tables of {root} cannot be opened: {_line(error)}; use the Paceline that wrote "
            "them or a newer one, or restore a backup"
        ) from error
    except (FileNotFoundError, ComputeError, PanicException) as error:
        raise UnreadableStoreError(
            f"files of {root} are torn or gone: {_line(error)}; restore a backup, or collect "
            "their days into a new store"
        ) from error


def _line(error: BaseException) -> str:
    if isinstance(error, PanicException):
        return "one of them cannot be decoded"
    return " ".join(str(error).split())[:160]
