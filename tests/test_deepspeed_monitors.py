"""Files of DeepSpeed's CSV monitor."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collectors.readings import Reading
from collectors.sniffing import Head, ReadOptions
from collectors.training.deepspeed_monitors import read_deepspeed_monitor, wants_deepspeed_monitor

Read = Callable[[dict[str, str]], Reading]

LOSSES = (
    "step,train_loss\n512,2.5\n1024,2.4\n1536,nan\nstep,train_loss\n1024,2.41\n1536,2.3\n2048,\n"
)


def test_samples_become_steps(read_texts: Read) -> None:
    """The column called step counts samples, and a header in the middle is a restart."""
    reading = read_texts({"Train_Samples_train_loss.csv": LOSSES})

    assert reading.steps.select("attempt", "step", "samples").rows() == [
        (0, 1, 512.0),
        (0, 2, 512.0),
        (0, 3, 512.0),
        (1, 2, 512.0),
        (1, 3, 512.0),
    ]
    assert (reading.lines_used, reading.rejects["position"].to_list()) == (7, [8])


def test_a_metric_that_is_no_loss(read_texts: Read) -> None:
    """A learning rate shows progress and nothing else."""
    steps = read_texts({"Train_Samples_lr.csv": "step,lr\n512,1e-5\n"}).steps

    assert steps.select("step", "loss", "loss_state").rows() == [(1, None, None)]


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        pytest.param("Train_Samples_lr.csv", "step,lr\n1,2\n", True, id="as the monitor writes it"),
        pytest.param("losses.csv", "step,lr\n1,2\n", False, id="another name is another writer"),
        pytest.param("Train_Samples_lr.csv", "step,loss\n1,2\n", False, id="of another metric"),
        pytest.param("Train_Samples_lr.csv", "a,b\n1,2\n", False, id="without a step"),
        pytest.param("Train_Samples_lr.csv", "", False, id="an empty file"),
    ],
)
def test_wants(name: str, text: str, *, wanted: bool) -> None:
    """The header is the end of the name."""
    assert (wants_deepspeed_monitor(Head(name=name, data=text.encode())) > 0) is wanted


@given(
    data=st.lists(
        st.sampled_from([*LOSSES.encode().split(b"\n"), b"\xff,\x00", b"x" * 9]), max_size=9
    )
)
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_line_is_accounted_for(data: list[bytes], tmp_path: Path) -> None:
    """Lines in any order never raise, and each is a row or a reject."""
    path = tmp_path / "Train_Samples_train_loss.csv"
    path.write_bytes(b"\n".join(data))
    reading = read_deepspeed_monitor(path, path.name, ReadOptions())

    lines = sum(1 for line in data if line.replace(b"\0", b"").strip())
    assert reading.lines_used + reading.rejects.height == lines
