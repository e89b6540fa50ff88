"""Every promise in benchmarks/calibrations can be simulated; the table says what was measured."""

import calibration
import numpy as np
import pytest
from calibrations import _registry as registry

PROMISES = registry.load_promises()
ROWS = [(name, design) for name, made in PROMISES.items() for design in made.designs]
# One trial of these takes a second or more, or a tenth and does nearly what another promise does.
LONG = {
    *("persons_have_a_higher_auc", "copies_in_tables", "searches_cost_what_they_say"),
    *("copied_persons_are_found", "alarms_about_persons_of_tables", "doubts_about_tables"),
    *("copied_shares_are_clear", "quality_of_tables", "frozen_parts", "grown_pools_find_nothing"),
    *("defense_is_seen", "unlearning_auc_intervals", "shifts_are_leaks"),
    *("wrong_tables_are_stopped", "disparity_power", "alarms_of_tables", "sides_warn"),
    *("target_fpr_0.05_is_kept_by_stack", "target_fpr_0.05_is_kept_by_joint_evidence"),
    *("power_of_stack_without_a_leak_is_chance", "power_of_joint_evidence_of_copies_is_too_high"),
    "power_of_joint_evidence_without_a_leak_is_chance",
}
FIRST = [(name, next(iter(made.designs))) for name, made in PROMISES.items() if name not in LONG]


def mark(row):
    """The first design of most promises is quick enough for every run of the suite."""
    return pytest.param(*row, id=" ".join(row), marks=[] if row in FIRST else pytest.mark.slow)


# What estimators warn of in a simulation is part of what is simulated.
@pytest.mark.usefixtures("quick_audits", "quick_tables")
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("name", "design"), map(mark, ROWS))
def test_each_promise_can_be_simulated(name, design):
    row = calibration.run_row(name, design, n_trials=1)
    assert 0 <= row["low"] <= row["rate"] <= row["high"] <= 1
    assert row["trials"] >= 1


def made(outcome, **settings):
    return registry.Promise("text", 0.95, "at least", {"": {}}, 10, lambda rng, n: outcome)


@pytest.mark.parametrize(
    ("successes", "side", "verdict"),
    [(95, "at least", "holds"), (70, "at least", "fails"), (100, "at least", "holds")]
    + [(95, "at most", "holds"), (70, "at most", "holds"), (9950, "at most", "fails")]
    + [(95, "equal", "holds"), (70, "equal", "fails"), (9950, "equal", "fails")],
)
def test_a_row_fails_where_the_interval_excludes_the_promise_on_the_wrong_side(
    successes, side, verdict
):
    trials = 10_000 if successes > 100 else 100
    measured = registry.measure(made((successes, trials)), "")
    assert measured.verdict(0.95, side) == verdict


def test_shares_of_trials_get_the_interval_of_their_spread():
    # A hundred trials whose shares vary little say more than a hundred coins, and less than
    # if all their records were independent.
    shares = np.random.default_rng(0).normal(0.05, 0.02, size=100).clip(0, 1)
    measured = registry.measure(made(shares), "")
    coins = registry.measure(made((5, 100)), "")
    assert measured.high - measured.low < (coins.high - coins.low) / 4
    # 2.58 standard errors of .002 on either side.
    assert measured.high - measured.low == pytest.approx(2 * 2.58 * 0.002, rel=0.2)


def test_equal_shares_are_no_more_certain_than_coins():
    measured = registry.measure(made(np.full(50, 0.5)), "")
    coins = registry.measure(made((25, 50)), "")
    assert (measured.low, measured.high) == (coins.low, coins.high)


def test_the_same_row_has_the_same_numbers():
    name, design = "clopper_pearson_covers", next(iter(PROMISES["clopper_pearson_covers"].designs))
    assert calibration.run_row(name, design, 5) == calibration.run_row(name, design, 5)


def test_rows_are_kept_in_the_file_of_their_room(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(calibration, "RESULTS", tmp_path)
    for _ in range(2):
        calibration.main(["--quick", "--only", "clopper_pearson_covers", "--save"])
    capsys.readouterr()
    calibration.main(["--table"])
    table = capsys.readouterr().out
    n_designs = len(PROMISES["clopper_pearson_covers"].designs)
    assert table.count("clopper_pearson covers the rate") == n_designs
    assert table in (tmp_path / "calibration.md").read_text("utf-8")


def test_an_unknown_promise_is_named():
    with pytest.raises(SystemExit, match="called nothing"):
        calibration.main(["--only", "nothing"])
