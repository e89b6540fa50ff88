"""Each exit code 4 comes with a step that ends it."""

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

from skmia.attacks import LiRA
from skmia.cli import main
from skmia.disclosure import load_policy


def draw_table(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).round(6)
    y = (X[:, 0] + rng.normal(size=n) > 0).astype(int)
    return pd.DataFrame(X, columns=list("abcd")).assign(y=y, member=rng.permutation(n) % 2)


def run(frame, folder, capsys, *options):
    """The exit code, and all that was printed."""
    path = folder / "table.csv"
    frame.to_csv(path, index=False)
    data = ["--data", str(path), "--target", "y", "--members", "member"]
    given = [
        *data,
        *([] if {"--estimator", "--model"} & {*options} else ["--estimator", "random-forest"]),
        *options,
    ]
    given += [] if "--quick" in options or "--shadows" in options else ["--shadows", "4"]
    code = main(["audit", *given, "--jobs", "1", "--seed", "0"])
    told = capsys.readouterr()
    return code, " ".join((told.out + told.err).split())


@pytest.mark.usefixtures("one_attack")
def test_a_number_that_so_few_records_do_not_resolve(tmp_path, capsys):
    limit = "--quick", "--fpr", "0.1", "--fail-above", "tpr@0.1=0.999"
    limit += "--estimator", "logistic"
    code, told = run(draw_table(160), tmp_path, capsys, *limit)
    assert code == 4
    assert "it takes 100 non-members or more, and 0.1 among the rates (--fpr)" in told
    code, told = run(draw_table(200), tmp_path, capsys, *limit)
    assert code != 4, told


@pytest.mark.usefixtures("one_attack")
def test_a_policy_whose_number_was_not_measured(tmp_path, capsys):
    frame = draw_table(160)
    code, told = run(frame, tmp_path, capsys, "--quick", "--policy", "research")
    # A forest is above its limit, whatever is missing.
    assert code == 1
    assert ("do not release" in told and "were not measured" in told) or "was not measured" in told
    assert "Audit with 1,000 non-members or more, and with 0.01 among the rates (--fpr)" in told


def test_a_route_without_a_verdict_has_a_step_beside_one_that_leaks(tmp_path, capsys, one_attack):
    one_attack.update(attacks={"LiRA": LiRA()}, file=True)
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(400, 5))
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame = frame.assign(y=(X[:, 0] + rng.integers(0, 2, 400) > 1).astype(int))
    frame = frame.assign(member=rng.permutation(400) % 2)
    code, told = run(frame, tmp_path, capsys, "--estimator", "logistic", "--shadows", "4")
    steps = told.partition("Next")[2]
    assert code == 4, told
    assert "copies" in steps or "Use more records" in steps or "population" in steps, steps


@pytest.mark.parametrize(
    "n_outliers, is_judged", [(6, False), pytest.param(20, True, marks=pytest.mark.slow)]
)
def test_more_records_of_a_small_group_end_that_it_cannot_be_judged(
    tmp_path, capsys, one_attack, n_outliers, is_judged
):
    """Some records have a column of their own, and a coin for a label."""
    one_attack["attacks"] = {"LiRA": LiRA()}
    n, rng = 160, np.random.default_rng(1)
    own = np.zeros((n, n_outliers))
    own[np.arange(n_outliers), np.arange(n_outliers)] = 10
    y = (rng.normal(size=n) + (x := rng.normal(size=n)) > 0).astype(int)
    y[:n_outliers] = rng.integers(0, 2, n_outliers)
    kind = np.where(np.arange(n) < n_outliers, "outlier", "rest")
    frame = pd.DataFrame(own).add_prefix("own ").assign(x=x, y=y, kind=kind)
    frame = frame.assign(member=np.arange(n) % 2)
    options = "--estimator", "logistic", "--group", "kind"
    code, told = run(frame, tmp_path, capsys, *options, "--fpr", "0.1")
    assert (code != 4) == is_judged
    more = "Audit with more records of the small groups. At least ten members"
    assert is_judged or more in told


@pytest.mark.slow
def test_one_record_of_each_person_ends_that_only_people_are_found(tmp_path, capsys):
    rng = np.random.default_rng(2)
    person = np.repeat(np.arange(30), 10)
    own = rng.normal(size=(30, 4))
    X = 0.3 * own[person] + rng.normal(size=(300, 4))
    y = (own[person, 0] + 1.5 * rng.normal(size=300) > 0).astype(int)
    inside = (rng.permutation(30) % 2)[person]
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y, person=person, member=inside)

    def run_on(frame, leaf):
        members = frame[frame["member"] == 1]
        model = DecisionTreeClassifier(min_samples_leaf=leaf, random_state=0)
        joblib.dump(model.fit(members[list("abcd")], members["y"]), tmp_path / "model.joblib")
        options = "--model", str(tmp_path / "model.joblib"), "--trust-pickle", "--quick"
        return run(frame, tmp_path, capsys, *options, "--group-by", "person", "--fpr", "0.2")

    code, told = run_on(frame, 40)
    assert code == 4 and "Treat these people as exposed." in told
    assert "train on one record of each person, and audit that model" in told
    assert run_on(frame[::10], 4)[0] != 4


