"""What a program says of results that it checked itself, from its lines to a suspect."""

from collections.abc import Callable

import polars as pl
import pytest

from collectors.frames import EVENTS, PLACEMENTS, SAMPLES, SchemaError, conform
from collectors.readings import Reading
from detectors.placing import ROLES, rank_roles
from detectors.quiet.result_checks import find_result_checks
from detectors.verdicts import Verdict, verdicts_of

Read = Callable[[dict[str, str]], Reading]
Told = tuple[str, str | None, int | None, int | None, str | None, int | None]

WORLD = conform(
    pl.LazyFrame({"rank": range(8), "host": [f"n{rank // 4}" for rank in range(8)]}), PLACEMENTS
)


def roles() -> pl.LazyFrame:
    """Eight ranks on two hosts."""
    return rank_roles(WORLD, SAMPLES.to_frame().lazy())


def verdicts(reading: Reading, *, placed: bool = True) -> list[Verdict]:
    """What the checks of a reading come to."""
    told = roles() if placed else ROLES.to_frame().lazy()
    return verdicts_of(find_result_checks(reading.events.lazy(), told))


def short(found: list[Verdict]) -> list[Told]:
    """Level, host, rank, GPU, cause and step of each."""
    return [
        (
            one.level,
            one.subject.host,
            one.subject.rank,
            one.subject.gpu,
            one.cause,
            one.onset_step,
        )
        for one in found
    ]


def mismatch(rank: int, name: str) -> str:
    """A line of Megatron on one parameter of one rank."""
    return f"INFO:megatron.core.utils:[Rank {rank}] Hash not matching for {name} in model chunk 0\n"


MATCH = (
    "[2026-02-03 04:05:06] >>> Weight hashes match after 400 iterations...\n"
    "  successfully saved checkpoint from iteration     300 to /c\n"
    "  successfully saved checkpoint from iteration     450 to /c\n"
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(MATCH, [], id="hashes that match are no finding"),
        pytest.param(
            MATCH + mismatch(5, "a.weight") + mismatch(5, "b.weight"),
            [("rank", "n1", 5, None, "replica_differs", None)],
            id="one replica differs from the first",
        ),
        pytest.param(
            MATCH + "".join(mismatch(rank, "a.weight") for rank in range(1, 8)),
            [("job", None, None, None, "replicas_differ", None)],
            id="where all others differ from the first it may be the first",
        ),
    ],
)
def test_hashes(read_texts: Read, text: str, expected: list[Told]) -> None:
    """The odd replica is a suspect; with which one all compare is told where most complain."""
    assert short(verdicts(read_texts({"run.log": text}))) == expected


def test_words_of_hashes(read_texts: Read) -> None:
    """The way back is the last save before hashes that still matched."""
    found = verdicts(read_texts({"run.log": MATCH + mismatch(5, "a") + mismatch(5, "b")}))
    unknown = verdicts(read_texts({"run.log": mismatch(5, "a")}), placed=False)
    several = verdicts(read_texts({"run.log": mismatch(5, "a") + mismatch(6, "a")}), placed=False)

    assert found[0].action is not None
    assert "restore the checkpoint of step 300" in found[0].action
    assert found[0].evidence[0].what.startswith("2 of its parameters have another hash")
    assert short(unknown) == [("rank", None, 5, None, "replica_differs", None)]
    assert unknown[0].action is not None
    assert unknown[0].action.endswith("restore a checkpoint from before hashes last agreed")
    assert several[0].alternatives == ("rank 0",)


