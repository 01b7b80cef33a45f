"""Every dialect of log lines: adding one is one line here."""

from typing import Final

from collectors.communication.c10_lines import C10_START
from collectors.communication.desync import read_desync
from collectors.communication.nccl import read_nccl
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
from collectors.training.deepspeed import DEEPSPEED_HINT, read_deepspeed
from collectors.training.launchers import LAUNCHER_HINT, read_launchers
from collectors.training.megatron import MEGATRON_HINT, read_megatron
from collectors.training.megatron_records import ITERATION_START
from collectors.training.mlperf import MLLOG_START, read_mlperf
from collectors.training.rendezvous import RENDEZVOUS_HINT, read_rendezvous
from collectors.training.score_reports import SCORE_HINT, read_score_reports
from collectors.training.step_lines import STEP_LINE_HINT, read_step_lines
from collectors.training.straggler_reports import STRAGGLER_HINT, read_straggler_reports
from collectors.training.timers import TIMER_HINT, read_timers
from collectors.training.tracebacks import EXCEPTION_HINT, TRACEBACK_START, read_tracebacks
from collectors.training.trainer_dicts import DICT_START, read_trainer_dicts

LINE_DIALECTS: Final[tuple[LineDialect, ...]] = (
    LineDialect(name="kernel", hint=KERNEL_HINT, read=read_kernel_lines),
    LineDialect(name="nccl", hint=r":\d+:\d+ |^NCCL version", read=read_nccl),
    LineDialect(name="desync report", hint="Timeout at collective:", read=read_desync),
    LineDialect(name="watchdog", hint=C10_START, read=read_watchdog, start=C10_START),
    LineDialect(name="straggler report", hint=STRAGGLER_HINT, read=read_straggler_reports),
    LineDialect(name="score report", hint=SCORE_HINT, read=read_score_reports),
    LineDialect(name="deepspeed", hint=DEEPSPEED_HINT, read=read_deepspeed),
    LineDialect(name="timers", hint=TIMER_HINT, read=read_timers),
    LineDialect(name="mlperf", hint=MLLOG_START, read=read_mlperf, start=MLLOG_START),
    LineDialect(name="trainer dict", hint=DICT_START, read=read_trainer_dicts, start=DICT_START),
    LineDialect(name="step line", hint=STEP_LINE_HINT, read=read_step_lines),
    LineDialect(name="megatron", hint=MEGATRON_HINT, read=read_megatron, start=ITERATION_START),
    LineDialect(name="nvidia-smi", hint=SENTENCE, read=read_smi_sentences),
    LineDialect(name="tool failure", hint=FAILURE_HINT, read=read_tool_failures),
    LineDialect(name="traceback", hint=EXCEPTION_HINT, read=read_tracebacks, start=TRACEBACK_START),
    LineDialect(name="ufm", hint=UFM_HINT, read=read_ufm_events),
    LineDialect(name="link monitor", hint=MONITOR_HINT, read=read_link_monitor),
    LineDialect(name="opensm", hint=OPENSM_HINT, read=read_opensm_logs),
    LineDialect(name="switch log", hint=SWITCH_HINT, read=read_switch_logs),
    LineDialect(name="slurm message", hint=SLURM_MESSAGE_HINT, read=read_slurm_messages),
    LineDialect(name="slurm banner", hint=SLURM_BANNER_HINT, read=read_slurm_banners),
    LineDialect(name="rendezvous", hint=RENDEZVOUS_HINT, read=read_rendezvous),
    LineDialect(name="launcher", hint=LAUNCHER_HINT, read=read_launchers),
)
"""In order: a dialect sees what those before it have not claimed."""