def write_policy(folder):
    """The cautious policy without a number that takes 1,000 non-members."""
    text = load_policy("cautious").text
    text = text.replace('required = ["tpr_at_fpr_01", "auc"]', 'required = ["auc"]')
    (folder / "own.toml").write_text(text)
    return "--policy", str(folder / "own.toml"), "--quick", "--fpr", "0.1"


def audit_undecided(tmp_path, capsys):
    """The options of an audit without a decision, and how many records it asks for."""
    options = *write_policy(tmp_path), "--estimator", "logistic"
    code, told = run(draw_table(200), tmp_path, capsys, *options)
    assert code == 4 and "Undecided: how often a member ranks higher (AUC)" in told
    n = told.partition("Audit with ")[2].partition(" records or more")[0]
    return options, int(n.replace(",", ""))


@pytest.mark.slow  # how many they are, test_steps_that_end_doubt.py shows each time
def test_an_undecided_number_names_the_records_that_it_takes(tmp_path, capsys, one_attack):
    one_attack["attacks"] = {"LiRA": LiRA()}
    assert 200 < audit_undecided(tmp_path, capsys)[1] < 2000


@pytest.mark.slow
def test_the_records_that_an_undecided_number_takes_decide(tmp_path, capsys):
    options, n = audit_undecided(tmp_path, capsys)
    assert run(draw_table(2 * n), tmp_path, capsys, *options)[0] != 4


@pytest.mark.slow
def test_a_file_of_means_ends_that_noise_hides_what_leaks(tmp_path, capsys):
    noise = np.random.default_rng(0).normal
    frame, names = draw_table(600), list("abcd")
    members, policy = frame[frame["member"] == 1], write_policy(tmp_path)
    model = make_pipeline(
        FunctionTransformer(noise, kw_args={"scale": 0.3}), LogisticRegression(C=0.01)
    )
    joblib.dump(model.fit(members[names], members["y"]), tmp_path / "model.joblib")
    given = "--model", str(tmp_path / "model.joblib"), "--trust-pickle"
    code, told = run(frame, tmp_path, capsys, *given, *policy)
    assert code == 4 and "Audit the mean of repeated answers." in told
    means = np.mean([model.predict_proba(frame[names]) for _ in range(500)], axis=0)
    pd.DataFrame(means, columns=[0, 1]).to_csv(tmp_path / "means.csv", index=False)
    given = "--answers", str(tmp_path / "means.csv"), "--estimator", "logistic"
    stated = "--recipe", "a logistic regression behind noise"
    code, told = run(frame, tmp_path, capsys, *given, *policy, *stated)
    assert code != 4, told


# -- tables


def draw_rows(n, seed, shift=0.0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 3)).round(2) + shift, columns=list("abc"))
    return frame.assign(person=[f"p{seed}-{k // 2}" for k in range(n)])


def audit_a_table(folder, capsys, synthetic, real, held_out=None, *options):
    tables = {"synthetic": synthetic, "real": real, "held_out": held_out}
    for name, frame in tables.items():
        if frame is not None:
            frame.to_csv(folder / f"{name}.csv", index=False)
    given = [str(folder / "synthetic.csv"), str(folder / "real.csv"), *options]
    given += [] if held_out is None else ["--held-out", str(folder / "held_out.csv")]
    given += [] if "--person" in options else ["--drop", "person"]
    code = main(["table", *given, "--seed", "0"])
    told = capsys.readouterr()
    return code, " ".join((told.out + told.err).split())


N_ROWS = 60
MADE, REAL, OTHERS = (draw_rows(N_ROWS, seed) for seed in range(3))
# Most people have rows in the training table too.
SHARED = OTHERS.assign(person=REAL["person"].where(np.arange(N_ROWS) < 40, OTHERS["person"]))
TABLES = {
    "no holdout": ((MADE, REAL), "Set data aside before the generator is trained."),
    "few rows": ((MADE[:10], REAL, OTHERS), "Audit with larger tables."),
    "people in both": (
        (MADE, REAL, SHARED, "--person", "person"),
        "Assign all rows of a person to one table.",
    ),
    "another population": (
        (MADE, REAL, draw_rows(N_ROWS, 3, 4.0)),
        "Take both tables from one population.",
    ),
    "swapped": ((OTHERS, REAL, OTHERS), "Check the order of the tables."),
    "alike": (
        tuple(one[["person"]].assign(a=1) for one in (MADE, REAL, OTHERS)),
        "Compare with data that are not in the training table.",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("doubt", TABLES)
def test_a_table_without_a_verdict_has_a_step_that_ends_it(tmp_path, capsys, doubt):
    given, step = TABLES[doubt]
    code, told = audit_a_table(tmp_path, capsys, *given)
    assert code == 4 and f"Next 1 {step}" in told


@pytest.mark.parametrize("person", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_holdout_of_rows_of_others_ends_it(tmp_path, capsys, person):
    options = ["--person", "person"] if person else []
    code, told = audit_a_table(tmp_path, capsys, MADE, REAL, OTHERS, *options)
    assert code != 4, told
