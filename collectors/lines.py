"""Every dialect of log lines: adding one is one line here."""

from typing import Final

from collectors.communication.c10_lines import C10_MARK, C10_START
from collectors.communication.deepspeed_comms import COMMS_HINT, read_deepspeed_comms
from collectors.communication.desync import read_desync
from collectors.communication.libfabric import LIBFABRIC_HINT, read_libfabric
from collectors.communication.nccl import read_nccl
from collectors.communication.nccl_halves import usual_records
from collectors.communication.nccl_records import NCCL_HINT
from collectors.communication.nccl_tests import NCCL_TESTS_HINT, read_nccl_tests
from collectors.communication.pair_bandwidths import PAIR_HINT, read_pair_bandwidths
from collectors.communication.ras_texts import RAS_HINT, read_ras
from collectors.communication.watchdog import read_watchdog
from collectors.gpus.smi_sentences import SENTENCE, read_smi_sentences
from collectors.hosts.kernel_finds import KERNEL_HINT
from collectors.hosts.kernel_logs import read_kernel_lines
from collectors.line_reading import LineDialect
from collectors.port_logs.link_monitor import MONITOR_HINT, read_link_monitor
from collectors.port_logs.opensm_logs import read_opensm_logs
from collectors.port_logs.opensm_texts import OPENSM_HINT
from collectors.port_logs.switch_logs import read_switch_logs
from collectors.port_logs.switch_phrases import SWITCH_HINT
from collectors.port_logs.ufm_events import UFM_HINT, read_ufm_events
from collectors.slurm.slurm_banners import SLURM_BANNER_HINT, read_slurm_banners
from collectors.slurm.slurm_messages import SLURM_MESSAGE_HINT, read_slurm_messages
from collectors.texts.tool_failures import FAILURE_HINT, read_tool_failures
from collectors.texts.torn_records import NCCL_RECORD, RecordStart
from collectors.training.checksums import CHECKSUM_HINT, read_checksums
from collectors.training.composer import COMPOSER_HINT, read_composer
from collectors.training.deepspeed import DEEPSPEED_HINT, read_deepspeed
from collectors.training.flagscale import FLAGSCALE_HINT, read_flagscale
from collectors.training.launchers import LAUNCHER_HINT, read_launchers
from collectors.training.lightning_bars import LIGHTNING_HINT, read_lightning_bars
from collectors.training.megatron import MEGATRON_HINT, read_megatron
from collectors.training.megatron_forms import usual_iterations
from collectors.training.megatron_records import (
    ITERATION_LINE,
    ITERATION_MARK,
    ITERATION_START,
)
from collectors.training.metaseq import METASEQ_HINT, read_metaseq
from collectors.training.mlperf import MLLOG_START, read_mlperf
from collectors.training.olmo import OLMO_HINT, read_olmo
from collectors.training.rendezvous import RENDEZVOUS_HINT, read_rendezvous
from collectors.training.result_checks import RESULT_HINT, read_result_checks
from collectors.training.score_reports import SCORE_HINT, read_score_reports
from collectors.training.step_line_table import (
    OTHER_STEP_HINT,
    STEP_LINE_HINT,
    STEP_LINE_MARK,
    STEP_LINE_START,
    STEP_LINE_SURE,
)
from collectors.training.step_lines import read_other_step_lines, read_step_lines
from collectors.training.straggler_reports import STRAGGLER_HINT, read_straggler_reports
from collectors.training.timers import TIMER_HINT, read_timers
from collectors.training.tracebacks import EXCEPTION_HINT, TRACEBACK_START, read_tracebacks
from collectors.training.trainer_dicts import DICT_HINT, DICT_START, read_trainer_dicts
from collectors.training.trainer_events import TRAINER_EVENT_HINT, read_trainer_events