UNEXPECTED = (
    "[rank3]: Unexpected result nan at /m/pretrain_gpt.py line 190, invokation #1 at iteration #77 "
    "(message='found NaN in local forward loss calculation')\n"
)
TRANSIENT = (
    "[rank3]: First rerun: unexpected result is not reproducible within the tolerance "
    "(2.1 != nan)\n"
    "[rank3]: Rank 3, node N7.cl, device 2: Possible transient error!!\n"
)
REPEATED = (
    "[rank3]: First rerun: unexpected result is reproducible within the tolerance (nan = nan). "
    "Need to rerun on a different GPU to verify correctness\n"
)
SAME_GPU = (
    "[rank3]: Got rescheduled on the same GPU. Need to resume again from the same checkpoint "
    "(node: n7, gpu: 2)\n"
)
PERSISTENT = (
    "[rank3]: Second rerun: unexpected result is not reproducible on a different GPU, therefore "
    "was likely incorrect (2.1 != nan)\n"
    "[rank3]: Rank 3, node n9, device 5: Possible persistent error!!\n"
)
CORRECT = (
    "[rank3]: Rank 3, node n9, device 5: Correct result (but possible Application error) (x)!\n"
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("Result validation enabled\n", [], id="checks without a result are none"),
        pytest.param(UNEXPECTED + REPEATED, [], id="nobody knows before the second rerun"),
        pytest.param(
            UNEXPECTED + TRANSIENT,
            [("gpu", "n7.cl", 3, 2, "transient_error", 77)],
            id="another result on the same GPU accuses it",
        ),
        pytest.param(
            UNEXPECTED + REPEATED + PERSISTENT,
            [("rank", None, 3, None, "persistent_error", 77)],
            id="the line on a persistent error is printed by the good GPU",
        ),
        pytest.param(
            UNEXPECTED + REPEATED + SAME_GPU + PERSISTENT,
            [("rank", "n7", 3, None, "persistent_error", 77)],
            id="the host of the first attempt is named where a line tells it",
        ),
        pytest.param(
            UNEXPECTED + REPEATED + CORRECT,
            [("job", None, None, None, "application_error", 77)],
            id="the same result on another GPU accuses nobody",
        ),
        pytest.param(
            TRANSIENT,
            [("gpu", "n7.cl", 3, 2, "transient_error", None)],
            id="the step may not be told",
        ),
    ],
)
def test_reruns(read_texts: Read, text: str, expected: list[Told]) -> None:
    """A result that was computed again accuses the GPU that alone computed it."""
    assert short(verdicts(read_texts({"run.log": text}))) == expected


def rejected(rank: int, step: int) -> str:
    """The end of a rank that found no number and has reruns switched off."""
    return (
        f"[rank{rank}]: Traceback (most recent call last):\n"
        f'[rank{rank}]:   File "/m/train.py", line 3, in <module>\n'
        f"[rank{rank}]:     raise RuntimeError(full_message)\n"
        f"[rank{rank}]: RuntimeError: Rank {rank}, node N7, device 2, iteration {step}: Unexpected "
        "result nan (message='found NaN in local grad norm for bucket #0 in backward pass')\n"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            rejected(3, 40),
            [("rank", "n7", 3, 2, "replica_not_a_number", 40)],
            id="one rank alone had no number",
        ),
        pytest.param(rejected(3, 40) + rejected(4, 40), [], id="two at once accuse nobody"),
        pytest.param(
            rejected(4, 41) + rejected(3, 40),
            [("rank", "n7", 3, 2, "replica_not_a_number", 40)],
            id="the first one did, the other followed",
        ),
    ],
)
def test_rejections(read_texts: Read, text: str, expected: list[Told]) -> None:
    """The only rank without a number is a suspect, with its batch."""
    assert short(verdicts(read_texts({"run.log": text}))) == expected


def test_lines_are_accounted(read_texts: Read) -> None:
    """Each line becomes an event, as do lines of another program no reject."""
    text = MATCH + mismatch(5, "a") + UNEXPECTED + TRANSIENT + REPEATED + SAME_GPU + PERSISTENT
    reading = read_texts({"run.log": text})

    assert reading.rejects.height == 0
    assert reading.lines_used == len(text.splitlines())
    assert set(reading.events["kind"]) == {
        *("checkpoint", "replica_match", "replica_mismatch", "result_check")
    }


def test_refused_frames() -> None:
    """What is no `EVENTS` is refused at the door."""
    with pytest.raises(SchemaError):
        find_result_checks(pl.LazyFrame({"kind": ["x"]}), ROLES.to_frame().lazy())
    assert find_result_checks(EVENTS.to_frame().lazy(), ROLES.to_frame().lazy()).is_empty()
