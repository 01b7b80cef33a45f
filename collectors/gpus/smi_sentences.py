"""The sentences that nvidia-smi prints instead of a table: a lost GPU, no GPU, no driver.

Source: nvidia-smi and NVML error strings, as quoted in public reports of lost GPUs.
"""

from typing import Final

import polars as pl

from collectors.frames import EVENTS, conform
from collectors.identity import pci_address
from collectors.line_reading import LineReading
from collectors.readings import reading_of
from collectors.sniffing import ReadOptions

_SENTENCES: Final = (
    (r"unable to determine the device handle for gpu", None),
    (r"\bgpu is lost\.", None),
    (r"^no devices were found", "no_devices"),
    (r"failed to initialize nvml", "nvml_failed"),
    (r"nvidia-smi has failed because", "driver_failed"),
)
"""Pattern, and the code of the event if it speaks of the node; null: it speaks of a GPU."""

SENTENCE: Final = "(?i)" + "|".join(pattern for pattern, _ in _SENTENCES)

_PCI: Final = r"(?i)((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])"
_INDEX: Final = r"(?i)device handle for gpu *(\d{1,3})(?:[:\s]|$)"
_WHY: Final = (
    (r"(?i)is lost", "gpu_lost"),
    (r"(?i)requires reset", "gpu_requires_reset"),
)


def read_smi_sentences(lines: pl.DataFrame, _options: ReadOptions) -> LineReading:
    """Return the sentences of nvidia-smi that stand in a log of something else.

    Args:
        lines: `LINES`.
    """
    found = lines.filter(pl.col("text").str.contains(SENTENCE))
    about = found.select("position", "time", "host", "rank").unique("position", keep="first")
    events = sentence_events(found).drop("time", "host", "rank")
    placed = events.join(about, on="position", how="left", maintain_order="left")
    return LineReading(reading=reading_of(events=placed), claimed=found["line"])


def sentence_events(lines: pl.DataFrame) -> pl.DataFrame:
    """Return one event for each such sentence.

    Args:
        lines: `position` and `text`.

    Returns:
        `EVENTS` without time and host: kind `gpu_lost` of a GPU that is called lost, else
        `gpu_error`; the GPU is its PCI address, else its index. A sentence without a GPU speaks
        of the node.
    """
    text = pl.col("text")
    found = lines.filter(text.str.contains(SENTENCE))
    device = pl.coalesce(pci_address(text.str.extract(_PCI, 1)), text.str.extract(_INDEX, 1))
    node = pl.coalesce(
        *(
            pl.when(text.str.contains(f"(?i){pattern}")).then(pl.lit(code))
            for pattern, code in _SENTENCES
            if code is not None
        )
    )
    why = pl.coalesce(
        node,
        *(pl.when(text.str.contains(pattern)).then(pl.lit(code)) for pattern, code in _WHY),
        pl.lit("error"),
    )
    is_lost = why == "gpu_lost"
    rows = found.select(
        "position",
        device=pl.when(node.is_null()).then(device),
        device_kind=pl.when(node.is_null()).then(pl.lit("gpu")).otherwise(pl.lit("node")),
        kind=pl.when(is_lost).then(pl.lit("gpu_lost")).otherwise(pl.lit("gpu_error")),
        code=why,
        severity=pl.lit("high"),
        count=pl.lit(1),
        message=text.str.strip_chars(),
    )
    return conform(rows.lazy(), EVENTS).collect()
