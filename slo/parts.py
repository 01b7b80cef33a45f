"""What the time of a run is split into, and what each part means: the words of the accounting.

Source: progress reference, sections 15.1 to 15.3. Parts of Google's ml-goodput-measurement
(commit 57092cf6) are named beside ours where they are the same thing.
"""

from typing import Final

PARTS: Final = {
    "productive": "steps that count, at the run's own healthy pace",
    "straggler": "what those steps took beyond that pace",
    "data": "waits of those steps for data",
    "save": "checkpoints that held training up",
    "evaluation": "evaluations",
    "replay": "steps that were done again later",
    "stall": "no step before a failed end: a hang, or nobody noticed",
    "down": "ended and not asked for again, or not told what",
    "queue": "asked for and not started",
    "init": "from a start to the first step, and slow first steps",
    "restore": "loading of checkpoints",
    "unknown": "nothing tells",
}
"""Every part, in the order in which it is shown. They sum to the wall time; unknown is never
productive. Google's: WASTED_PROGRESS_FROM_DISRUPTION is replay, INFRASTRUCTURE_RECOVERY is stall,
down and queue, PROGRAM_STARTUP and the initialisations are init, DATA_LOADING_SYNC is data, OTHER
is unknown. Theirs has no straggler: it counts a slow step as productive."""

PROGRESS_PARTS: Final = ("productive", "straggler", "data", "evaluation")
"""What a run does while nothing has failed and nothing is saved: R of the closed form."""

FAILURE_PARTS: Final = ("replay", "stall", "down", "queue", "init", "restore")
"""What a failure costs."""
