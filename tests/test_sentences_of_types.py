"""Odd types of arrays and tables give the numbers of ordinary ones, or one sentence."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from refusals import check_refusal, parametrize_refusals
from scipy import sparse
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from skmia import (
    Records,
    ShadowPool,
    defenses,
    disparity,
    epsilon,
    games,
    inspection,
    leakage,
    memorization,
    metrics,
    model_selection,
    report,
    signals,
    synthetic,
    victims,
)
from skmia.attacks import AttributeInferenceAttack, LiRA, ShadowAttack

X = np.random.default_rng(0).normal(size=(24, 3))
BITS = np.arange(24) % 2
MEMBERS = np.tile([[1, 0], [0, 1]], (2, 12))
MODEL = LogisticRegression().fit(X, BITS)


@parametrize_refusals(
    (
        lambda: ShadowPool(MODEL, 4, random_state=0).fit(
            Records(pd.DataFrame(X, columns=["a"] * 3), BITS)
        ),
        "could not be trained on its 12 of 24 .*'a' 3 times",
        RuntimeError,
    ),
    (lambda: Records(X, [{}] * 24), "y must hold labels of one type, .*; got dict"),
    (
        lambda: Records(pd.DataFrame(np.array([[b"a", b"b"]] * 24)), BITS),
        r"Column 0 of X holds bytes of type \|S1",
    ),
    (
        lambda: epsilon.OneRunAudit(LogisticRegression(), canaries=int, n_canaries=4).fit(X, BITS),
        "canaries must be one of the kinds, or a function .* int",
        TypeError,
    ),
    (
        lambda: memorization.CanaryFormat("a ##", "", alphabet="a 01"),
        "Tokens are whole numbers of 0 and above; got ''",
    ),
    (
        lambda: metrics.ScoreDistributionDisplay.from_predictions(BITS, np.full(24, 6e154)),
        "cannot be divided into bins=50: Too many bins",
    ),
    (
        lambda: leakage.bounds.bounded_loss_accuracy([0, 1], [0.0, 1.0], bound=Fraction(1, 2)),
        "losses must lie between 0 and the bound 0.5; got 0 to 1",
    ),
    (
        lambda: Records(X, np.array([10**400, *BITS[1:]], dtype=object)),
        "y must hold numbers that a float can hold, or text",
    ),
    (
        lambda: signals.AdversarialDistance().of(MODEL, Records(X)),
        "The records carry no task labels",
    ),
    (
        lambda: Records.concat(
            [
                Records(np.arange(24).reshape(24, 1).astype("datetime64[D]"), BITS),
                Records(X[:, :1], BITS),
            ]
        ),
        r"cannot be joined: datetime64\[D\] and float64",
    ),
    (
        lambda: memorization.insert_canaries(["to be"], ["pin 1"], 2**32),
        "must add up to at most 100,000,000; got 4,294,967,296",
    ),
    (
        lambda: metrics.precision_at_prior((0.5, 0.5), (0.5, 0.5), []),
        "tpr, fpr, prior must be numbers or arrays of one shape",
    ),
    (
        lambda: report.find_duplicates(
            Records(pd.DataFrame({"a": [{"b": 1}] * 24, "c": np.arange(24)}), BITS), BITS
        ),
        "Cells must hold one value each",
    ),
    (
        lambda: inspection.inspect_model(
            MODEL, Records(np.full((24, 3), b"\xff", dtype=object), BITS)
        ),
        "Cells that hold bytes cannot be searched for",
    ),
    (
        lambda: synthetic.rare_class_rate(pd.DataFrame(X[:, :2], columns=["a", "a"]), BITS),
        "y must hold one class for each row; got",
    ),
)
def test_wrong_arguments_are_refused(call, words, error):
    check_refusal(call, words, error)


@pytest.mark.parametrize("dtype", (np.float16, np.longdouble))
def test_groups_in_any_type_of_numbers_are_read(dtype):
    pool = ShadowPool(MODEL, 4, random_state=0).fit(Records(X, BITS))
    attack = LiRA(shadows=FrozenEstimator(pool))
    groups = (np.arange(24) // 2 % 2).astype(dtype)
    curve = model_selection.leave_one_model_out(
        attack, Records(X, BITS, group=groups), group="group"
    )
    assert curve is not None
    guesses = disparity.GroupGuesses(MEMBERS, MEMBERS, groups)
    test = disparity.DisparityTest(n_permutations=9, random_state=0).fit(guesses)
    assert test.group_vulnerability_.index.tolist() == [0.0, 1.0]


def test_distances_of_short_integers_do_not_wrap():
    rows = np.random.default_rng(0).integers(0, 256, (24, 3))
    losses = [
        synthetic.PrivacyLoss(n_permutations=9, random_state=0).fit(*tables).statistic_
        for tables in (
            [rows, rows[::-1] // 2, rows // 3],
            [one.astype(np.uint8) for one in (rows, rows[::-1] // 2, rows // 3)],
        )
    ]
    assert losses[0] == losses[1]


def test_cells_that_are_lists_are_refused():
    cells = X.astype(object)
    cells[12, 0] = [1]
    with pytest.raises(ValueError, match="Cells must hold one value each"):
        report.blind_baseline(Records(cells, BITS), BITS, random_state=0)


def test_decimals_are_compared_with_integers():
    rate = synthetic.rare_class_rate([1, 2, 1, 2], [Decimal(1), 2, 2, 2])
    assert (rate.label, rate.synthetic) == (1, 0.25)


@pytest.mark.filterwarnings("ignore:.*encountered:RuntimeWarning")  # of the model
def test_defenses_refuse_a_model_that_answers_nan():
    model = GaussianNB().fit(X, BITS)
    defense = defenses.TemperatureDefense(FrozenEstimator(model)).fit(X, BITS)
    with pytest.raises(ValueError, match="returned NaN for 1 of 2 records, first at position 1"):
        defense.predict_proba([[0.0, 0.0, 0.0], [1e300, 1e300, 1e300]])


def test_a_model_that_cannot_take_the_rows_it_is_asked_about_is_named():
    days = pd.DataFrame(np.arange(48).reshape(24, 2).astype("datetime64[D]"))
    defense = defenses.RoundingDefense(LogisticRegression()).fit(days, BITS)
    for ask in (defense.predict, defense.predict_proba):
        with pytest.raises(TypeError, match="LogisticRegression cannot take these records"):
            ask(days)


def test_canaries_with_gradients_among_rows_of_tokens_are_refused():
    torch = pytest.importorskip("torch")
    rows = torch.ones((2, 4), requires_grad=True)
    with pytest.raises(ValueError, match="canaries must be rows of tokens, as sequences are"):
        memorization.insert_canaries(np.zeros((5, 4), dtype=int), rows)


def test_attributes_are_guessed_in_the_columns_of_fit():
    columns = np.column_stack([BITS, X])
    table = pd.DataFrame(columns)
    model = LogisticRegression().fit(columns, BITS)
    arrays = AttributeInferenceAttack(FrozenEstimator(model), sensitive=0)
    tables = AttributeInferenceAttack(
        FrozenEstimator(LogisticRegression().fit(table, BITS)), sensitive=0
    ).fit(Records(table, BITS))
    arrays.fit(Records(columns, BITS))
    with pytest.raises(ValueError, match="needs X with rows and columns.*csr_array"):
        arrays.predict(Records(sparse.csr_array(columns), BITS))
    with pytest.raises(ValueError, match="fitted on 4 columns of an array; got DataFrame with 4"):
        arrays.predict(Records(table, BITS))
    with pytest.raises(ValueError, match="X has 3 features, but .* is expecting 4 features"):
        tables.predict(Records(X, BITS))
    with pytest.raises(ValueError, match="The columns have other names, or another order"):
        tables.predict(Records(table[[3, 1, 2, 0]], BITS))


def test_distances_beyond_floats_are_refused():
    attack = leakage.MeanGLiRAttack(target=X[0], n_samples=20).fit(X)
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="Numbers of this size give no"):
        attack.score_samples(np.full((2, 3), 1e300) * [[1], [-1]])


def test_fields_of_another_type_than_in_fit_are_refused():
    records = Records(X, BITS, group=np.array(list("ab" * 12)))
    pool = ShadowPool(MODEL, 4, store="outputs", random_state=0).fit(records)
    attack = ShadowAttack(FrozenEstimator(MODEL), FrozenEstimator(pool), features=["loss", "group"])
    with pytest.raises(ValueError, match="Field 'group' has values that cannot be compared"):
        attack.fit(records).score_samples(Records(X, BITS, group=BITS.astype(float)))


def test_groups_in_half_precision_are_those_in_double_precision():
    rows = np.column_stack([np.arange(24) // 2 % 2, X]).astype(np.float16)
    settings = {"group_column": 0, "n_permutations": 0, "random_state": 0, "cv": 2}
    frames = [
        leakage.WorstCaseVulnerability(**settings).fit(table, BITS).group_vulnerability_
        for table in (rows, rows.astype(float))
    ]
    pd.testing.assert_frame_equal(*frames)


@pytest.mark.filterwarnings("ignore:.*overflow:RuntimeWarning")
def test_noise_beyond_the_weights_of_a_net_ends_in_a_sentence():
    torch, skorch = pytest.importorskip("torch"), pytest.importorskip("skorch")
    layers = torch.nn.Linear(3, 4), torch.nn.Linear(4, 2)
    net = skorch.NeuralNetClassifier(torch.nn.Sequential(*layers), max_epochs=1, train_split=None)
    net.set_params(criterion=torch.nn.CrossEntropyLoss, verbose=0)
    settings = {"noise_multiplier": 1.0, "max_grad_norm": 1e100, "classes": [0, 1]}
    private = defenses.DPSGDClassifier(net, **settings)
    private.fit(X.astype(np.float32), BITS)
    with pytest.raises(ValueError, match="The model returned NaN for 24 of 24 records"):
        private.predict_proba(X.astype(np.float32))


@pytest.mark.filterwarnings("ignore:.*encountered:RuntimeWarning")  # of the model
def test_a_model_with_smoothed_labels_that_answers_nan_is_refused():
    wide = np.outer(np.arange(24) % 4, [1e300, 0, 3e300])
    defense = defenses.LabelSmoothingDefense(GaussianNB()).fit(wide, BITS)
    with pytest.raises(ValueError, match="The model returned NaN"):
        defense.predict_proba(wide)


def test_a_private_net_needs_rows_of_its_classes_where_it_does_not_draw_them():
    torch, skorch = pytest.importorskip("torch"), pytest.importorskip("skorch")
    layers = torch.nn.Linear(3, 4), torch.nn.Linear(4, 2)
    net = skorch.NeuralNetClassifier(torch.nn.Sequential(*layers), max_epochs=1, train_split=None)
    net.set_params(criterion=torch.nn.CrossEntropyLoss, verbose=0)
    settings = {"noise_multiplier": 0.0, "max_grad_norm": 1.0, "classes": [0.1, 0.2]}
    private = defenses.DPSGDClassifier(net, poisson_sampling=False, **settings)
    with pytest.raises(ValueError, match="No row has a label of classes"):
        private.fit(X.astype(np.float32), BITS)


@pytest.mark.parametrize(
    "door",
    [
        lambda y: Records(X, y),
        lambda y: Records(X, BITS, group=y),
        lambda y: victims.OneOutput(DecisionTreeClassifier()).fit(X, y),
        lambda y: victims.JointOutputs(DecisionTreeClassifier()).fit(X, y),
        lambda y: metrics.auc_interval(y, X[:, 0]),
        lambda y: report.blind_baseline(Records(X, BITS), y),
    ],
    ids=["records", "field", "one output", "all outputs", "metric", "membership"],
)
@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_labels_in_a_sparse_matrix_are_refused(door, make):
    with pytest.raises(ValueError, match=r"; got a sparse matrix. Convert it with toarray\(\)."):
        door(make(np.column_stack([BITS, BITS])))


@pytest.mark.parametrize("wrapper", [victims.OneOutput, victims.JointOutputs])
@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (pd.DataFrame(X, columns=["a"] * 3), "DecisionTreeClassifier cannot take these records"),
        (
            pd.DataFrame(X, columns=list("abc")).assign(z="text"),
            "The model takes numbers, but column 'z' of X holds",
        ),
        ([[b"\xff", 1.0]] * 24, "DecisionTreeClassifier cannot take these records: .*could not"),
    ],
    ids=["one name", "text", "bytes"],
)
def test_a_model_of_several_outputs_says_what_it_cannot_be_trained_on(wrapper, rows, message):
    with pytest.raises(ValueError, match=message) as caught:
        wrapper(DecisionTreeClassifier()).fit(rows, np.column_stack([BITS, 1 - BITS]))
    assert "\n" not in str(caught.value)


def draw_from(function):
    attack = leakage.MeanLikelihoodRatioAttack()
    return games.average_datum_game(leakage.EmpiricalMean(), attack, function, n_rounds=2)


@pytest.mark.parametrize(
    ("door", "name", "form"),
    [
        (
            lambda function: victims.CallableVictim(function, [0, 1]).fit().predict(X),
            *("function", r"f\(X\)"),
        ),
        (
            lambda function: victims.FunctionClassifier(function).fit(X, BITS),
            *("train", r"f\(X, y, seed\)"),
        ),
        (
            lambda function: (
                victims.FunctionClassifier(lambda *_: 0, function).fit(X, BITS).predict(X)
            ),
            *("forward", r"f\(model, X\)"),
        ),
        (
            lambda function: defenses.SoftLabelDefense(MODEL, alpha=function).fit(X, BITS),
            *("alpha", r"f\(X, y\)"),
        ),
        (draw_from, "X", r"f\(n, rng\)"),
        (
            lambda function: games.unlearning_game(
                MODEL, function, Records(X, BITS), n_estimators=4, n_targets=2, attacks="population"
            ),
            *("unlearn", r"f\(model, records, keep, forget, rng\)"),
        ),
    ],
    ids=["service", "training", "answers", "softening", "rows", "unlearning"],
)
def test_a_function_of_other_arguments_is_named(door, name, form):
    message = f"{name} must be a function that is called as {form}; got "
    for wrong in (isinstance, lambda: 0):
        with pytest.raises(TypeError, match=message):
            door(wrong)


def test_an_error_inside_a_function_of_users_is_theirs():
    with pytest.raises(TypeError, match="can only concatenate list") as caught:
        victims.CallableVictim(lambda rows: rows.tolist() + 1, [0, 1]).fit().predict(X)
    assert "called as" not in str(caught.value)
