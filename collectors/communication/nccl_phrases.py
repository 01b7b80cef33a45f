"""What NCCL says, release by release, as events: one table in the order of trust.

Source: formats of NCCL logs, sections 3 and 4 (NVIDIA/nccl: init.cc, transport/net_ib.cc,
misc/socket.cc, bootstrap.cc at 2.10 to 2.30). Kinds: `net_error` (code is the verbs status),
`link_down`, `link_up`, `nic_fault`, `nic_note`, `net_recovery`, `comm_error`, `comm_retry`,
`stray_visitor`, `oom`, `cuda_error`, `mismatch`, `config_error`, `comm_start`, `comm_ready`,
`comm_end`, `comm_nodes`, `peer_left`, `init_timing`, `oob_address`, `net_choice`, `net_devices`,
`channel`, `channel_counts`, `rings_connected`, `tuning`, `setting`, `trail`, `hint`, `version`,
`warning`, `note`; by other modules `oob_bridge`, `ring`, `tree`, `torn`.
"""

from typing import Final

from collectors.texts.phrases import Phrase

_PORT: Final = r"(?:<\d+>)?"

_PEER: Final = r"(?P<peer>[^\s<,]+)"

_NIC: Final = r"NET/IB\w* ?: (?:(?P<device>[A-Za-z0-9_.-]+):\d+ )?"

_ASYNC: Final = r"(?:Got (?:async error|async|non-fatal async) event ?: |async fatal event[^:]*: )"

_COMM: Final = (
    r"comm (?P<code>0x[0-9a-fA-F]+|\(nil\)) rank -?\d+ n[rR]anks \d+ cudaDev -?\d+"
    r"(?: nvmlDev -?\d+)?"
)

COMPLETION: Final = (
    r"NET/[A-Za-z0-9_/]+? ?: Got completion (?:from peer (?P<peer>\S+)<\d+> )?with "
    r"(?:error |status=)(?:[A-Z_]+\()?(?P<code>\d+)\)?(?:.*\bhca (?P<device>\S+))?"
)

FLUSHED: Final = (
    r"NET/[A-Za-z0-9_/]+? ?: Got completion (?:from peer (?P<peer>\S+)<\d+> )?with "
    r"(?:error |status=)(?:[A-Z_]+\()?(?P<code>5)\b(?:.*\bhca (?P<device>\S+))?"
)
"""Status 5 follows an earlier error on the same queue pair: never first evidence."""

NETWORK: Final = (
    Phrase(
        kind="channel",
        pattern=r"^Channel \d+(?:/\d+)? : \d+\[\w+\] -> (?P<peer>\d+)\[\w+\](?: \[\w+\])? "
        r"via (?P<code>.+?)$",
    ),
    Phrase(kind="net_error", pattern=FLUSHED, severity="warning", device_kind="nic"),
    Phrase(kind="net_error", pattern=COMPLETION, severity="error", device_kind="nic"),
    Phrase(
        kind="net_error",
        pattern=r"Got completion with error \(devIndex=\d+, wc->status=\([A-Z_]+\)(?P<code>\d+)",
        severity="error",
    ),
    Phrase(
        kind="net_error",
        pattern=r"NET/OFI Request completed with error. RC: (?P<code>\d+)",
        severity="error",
    ),
    Phrase(
        kind="link_down",
        pattern=rf"{_NIC}{_ASYNC}(?P<code>port error)",
        severity="error",
        device_kind="nic",
    ),
    Phrase(kind="link_up", pattern=rf"{_NIC}{_ASYNC}(?P<code>port active)", device_kind="nic"),
    Phrase(
        kind="nic_fault",
        pattern=rf"{_NIC}{_ASYNC}(?P<code>[^(]*(?:catastrophic|violation|invalid|fatal)[^(]*)",
        severity="critical",
        device_kind="nic",
    ),
    Phrase(
        kind="nic_fault",
        pattern=rf"{_NIC}async fatal event[^:]*: (?P<code>[^(]+)",
        severity="critical",
        device_kind="nic",
    ),
    Phrase(
        kind="nic_note",
        pattern=rf"{_NIC}(?:GID table changed|unknown event type \(18\))",
        code="GID table changed",
        device_kind="nic",
    ),
    Phrase(
        kind="nic_note",
        pattern=rf"{_NIC}(?:{_ASYNC})?(?P<code>unknown event type|speed change)",
        device_kind="nic",
    ),
    Phrase(kind="nic_note", pattern=rf"{_NIC}{_ASYNC}(?P<code>[^(]+)", device_kind="nic"),
    Phrase(kind="net_recovery", pattern=r"[Pp]ort recovery succeeded", code="succeeded"),
    Phrase(
        kind="net_recovery",
        pattern=r"[Pp]ort recovery failed|Recovery for device \d+ failed",
        severity="error",
        code="failed",
    ),
    Phrase(
        kind="net_recovery",
        pattern=r"Marking device \d+ as permanently failed",
        severity="critical",
        code="gave_up",
    ),
    Phrase(
        kind="net_recovery", pattern=r"Starting port recovery", severity="warning", code="started"
    ),
    Phrase(kind="hint", pattern=r"^HINT:"),
)
"""Completions, asynchronous events and recovery of the network; hints are never evidence."""

