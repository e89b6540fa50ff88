"""Labels against classes, proposed options, and the columns of a file of answers."""

import copy
import shlex
from functools import cache

import joblib
import numpy as np
import pandas as pd
import pytest
from cells import slow, slow_but
from sklearn.ensemble import RandomForestClassifier

from skmia._core.label_maps import match_labels, sort_by_value, try_maps
from skmia.cli import _inputs, main

N = 240
MEMBERS = np.arange(N) % 2 == 1


def make_problem(labels):
    """A table with labels in a column y, a forest that knows them by number, and its answers."""
    X, model, number, answers = (copy.deepcopy(part) for part in fit_forest(len(labels)))
    table = X.assign(y=pd.Series(labels)[number].to_numpy(), m=MEMBERS.astype(int))
    return table, model, number, answers


@cache
def fit_forest(n_labels):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(N, 3)).round(3), columns=["a", "b", "c"])
    number = pd.qcut(X["a"] + rng.normal(0, 0.3, N), n_labels, labels=False).to_numpy()
    model = RandomForestClassifier(20, random_state=0).fit(X[MEMBERS], number[MEMBERS])
    return X, model, number, model.predict_proba(X)


@pytest.fixture
def stopped(monkeypatch):
    """Stop an audit when it has read its files; return what it read."""
    read = []

    class Stop(Exception):
        pass

    def stop(arguments):
        read.append(make(arguments))
        raise Stop

    make = _inputs.make_problem
    monkeypatch.setattr("skmia.cli._audit.make_problem", stop)

    def run(call):
        read.clear()
        code = main(call if isinstance(call, list) else call.split())
        return (read[0] if read else None), code

    return run


@pytest.mark.parametrize(
    ("labels", "classes", "found"),
    [
        (["0", "1"], [0, 1], [0, 1]),
        ([0.0, 1.0], [0, 1], [0, 1]),
        ([False, True], [0, 1], [0, 1]),
        (["True", "False"], [False, True], [True, False]),
        ([" yes ", "no"], ["no", "yes"], ["yes", "no"]),
        (["Yes", "NO"], ["no", "yes"], ["yes", "no"]),
        ([1, 2], ["1.0", "2.0", "3.0"], ["1.0", "2.0"]),
        (["01", "1"], [1, 2], None),  # two labels of one class
        (["a", "A"], ["a", "b"], None),
        (["yes"], ["no"], None),
        (["nan"], [1.0, 2.0], None),
        ([1], [1, "1"], None),  # two classes of one label
    ],
)
def test_labels_are_matched_by_value_where_one_to_one(labels, classes, found):
    pairs = match_labels(labels, classes)
    assert (None if pairs is None else list(pairs.values())) == found


def test_numbers_are_sorted_as_numbers():
    assert sort_by_value(["10", "9", "1"]) == ["1", "9", "10"]
    assert sort_by_value([10, 9, 1]) == [1, 9, 10]
    assert sort_by_value(["b", "10", "a"]) == ["10", "a", "b"]


@pytest.mark.parametrize("names", [list(range(1, 13)), list(map(str, range(1, 13))), list("dacb")])
def test_a_map_that_is_right_is_found(names):
    rng = np.random.default_rng(0)
    number = rng.integers(0, len(names), 500)
    answers = np.where(rng.random(500) < 0.8, number, rng.integers(0, len(names), 500))
    labels = np.array(names, dtype=object)[number]
    tried = try_maps(labels, answers, range(len(names)))
    assert tried.pairs == {name: place for place, name in enumerate(names)}
    assert 0.7 < tried.accuracy < 0.95


def test_no_map_is_proposed_without_evidence():
    # Labels that have nothing to do with the answers, 200 times: a map is never offered.
    rng = np.random.default_rng(0)
    found = [
        try_maps(rng.integers(1, 4, 300), rng.integers(0, 3, 300), range(3)) for _ in range(200)
    ]
    assert found == [None] * 200


