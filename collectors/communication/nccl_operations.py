"""Read the operations that NCCL logs, as collectives.

Source: formats of NCCL logs, section 3.3 (COLL lines; `opCount` is hex without a mark and counts
inside a communicator). A logged operation was enqueued by the host: it says nothing about start or
end on the GPU.
"""

from typing import Final

import polars as pl

from collectors.communication.communicators import CALLED, process_group
from collectors.communication.nccl_records import Records

OPERATION_MARK: Final = ": opCount "

_OPERATION: Final = (
    r"^(?P<operation>[A-Za-z0-9_]+): opCount (?P<op_count>[0-9a-f]+) sendbuff [^ ]+ recvbuff [^ ]+ "
    r"count (?P<input_count>[0-9]+) (?:datatype [0-9]+ op [0-9]+ root (?P<root>-?[0-9]+) )?"
    r"comm (?P<comm>0x[0-9a-f]+|\(nil\))"
)

_POINT_TO_POINT: Final = ("Send", "Recv")


def read_operations(records: Records) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return `COLLECTIVES` of logged operations, and the records that are none after all.

    Args:
        records: Whole NCCL records that hold `OPERATION_MARK`.

    Returns:
        Rows of state `called`; `group` is a communicator of a process. Operations between two
        ranks have no number of their own: several share one, and their name tells the peer.
    """
    parts = _parts(records.texts)[records.rows["said"]]
    named = records.rows.hstack(parts)
    is_known = parts["op_count"].is_not_null()
    found = named if is_known.all() else named.filter(is_known)
    rows = found.select(
        "line", "position", "time", "host", "rank", "operation", "sequence", "input_count",
        group=process_group(), state=pl.lit(CALLED),
    )  # fmt: skip
    return rows, Records(rows=records.rows.filter(~is_known), texts=records.texts).with_text()


def _parts(texts: pl.Series) -> pl.DataFrame:
    """Return what messages say of operations; null where they are none."""
    groups = texts.str.extract_groups(_OPERATION).struct.unnest()
    pairs = pl.col("operation").is_in(_POINT_TO_POINT)
    side = pl.col("operation").replace({"Send": "send ->", "Recv": "recv <-"})
    return groups.select(
        "comm",
        "op_count",
        operation=pl.when(pairs).then(side + pl.col("root")).otherwise("operation"),
        sequence=pl.when(~pairs).then(pl.col("op_count").str.to_integer(base=16, strict=False)),
        input_count=pl.col("input_count").cast(pl.Int64, strict=False),
    )