SOCKETS: Final = (
    Phrase(
        kind="mismatch",
        pattern=rf"peer {_PEER}{_PORT} (?:collective mismatch error|message truncated)",
        severity="error",
        code="size",
    ),
    Phrase(
        kind="stray_visitor",
        pattern=r"wrong magic (?P<code>[0-9a-fA-F]{1,16}) != ",
        severity="warning",
    ),
    Phrase(
        kind="stray_visitor",
        pattern=rf"didn't receive a valid magic from {_PEER}",
        severity="warning",
    ),
    Phrase(
        kind="comm_error",
        pattern=rf"socketFinalizeAccept(?: from {_PEER}{_PORT})?: wrong type",
        severity="error",
        code="wrong_type",
    ),
    Phrase(
        kind="comm_error",
        pattern=rf"[Cc]onnection closed by remote peer(?: {_PEER})?",
        severity="warning",
        code="peer_closed",
    ),
    Phrase(
        kind="comm_retry",
        pattern=rf"(?:connect(?: to {_PEER}{_PORT})? returned|Call to connect returned) .*retrying",
        code="connect",
    ),
    Phrase(
        kind="comm_error",
        pattern=rf"(?i)connect(?: to {_PEER}{_PORT})? (?:failed :|returned) ?.*",
        severity="error",
        code="connect",
    ),
    Phrase(
        kind="comm_error",
        pattern=r"exceeded (?:error )?(?:retries|retry count|timeouts)",
        severity="error",
        code="connect",
    ),
    Phrase(
        kind="comm_error",
        pattern=rf"Call to (?P<code>recv|send) (?:from|to) {_PEER}{_PORT} failed",
        severity="warning",
    ),
    Phrase(
        kind="comm_error",
        pattern=r"Socket recv failed|Failed to execute operation",
        severity="warning",
        code="proxy",
    ),
    Phrase(
        kind="comm_error",
        pattern=r"communicator encountered a fatal error",
        severity="error",
        code="fatal",
    ),
)
"""Bootstrap and sockets: a peer that closed went away first and is where to look."""

FAULTS: Final = (
    Phrase(
        kind="oom", pattern=r"Cuda failure (?:\d+ )?'(?P<code>out of memory)'", severity="critical"
    ),
    Phrase(
        kind="cuda_error", pattern=r"Cuda failure (?:\d+ )?'(?P<code>[^']+)'", severity="critical"
    ),
    Phrase(kind="mismatch", pattern=r"Message truncated : received", severity="error", code="size"),
    Phrase(
        kind="mismatch",
        pattern=r"mismatch in rank count|has already checked in",
        severity="error",
        code="ranks",
    ),
    Phrase(
        kind="config_error",
        pattern=r"(?P<code>Duplicate GPU detected)(?: : rank \d+ and rank (?P<peer>\d+))?",
        severity="error",
    ),
    Phrase(
        kind="config_error",
        pattern=r"(?P<code>Mismatched NCCL version)(?: detected : rank (?P<peer>\d+))?",
        severity="error",
    ),
    Phrase(kind="config_error", pattern=r"(?P<code>Failed to open libibverbs)", severity="warning"),
    Phrase(
        kind="config_error",
        pattern=r"Error while creating shared memory segment",
        severity="error",
        code="shared memory",
    ),
    Phrase(
        kind="config_error",
        pattern=r"mismatched physical devices",
        severity="warning",
        code="rails",
    ),
)
"""Faults that are not the network's."""

LIFE: Final = (
    Phrase(kind="comm_start", pattern=rf"{_COMM}.*- ?Init START"),
    Phrase(kind="comm_ready", pattern=rf"{_COMM}.*- ?Init COMPLETE"),
    Phrase(kind="comm_end", pattern=rf"{_COMM}.*- ?(?:Destroy|Abort|Revoke) (?:START|COMPLETE)"),
    Phrase(
        kind="comm_nodes", pattern=r"^comm (?P<code>\S+) rank \d+ nRanks \d+ nNodes \d+ localRanks"
    ),
    Phrase(
        kind="peer_left", pattern=r"Connection closed by localRank (?P<peer>\d+)", code="local_rank"
    ),
    Phrase(kind="init_timing", pattern=r"^Init timings.* total (?P<code>[\d.]+) \("),
    Phrase(kind="init_timing", pattern=r"^Bootstrap timings total (?P<code>[\d.]+) \("),
    Phrase(kind="net_choice", pattern=r"Using network (?P<code>.+?)$"),
    Phrase(kind="net_choice", pattern=r"Using internal [Nn]etwork (?P<code>[A-Z]\w+)$"),
    Phrase(kind="net_choice", pattern=r"Assigned NET plugin (?P<code>.+?) to comm"),
    Phrase(kind="oob_address", pattern=r"^Bootstrap ?: Using|^NET : Using interface"),
    Phrase(kind="net_devices", pattern=r"NET/(?P<code>[^:]*?) ?: Using \[[\dd]+\]"),
    Phrase(kind="channel_counts", pattern=r"^(?P<code>\d+) coll channels"),
    Phrase(kind="rings_connected", pattern=r"^Connected (?P<code>all \w+|NVLS tree|\w+)"),
    Phrase(kind="setting", pattern=r"^(?P<code>NCCL_\w+) set by environment to "),
    Phrase(
        kind="tuning",
        pattern=r"^(?P<code>(?:\w+: )?\d+ Bytes -> Algo \w+ proto \w+)",
    ),
    Phrase(kind="version", pattern=r"NCCL version (?P<code>\d+\.\d+\.\d+[^\s+]*)"),
    Phrase(kind="trail", pattern=r"^[A-Za-z0-9_./-]+:\d+(?: \([^()]+\))? -> (?P<code>\d+)"),
)
"""The life of communicators and how they reach each other; a trail's first code counts."""