@pytest.mark.parametrize("labels", [[1, 2, 10], ["low", "mid", "high"]])
def test_the_proposed_map_works_when_it_is_copied(tmp_path, monkeypatch, capsys, stopped, labels):
    table, model, number, _ = make_problem(labels)
    monkeypatch.chdir(tmp_path)
    table.to_csv("t.csv", index=False)
    joblib.dump(model, "m.joblib")
    call = "audit m.joblib t.csv --members m --trust-pickle"
    problem, code = stopped(f"{call} --target y")
    err = capsys.readouterr().err
    assert (problem, code) == (None, 2)
    option = err[err.index("--label-map") : err.index(", with which")]
    problem, _ = stopped(shlex.split(f"{call} {option}") + ["--target", "y"])
    np.testing.assert_array_equal(problem.records.y, number)


def test_labels_of_one_side_with_a_full_stop_are_mapped(tmp_path, monkeypatch, capsys, stopped):
    # As those of the test file of Adult. The sign between label and class is in both as well.
    table, model, _, _ = make_problem(["<=50K", ">50K"])
    labels = table["y"].to_numpy()
    model.fit(table.loc[MEMBERS, ["a", "b", "c"]], labels[MEMBERS])
    monkeypatch.chdir(tmp_path)
    table.assign(y=np.where(MEMBERS, labels, labels + ".")).to_csv("t.csv", index=False)
    joblib.dump(model, "m.joblib")
    call = "audit m.joblib t.csv --members m --trust-pickle --target y"
    assert stopped(call)[1] == 2
    option = capsys.readouterr().err.partition("Give ")[2].strip()
    assert option == "--label-map '<=50K.=<=50K' '>50K.=>50K'"
    problem, _ = stopped(shlex.split(f"{call} {option}"))
    np.testing.assert_array_equal(problem.records.y, labels)


def test_no_map_where_the_model_does_not_fit_the_table(tmp_path, monkeypatch, capsys):
    table, model, _, _ = make_problem(["x", "y", "z"])
    table[["a", "b", "c"]] = 100.0  # another scale
    monkeypatch.chdir(tmp_path)
    table.to_csv("t.csv", index=False)
    joblib.dump(model, "m.joblib")
    assert main("audit m.joblib t.csv --members m --trust-pickle --target y".split()) == 2
    err = capsys.readouterr().err
    assert "in no order are they right on the training rows" in err
    assert "x=" not in err


@pytest.mark.parametrize(
    "labels", [["0", "1"], [False, True], [0.0, 1.0], ["no ", "yes"], ["No", "Yes"]]
)
def test_labels_of_equal_value_are_taken_and_said(tmp_path, monkeypatch, stopped, labels):
    table, model, number, _ = make_problem(labels)
    if isinstance(labels[0], str) and labels[0] != "0":
        model.fit(table.loc[MEMBERS, ["a", "b", "c"]], np.array(["no", "yes"])[number[MEMBERS]])
        number = np.array(["no", "yes"])[number]
    monkeypatch.chdir(tmp_path)
    table.to_parquet("t.parquet") if labels == ["0", "1"] else table.to_csv("t.csv", index=False)
    joblib.dump(model, "m.joblib")
    name = "t.parquet" if labels == ["0", "1"] else "t.csv"
    problem, _ = stopped(f"audit m.joblib {name} --members m --trust-pickle --target y")
    np.testing.assert_array_equal(problem.records.y, number)
    if labels != ["0", "1"]:  # which may be read as numbers
        is_number = isinstance(labels[0], float)
        assert any("by their values" in note for note in problem.notes) != is_number


def test_both_possible_targets_work_when_they_are_copied(tmp_path, monkeypatch, capsys, stopped):
    table, model, _, _ = make_problem([0, 1])
    monkeypatch.chdir(tmp_path)
    table.assign(z=table["y"]).to_csv("t.csv", index=False)
    joblib.dump(model, "m.joblib")
    call = "audit m.joblib t.csv --members m --trust-pickle"
    assert stopped(call)[1] == 2
    options = capsys.readouterr().err.rpartition(": ")[2].strip().split(" or ")
    assert options == ["--target y", "--target z"]
    assert all(stopped(f"{call} {option}")[0] is not None for option in options)


