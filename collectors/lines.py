"""Every dialect of log lines: adding one is one line here."""

from typing import Final

from collectors.c10_lines import C10_START
from collectors.desync import read_desync
from collectors.launchers import LAUNCHER_HINT, read_launchers
from collectors.line_reading import LineDialect
from collectors.megatron import ITERATION_START, MEGATRON_HINT, read_megatron
from collectors.nccl import read_nccl
from collectors.tracebacks import EXCEPTION_HINT, TRACEBACK_START, read_tracebacks
from collectors.watchdog import read_watchdog

LINE_DIALECTS: Final[tuple[LineDialect, ...]] = (
    LineDialect(name="nccl", hint=r":\d+:\d+ |^NCCL version", read=read_nccl),
    LineDialect(name="desync report", hint="Timeout at collective:", read=read_desync),
    LineDialect(name="watchdog", hint=C10_START, read=read_watchdog, start=C10_START),
    LineDialect(name="megatron", hint=MEGATRON_HINT, read=read_megatron, start=ITERATION_START),
    LineDialect(name="traceback", hint=EXCEPTION_HINT, read=read_tracebacks, start=TRACEBACK_START),
    LineDialect(name="launcher", hint=LAUNCHER_HINT, read=read_launchers),
)
"""In order: a dialect sees what those before it have not claimed."""