LINE_DIALECTS: Final[tuple[LineDialect, ...]] = (
    LineDialect(name="kernel", hint=KERNEL_HINT, read=read_kernel_lines),
    LineDialect(
        name="nccl",
        hint=NCCL_HINT,
        read=read_nccl,
        sure=NCCL_RECORD,
        alone=True,
        apart=True,
        usual=usual_records,
    ),
    LineDialect(name="ras", hint=RAS_HINT, read=read_ras),
    LineDialect(name="nccl-tests", hint=NCCL_TESTS_HINT, read=read_nccl_tests),
    LineDialect(name="pair bandwidths", hint=PAIR_HINT, read=read_pair_bandwidths),
    LineDialect(name="desync report", hint="Timeout at collective:", read=read_desync),
    LineDialect(
        name="watchdog",
        hint=C10_START,
        read=read_watchdog,
        start=RecordStart(pattern=C10_START, mark=C10_MARK),
        apart=True,
    ),
    LineDialect(name="straggler report", hint=STRAGGLER_HINT, read=read_straggler_reports),
    LineDialect(name="score report", hint=SCORE_HINT, read=read_score_reports),
    LineDialect(name="libfabric", hint=LIBFABRIC_HINT, read=read_libfabric),
    LineDialect(name="deepspeed comms", hint=COMMS_HINT, read=read_deepspeed_comms),
    LineDialect(name="rendezvous", hint=RENDEZVOUS_HINT, read=read_rendezvous),
    LineDialect(name="deepspeed", hint=DEEPSPEED_HINT, read=read_deepspeed),
    LineDialect(name="timers", hint=TIMER_HINT, read=read_timers, beside=("megatron",)),
    LineDialect(
        name="mlperf",
        hint=MLLOG_START,
        read=read_mlperf,
        start=RecordStart(pattern=MLLOG_START, mark=MLLOG_START),
    ),
    LineDialect(name="flagscale", hint=FLAGSCALE_HINT, read=read_flagscale),
    LineDialect(name="metaseq", hint=METASEQ_HINT, read=read_metaseq),
    LineDialect(name="composer", hint=COMPOSER_HINT, read=read_composer),
    LineDialect(name="olmo", hint=OLMO_HINT, read=read_olmo),
    LineDialect(name="lightning bar", hint=LIGHTNING_HINT, read=read_lightning_bars),
    LineDialect(
        name="trainer dict",
        hint=DICT_HINT,
        read=read_trainer_dicts,
        start=RecordStart(pattern=DICT_START, mark=DICT_START),
    ),
    LineDialect(
        name="step line",
        hint=STEP_LINE_HINT,
        read=read_step_lines,
        start=RecordStart(pattern=STEP_LINE_START, mark=STEP_LINE_MARK),
        sure=STEP_LINE_SURE,
        apart=True,
    ),
    LineDialect(
        name="megatron",
        hint=MEGATRON_HINT,
        read=read_megatron,
        start=RecordStart(pattern=ITERATION_START, mark=ITERATION_MARK),
        sure=ITERATION_LINE,
        usual=usual_iterations,
    ),
    LineDialect(name="result checks", hint=RESULT_HINT, read=read_result_checks),
    LineDialect(name="checksums", hint=CHECKSUM_HINT, read=read_checksums),
    LineDialect(name="trainer event", hint=TRAINER_EVENT_HINT, read=read_trainer_events),
    LineDialect(
        name="other step line", hint=OTHER_STEP_HINT, read=read_other_step_lines, apart=True
    ),
    LineDialect(name="nvidia-smi", hint=SENTENCE, read=read_smi_sentences),
    LineDialect(name="tool failure", hint=FAILURE_HINT, read=read_tool_failures),
    LineDialect(
        name="traceback",
        hint=EXCEPTION_HINT,
        read=read_tracebacks,
        start=RecordStart(pattern=TRACEBACK_START, mark=TRACEBACK_START),
    ),
    LineDialect(name="ufm", hint=UFM_HINT, read=read_ufm_events),
    LineDialect(name="link monitor", hint=MONITOR_HINT, read=read_link_monitor),
    LineDialect(name="opensm", hint=OPENSM_HINT, read=read_opensm_logs),
    LineDialect(name="switch log", hint=SWITCH_HINT, read=read_switch_logs),
    LineDialect(name="slurm message", hint=SLURM_MESSAGE_HINT, read=read_slurm_messages),
    LineDialect(name="slurm banner", hint=SLURM_BANNER_HINT, read=read_slurm_banners),
    LineDialect(name="launcher", hint=LAUNCHER_HINT, read=read_launchers),
)
"""In order: a dialect sees what those before it have not claimed."""