def test_both_values_of_members_work_when_they_are_copied(tmp_path, monkeypatch, capsys, stopped):
    table, _, _, _ = make_problem([0, 1])
    table["m"] = np.where(MEMBERS, "in training", "held out")
    monkeypatch.chdir(tmp_path)
    table.to_csv("t.csv", index=False)
    call = "audit --data t.csv --target y --members m"
    assert stopped(call)[1] == 2
    options = capsys.readouterr().err.rpartition(": ")[2].strip().split(" or ")
    assert options == ["--member-value 'held out'", "--member-value 'in training'"]
    found = [stopped(shlex.split(f"{call} {option}"))[0].membership for option in options]
    np.testing.assert_array_equal(found, [~MEMBERS, MEMBERS])


def test_a_column_to_drop_is_named_as_it_is_typed(tmp_path, monkeypatch, capsys, stopped):
    table, _, _, _ = make_problem([0, 1])
    table["born on"] = np.inf
    monkeypatch.chdir(tmp_path)
    table.to_csv("t.csv", index=False)
    call = "audit --data t.csv --target y --members m"
    assert stopped(call)[1] == 2
    option = capsys.readouterr().err.rpartition(": ")[2].strip()
    assert option == "--drop 'born on'"
    assert stopped(shlex.split(f"{call} {option}"))[0] is not None


ANSWERS = "audit --data t.csv --target y --members m --answers a.csv --estimator random-forest"


def ask_answers(stopped, folder, table, answers, options="", index=False, header=True):
    table.to_csv(folder / "t.csv", index=False)
    answers.to_csv(folder / "a.csv", index=index, header=header)
    problem, code = stopped(shlex.split(f"{ANSWERS} {options}"))
    return problem.records["outputs"] if problem else code


NAMED = [
    (["no", "yes"], ["no", "yes"]),
    (["no", "yes"], ["proba_no", "proba_yes"]),
    (["no", "yes"], ["P(no)", "P(yes)"]),
    (["no", "yes"], ["p_no", "p_yes"]),
    (["no", "yes"], ["no_probability", "yes_probability"]),
    (["no", "yes"], ["prob.no", "prob.yes"]),
    (["no", "yes"], ["No", "Yes"]),
    ([False, True], ["0", "1"]),
    ([1, 2, 3], ["1.0", "2.0", "3.0"]),
    ([1, 2, 3], ["class 1", "class 2", "class 3"]),
    (["a_b", "c d"], ["p_a_b", "p(c d)"]),
]
WAYS = ["whole", "percent", "reversed", "index", "id"]
# Names are all read out of their order, and two kinds of them in each form of a file.
CELLS = [(*named, how) for how in WAYS for named in NAMED]
FEW = {"whole": (0, 8), "percent": (7, 10), "index": (8, 10), "id": (0, 7)}
QUICK = [(*NAMED[k], how) for how in WAYS for k in FEW.get(how, range(len(NAMED)))]


@pytest.mark.parametrize(("labels", "columns", "how"), slow_but(CELLS, *QUICK))
def test_columns_of_answers_are_read_by_name(tmp_path, monkeypatch, stopped, labels, columns, how):
    table, _, _, values = make_problem(labels)
    monkeypatch.chdir(tmp_path)
    answers = pd.DataFrame(values * (100 if how == "percent" else 1), columns=columns)
    if how == "reversed":
        answers = answers[columns[::-1]]
    if how == "id":
        # Of a column that is not read, values may be missing.
        answers = answers.assign(id=range(N), prediction=["x"] * (N - 1) + [None])
    outputs = ask_answers(stopped, tmp_path, table, answers, index=how == "index")
    assert outputs.classes.tolist() == labels
    np.testing.assert_allclose(outputs.values, values, atol=1e-12)


KEYS = ["id"], ["a", "b", "ward", "id"]


@pytest.mark.parametrize(
    ("keys", "is_regression"),
    [(KEYS[0], False), slow(KEYS[1], False), slow(KEYS[0], True), (KEYS[1], True)],
)
def test_answers_are_matched_by_the_columns_of_the_table(
    tmp_path, monkeypatch, capsys, stopped, is_regression, keys
):
    table, _, number, values = make_problem(["no", "yes"])
    order = np.random.default_rng(1).permutation(N)
    table["id"] = 10**18 + order[::-1]  # which are no float64 apart
    table["ward"] = ["east", None, "west"] * (N // 3)
    table.loc[:5, "b"] = np.nan  # no answer lacks a value for that
    answers = pd.DataFrame(values, columns=["no", "yes"])
    if is_regression:
        table["y"] = number + table["a"]
        answers, keys = answers[["yes"]].rename(columns={"yes": "predicted"}), [*keys, "y"]
    monkeypatch.chdir(tmp_path)
    answers = pd.concat([table[keys], answers], axis=1)
    for given in (answers, answers.iloc[order]):
        outputs = ask_answers(stopped, tmp_path, table, given)
        found = outputs.values if is_regression else outputs.values[:, 1]
        np.testing.assert_allclose(found.ravel(), values[:, 1], atol=1e-12)
    # Values that are not those of the table are no keys; equal ones of several rows tell nothing.
    other = answers.iloc[order].drop(columns=[name for name in keys if name != "id"])
    other["id"] %= 3
    code = ask_answers(stopped, tmp_path, table.assign(id=table["id"] % 3), other)
    err = capsys.readouterr().err
    assert code == 2 and "the answers are in another order than the rows" in err


def test_predicted_labels_may_be_called_like_the_target(tmp_path, monkeypatch, stopped):
    table, _, number, values = make_problem([0, 1])
    monkeypatch.chdir(tmp_path)
    # As many of each class as there are, in other rows.
    outputs = ask_answers(stopped, tmp_path, table, pd.DataFrame({"y": number[::-1]}))
    np.testing.assert_array_equal(outputs.values, number[::-1])
    # Beside the columns of the table they are the table itself.
    assert ask_answers(stopped, tmp_path, table, table[["a", "y"]][::-1]) == 2
    answers = pd.DataFrame({"y": number[::-1], "0": values[:, 0], "1": values[:, 1]})
    outputs = ask_answers(stopped, tmp_path, table, answers)
    np.testing.assert_allclose(outputs.values, values, atol=1e-12)
    # Beside other columns of the table, its labels are no predictions.
    order = np.random.default_rng(1).permutation(N)
    table["id"], told = np.arange(N), pd.Series(number[::-1], name="predicted")
    for given in (table, table.iloc[order]):
        assert ask_answers(stopped, tmp_path, table, given) == 2
        given = given[["id", "y"]].join(told)
        outputs = ask_answers(stopped, tmp_path, table, given)
        np.testing.assert_array_equal(outputs.values, number[::-1])


@pytest.mark.parametrize("positive", ["yes", "no"])
def test_one_column_of_probabilities(tmp_path, monkeypatch, capsys, stopped, positive):
    table, _, _, values = make_problem(["no", "yes"])
    monkeypatch.chdir(tmp_path)
    score = pd.DataFrame({"score": values[:, int(positive == "yes")]})
    assert ask_answers(stopped, tmp_path, table, score) == 2
    err = capsys.readouterr().err
    assert f"name it: --positive {positive}, with which they are right on" in err
    outputs = ask_answers(stopped, tmp_path, table, score, f"--positive {positive}")
    np.testing.assert_allclose(outputs.values, values, atol=1e-12)
    # A name of the column says as much.
    named = score.rename(columns={"score": f"p_{positive}"})
    outputs = ask_answers(stopped, tmp_path, table, named)
    np.testing.assert_allclose(outputs.values, values, atol=1e-12)


@pytest.mark.parametrize("name", ["proba_0", "P(0)", "0_probability", "prob False"])
def test_certain_probabilities_are_not_read_as_labels(tmp_path, monkeypatch, stopped, name):
    table, _, number, _ = make_problem([0, 1])
    monkeypatch.chdir(tmp_path)
    answers = pd.DataFrame({name: 1 - number})
    outputs = ask_answers(stopped, tmp_path, table, answers)
    assert outputs.kind == "proba" and outputs.classes.tolist() == [0, 1]
    np.testing.assert_array_equal(outputs.values[:, 1], number)
    every = ask_answers(stopped, tmp_path, table, answers * 0 + 1)
    np.testing.assert_array_equal(every.values, np.tile([1, 0], (N, 1)))


def test_a_column_of_labels_or_of_one_class_is_refused_if_the_two_differ(
    tmp_path, monkeypatch, capsys, stopped
):
    table, _, number, _ = make_problem([0, 1])
    monkeypatch.chdir(tmp_path)
    assert ask_answers(stopped, tmp_path, table, pd.DataFrame({"class_0": 1 - number})) == 2
    err = capsys.readouterr().err
    told = "column 'class_0' of a.csv may hold labels, or 1 where the model predicts '0': rename it"
    assert told in err and err.rstrip().endswith("--positive 0")
    outputs = ask_answers(
        stopped, tmp_path, table, pd.DataFrame({"class_0": 1 - number}), "--positive 0"
    )
    np.testing.assert_array_equal(outputs.values[:, 1], number)
    for name in ("class_1", "0", "score"):  # the same either way, no name, and no class
        outputs = ask_answers(stopped, tmp_path, table, pd.DataFrame({name: number}))
        assert outputs.kind == "label"
        np.testing.assert_array_equal(outputs.values, number)


def test_columns_without_names(tmp_path, monkeypatch, capsys, stopped):
    table, _, _, values = make_problem(["no", "yes", "so so"])
    monkeypatch.chdir(tmp_path)
    # Labels are numbered as they are sorted: no, so so, yes.
    answers = pd.DataFrame(values[:, [1, 0, 2]], columns=["c1", "c2", "c3"])
    assert ask_answers(stopped, tmp_path, table, answers) == 2
    err = capsys.readouterr().err
    option = err[err.index("--classes") : err.index(" names them")]
    assert option == "--classes yes no 'so so'"
    outputs = ask_answers(stopped, tmp_path, table, answers, option)
    np.testing.assert_allclose(outputs.values[:, [0, 2, 1]], values, atol=1e-12)


def test_labels_of_equal_value_are_answers(tmp_path, monkeypatch, stopped):
    table, _, number, _ = make_problem([1, 2, 3])
    monkeypatch.chdir(tmp_path)
    outputs = ask_answers(stopped, tmp_path, table, pd.DataFrame({"label": number + 1.0}))
    assert outputs.kind == "label"
    np.testing.assert_array_equal(outputs.values, number + 1)


def wrong_answers():
    _, _, _, p = make_problem(["no", "yes"])
    logit = np.log(p + 0.01)
    frame = pd.DataFrame
    yield frame({"s": p[:, 1]}), "--positive maybe", "has no label 'maybe'; it has 'no' and 'yes'"
    yield frame({"s": logit[:, 1] - logit[:, 0]}), "", "accepted are labels, or probabilities"
    yield frame({"s": 100 * p[:, 1]}), "--positive yes", "of percent, divide by 100"
    yield frame(logit, columns=["no", "yes"]), "", "of logits, write their softmax"
    yield frame(p, columns=["a", "b"]), "--classes no x", "need one label each, of 'no' and 'yes'"
    yield frame(p, columns=["no", "yes"]), "--classes no yes", "are named 'no' and 'yes'"
    yield frame({"s": p[:, 1]}), "--classes no yes", "--positive names the class"
    yield frame({"label": ["si"] * N}), "", "'si' in a.csv is not a label of the table"
    yield frame(np.vstack([p, p[:1]]), columns=["no", "yes"]), "", "remove the line"
    yield frame(p[MEMBERS], columns=["no", "yes"]), "", "answers to the members alone"
    yield frame(p, columns=["no", "yes"]).mask(p > 0.99), "", "lacks a value in row"


@pytest.mark.parametrize(("answers", "options", "words"), wrong_answers(), ids=str)
def test_wrong_answers(tmp_path, monkeypatch, capsys, stopped, answers, options, words):
    table, _, _, _ = make_problem(["no", "yes"])
    monkeypatch.chdir(tmp_path)
    assert ask_answers(stopped, tmp_path, table, answers, options) == 2
    err = capsys.readouterr().err
    assert words in err
    assert err.count("\n") == 1


def test_answers_without_a_header(tmp_path, monkeypatch, capsys, stopped):
    table, _, _, values = make_problem(["no", "yes"])
    monkeypatch.chdir(tmp_path)
    answers = pd.DataFrame(values)
    answers.iloc[0] = [0.25, 0.75]
    assert ask_answers(stopped, tmp_path, table, answers, header=False) == 2
    assert "its first line" in capsys.readouterr().err


def test_answers_of_a_regression(tmp_path, monkeypatch, capsys, stopped):
    table = make_problem([0, 1])[0]
    table["y"] = table["a"] * 2.5
    monkeypatch.chdir(tmp_path)
    quantiles = pd.DataFrame({f"q{q}": table["y"] + q for q in (10, 50, 90)})
    assert ask_answers(stopped, tmp_path, table, quantiles) == 2
    assert "as of several quantiles or targets" in capsys.readouterr().err
    one = pd.DataFrame({"id": range(N), "prediction": table["y"]})
    np.testing.assert_allclose(ask_answers(stopped, tmp_path, table, one).values, table["y"])
    assert ask_answers(stopped, tmp_path, table, pd.DataFrame({"y": ["x"] * N})) == 2
    assert "column 'y' of a.csv must hold numbers; got 'x' in row 1" in capsys.readouterr().err
    table["y"] = np.where(table["a"] > 0, 1.0, 0.0)
    both = pd.DataFrame({"0": [0.5] * N, "1": [0.5] * N})
    assert ask_answers(stopped, tmp_path, table, both) == 2
    assert "give --task classification" in capsys.readouterr().err
    assert ask_answers(stopped, tmp_path, table, both, "--task classification").kind == "proba"


@pytest.mark.parametrize("classes", [["no", "yes"], ["yes", "no"]])
def test_classes_of_an_onnx_file_that_states_none(tmp_path, monkeypatch, capsys, stopped, classes):
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    table, _, _, _ = make_problem(["no", "yes"])
    helper, real = onnx.helper, onnx.TensorProto.FLOAT
    weight = onnx.numpy_helper.from_array(np.float32([[-3, 3], [0, 0], [0, 0]]), "w")
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["z"]),
        helper.make_node("Softmax", ["z"], ["p"]),
    ]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", real, [None, 3])],
        [helper.make_tensor_value_info("p", real, [None, 2])],
        [weight],
    )
    opsets = [helper.make_opsetid("", 13)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    table.to_csv("t.csv", index=False)
    call = "audit m.onnx t.csv --members m --target y --estimator logistic".split()
    from skmia.cli import _audit

    monkeypatch.setattr(_audit, "is_of_strangers", lambda path: False)
    assert stopped(call)[1] == 2
    assert "Give --classes no yes, with which" in capsys.readouterr().err
    problem, _ = stopped([*call, "--classes", *classes])
    assert problem.victim.classes_.tolist() == classes
    right = problem.victim.predict(problem.records.X) == problem.records.y
    assert (right.mean() > 0.8) == (classes == ["no", "yes"])
