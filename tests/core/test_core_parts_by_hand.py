"""Parts of the core that few other tests reach, with answers by hand or from other formulas."""

import pickle
from dataclasses import dataclass
from threading import Lock
from types import SimpleNamespace as NS
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from by_hand import expect_answers, tell_refusal
from numpy import array, nan
from scipy.optimize import brentq
from scipy.stats import multivariate_normal, t
from sklearn.base import BaseEstimator
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import BaggingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler

from skmia import Outputs, Records
from skmia._core import (
    accountant,
    blind,
    brief,
    containers,
    copies,
    drawing,
    error_hints,
    filed_array,
    files,
    foreign_words,
    gaussians,
    groups,
    guesses,
    hashing,
    metric_inputs,
    needs,
    normal_law,
    numbers,
    optional,
    outputs,
    probabilities,
    pvalues,
    query,
    randomness,
    records,
    sample_weights,
    searches,
    skorch_nets,
    splits,
    targets,
    text,
    tokens,
    trained_modules,
    transactions,
    validation,
    writers,
)
from skmia._core import matrix as matrix_checks
from skmia._core.pages import curves


@dataclass
class Small:
    value: int


def log_student(count, strength=3.0):
    x, mean, scale = array([0.5, -1.0, 4.0]), array([1.0, 0.5, 0.0]), array([2.0, 0.5, 1.5])
    count = array(count)
    expected = t.logpdf(x, strength - 1 + count, loc=mean, scale=scale)
    return normal_law.log_student(x, mean, scale**2, count, strength), expected


def joint_density(ridge, side):
    """Return the log density of two queries of one record, and what scipy says of it."""
    rng = np.random.default_rng(0)
    shadows, target = rng.normal(size=(2, 9, 1)), array([[0.5], [2.0]])
    chosen = array([[1], [1], [0], [1], [1], [0], [0], [1], [0]], dtype=bool) == side
    values = shadows[:, chosen[:, 0], 0]
    covariance = np.cov(values, bias=True)
    covariance += (ridge * np.trace(covariance) / 2 + normal_law.SMALLEST_SPREAD**2) * np.eye(2)
    law = multivariate_normal(values.mean(axis=1), covariance)
    return (target, shadows, chosen), law.logpdf(target[:, 0])


def joint_ratio(ridge):
    (given, into), ((_, _, outside), out) = joint_density(ridge, True), joint_density(ridge, False)
    return normal_law.joint_ratio(*given, outside, ridge), [into - out]


def limit_rates(k, n, alpha=0.05):
    """Return where the mixture of bets on rates reaches 1 / alpha, by another search."""

    def log_wealth(rate):
        wealth = pvalues.betaln(k + 0.5, n - k + 0.5) - pvalues.betaln(0.5, 0.5)
        return wealth - k * np.log(rate) - (n - k) * np.log1p(-rate) + np.log(alpha)

    low = 0.0 if k == 0 else brentq(log_wealth, 1e-12, min(k / n, 1 - 1e-9), xtol=1e-14)
    high = 1.0 if k == n else brentq(log_wealth, max(k / n, 1e-9), 1 - 1e-12, xtol=1e-14)
    found = pvalues.limit_rates(array([k]), array([n]), alpha)
    return [*found], [array([low]), array([high])]


def raise_from(call):
    try:
        call()
    except Exception as error:
        return error
    return None


def raise_nameless():
    exec("1 / 0", {})


def describe_fault(values, nonlinearity="auto"):
    return skorch_nets._describe_fault(NS(predict_nonlinearity=nonlinearity), array(values))


def why_not(criterion):
    net = NS(predict_nonlinearity="auto", criterion_=type(criterion, (), {})())
    return skorch_nets.why_not_probabilities(net, array([[0.5, 2.0]]))


class Sampler(BaseEstimator):
    """A generator that draws what it is told to."""

    def __init__(self, drawn):
        self.drawn = drawn

    def fit(self, X=None):
        self.fitted_ = True
        return self

    def sample(self, n_samples):
        return self.drawn


class SeededSampler(Sampler):
    def sample(self, n_samples, random_state):
        return random_state, n_samples


def draw(generator):
    return query.draw_samples(generator.fit(), 3, NS(randint=lambda most: most))


def take_column(group, fields=("a", "b"), X=None):
    frame = pd.DataFrame(array([[1, 2, 3], [4, 5, 6]]), columns=["u", "v", "v"])
    return groups._take_group_column(frame if X is None else X, group, fields, "group")


def mark(**scores):
    with pytest.warns(UserWarning) as caught:
        marked = searches.mark_scored({name: array(one) for name, one in scores.items()})
    return marked, str(caught[0].message)


def encode(cell):
    """Return how a cell of a column of objects is written down before it is hashed."""
    return hashing._encode_cell(cell)


def join(*parts, kind="label", classes=None):
    n_records = sum(len(values) for values in parts)
    classes = [sorted({*values}) for values in parts] if classes is None else classes
    given = [Outputs(array(one), own, kind) for one, own in zip(parts, classes, strict=True)]
    joined = outputs.join_outputs(iter(given), n_records)
    return joined.values, joined.classes, joined.kind


def ask_prv(steps, error=None):
    """Return the epsilon of steps, whose accounting says 7 or fails."""

    def ask(name, steps, delta, **settings):
        if error is not None:
            raise error
        return (7.0, name, delta, settings["eps_error"])

    with mock.patch.object(accountant, "_ask_accountant", ask):
        return accountant._ask_prv(steps, 1e-5, 0.01)


def write_to(error):
    """Return the error in which writing to a file ends."""
    with mock.patch.object(files, "write_atomically", side_effect=error):
        found = raise_from(lambda: files.write_bytes("folder/name", b"a"))
    return type(found).__name__, str(found), found.filename


def import_optional(error):
    with mock.patch.object(optional, "import_module", side_effect=error):
        found = raise_from(lambda: optional.import_optional("torch.nn", "torch"))
    return type(found).__name__, str(found)


def count_memory(error):
    with mock.patch.object(splits.os, "sysconf", side_effect=error, create=True):
        return splits._count_bytes_of_memory()


def find_cure(name, offered=(), module="skmia", places=()):
    with mock.patch.object(guesses, "list_public_names", lambda: dict(places)):
        return guesses._find_cure(module, name, offered)


def draw_curves(*curves_given, point=None):
    return curves.draw_roc([CURVE | one for one in curves_given], point)


CURVE = {"name": "LiRA", "level": "clear", "dashed": False, "from": 0.0}
CURVE |= {"fpr": [0.01, 0.1, 1.0], "tpr": [0.1, 1.0, 1.0]}
CURVE |= {"low": [0.01, 0.1, 1.0], "high": [1.0, 1.0, 1.0]}


class Opaque(BaseEstimator):
    """An estimator that does not tell its parameters."""

    def get_params(self, deep=True):
        raise ZeroDivisionError


class NoInit:
    pass


def say_types(message, model=None):
    return error_hints.get_advice(ValueError(message), model or LogisticRegression(), None)


def score_words(X, membership, seed=0, **fields):
    found = blind.score_words(Records(X, np.zeros(len(X)), **fields), array(membership), seed)
    return [(rows.tolist(), len(scores)) for rows, scores in found]


def why_no_shadows(reads=("proba",), keeps=("auto",), kept=(), trainable=True, **withheld):
    need = needs.Needs(reads=frozenset(reads), keeps=frozenset(keeps))
    kept = None if kept is None else frozenset(kept)
    offer = NS(keeps=kept, trainable=trainable, withheld=withheld, kind="proba")
    return needs._why_no_shadows(need, offer)


class Voter(BaseEstimator):
    """A model of several classes that knows none by itself."""

    def __init__(self, answers=None, classes=None):
        self.answers, self.classes = answers, classes

    def fit(self, X=None, y=None):
        self.fitted_ = True
        if self.classes is not None:
            self.classes_ = self.classes
        return self

    def predict(self, X):
        return array(self.answers)


def ask_labels(answers, classes=None):
    found = query._query_scores(Voter(answers, classes).fit(), np.zeros((len(answers), 1)))
    return found.values, found.classes, found.kind


def check_name(column, names):
    return tell_refusal(lambda: records.check_column_name(pd.DataFrame(columns=names), column))


def reach_net(estimator, X=None):
    """Tell whether a net is found, and rows as they reach it."""
    X = array([[1.0], [3.0]]) if X is None else X
    with mock.patch.object(targets, "_is_net_part", lambda part: isinstance(part, Net)):
        found = targets._reach_net(estimator, X, array([0, 1]))
    return found and (type(found[0]).__name__, found[1].tolist(), found[2].tolist())


class Net(BaseEstimator):
    def fit(self, X, y=None):
        return self


class Failing(BaseEstimator):
    def fit(self, X, y=None):
        raise ValueError

    def transform(self, X):
        return X


def read_token_row(row):
    return tell_refusal(lambda: tokens._read_row(row, 3, "token_log_probas"))


def hold_variable():
    """Return cells of a function: with a value, with None, and of what is not defined yet."""

    def use():
        return value, nothing, later

    value, nothing = 3, None
    found = [trained_modules._is_filled(cell) for cell in use.__closure__]
    names = use.__code__.co_freevars
    later = None
    return dict(zip(names, found, strict=True))


def give_weights(make, owner=None):
    owner = NS(get_params_for=lambda name: {"size": 2}) if owner is None else owner
    return trained_modules._gives_one_module(make, "module", owner)


class Weights:
    def __init__(self, size, parts=None):
        self.parts = [object() for _ in range(size)] if parts is None else parts

    def parameters(self):
        return iter(self.parts)


ONE_MODULE = Weights(2)


class Continued:
    """Something that has learned what cannot be copied, and what it shares with its parameters."""

    def __init__(self, given=None):
        self.given = given


def copy_learned(**learned):
    model = Continued(given=[1])
    vars(model).update(learned)
    found = transactions._copy_learned(model)
    return {name: value is learned[name] for name, value in found.items()}


class Interrupted(Continued):
    """An estimator during whose last step an interruption comes."""

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        if "a_" in vars(self):
            raise KeyboardInterrupt


def take_over(estimator):
    """Return what an estimator is after a fit, and what the fit returned."""
    copied = Continued()
    copied.a_ = 2
    try:
        found = transactions._take_over(estimator, copied, "result")
    except KeyboardInterrupt as interruption:
        found = type(interruption).__name__
    return vars(estimator), found


def change_callbacks(*kinds):
    told = []
    callbacks = [type(name, (), {})() for name in kinds]
    kept = writers._change_list(callbacks, told)
    return [type(one).__name__ for one in kept], told


class Folder:
    """Something of a user with attributes in place of parameters."""

    def __init__(self):
        self.path = "a"


def net_of_shape(shape):
    """Return a net that answers all with outputs of a shape."""
    torch = pytest.importorskip("torch")
    net = NS(evaluation_step=lambda batch, training: torch.ones(shape))
    net.get_dataset = lambda X, y: [(one, 0) for one in X]
    net.get_iterator = lambda data, training: NS(dataset=data, collate_fn=lambda rows: (rows, None))
    return net


def fake_torch(is_available, is_initialized):
    cuda = NS(
        is_available=lambda: is_available,
        is_initialized=lambda: is_initialized,
        device_count=lambda: 2,
    )
    return NS(cuda=cuda, random=NS(fork_rng=lambda devices: [*devices]))


def fork_torch(modules):
    with mock.patch.object(randomness, "sys", NS(modules=modules)):
        found = randomness._fork_torch()
    return found if isinstance(found, list) else type(found).__name__


def are_close(whole, part):
    """Compare outputs of all rows with those of the first of them, as lists of numbers."""
    torch = pytest.importorskip("torch")

    def read(one):
        return tuple(map(read, one)) if isinstance(one, tuple) else torch.tensor(one)

    return bool(skorch_nets._are_close_tensors(read(whole), read(part)))


def mark_trained(*weights, estimator=None):
    """Tell which of some records are trained on, of which the first two are equal."""
    X = np.arange(len(weights))[:, None].clip(1)
    fields = {"sample_weight": array(weights)} if None not in weights else {}
    found = sample_weights.mark_trained(
        estimator or LogisticRegression(), Records(X, np.zeros(len(X)), **fields)
    )
    return found if found is None else found.tolist()


def arrange(log_proba, inside, counts=None, **moments):
    """Lay token outputs out by places that hold tokens, which all count if nothing is said."""
    inside = array(inside, dtype=bool)
    counts = inside if counts is None else array(counts, dtype=bool)
    given = tokens.TokenOutputs(array(log_proba, dtype=float), **moments)
    found = tokens.arrange_outputs(given, inside, counts)
    return [one if one is None else one.tolist() for one in (found.log_proba, found.mean)]


def draw_rows(n_wanted, n_fewest=0, seed=0, **settings):
    """Draw of twenty records, of which the first and the last three are groups."""
    groups = [np.arange(20) < 3, np.arange(20) >= 17]
    found = splits.draw_rows(20, n_wanted, seed, groups, n_fewest, **settings)
    in_order = (np.diff(found) > 0).all()
    return len(found), [min(int(one[found].sum()), n_fewest) for one in groups], bool(in_order)


def unreachable(epsilon, name):
    return accountant._say_unreachable(epsilon, 1e-5, 0.01, 1000, name)


def join_needs(**given):
    one = needs.Needs(
        reads=frozenset({"proba", "label"}),
        access=frozenset({"queries"}),
        keeps=frozenset({"auto"}),
        known=needs.KNOWN[1],
        lacks=("b", "a"),
        uses=frozenset({"x"}),
    )
    other = needs.Needs(
        reads=frozenset({"proba", "logits"}),
        access=frozenset({"file"}),
        keeps=frozenset({"loss"}),
        known=needs.KNOWN[0],
        lacks=("a", "c"),
        uses=frozenset({"y"}),
    )
    both = one & other
    return [sorted(part) for part in (both.reads, both.access, both.keeps, both.uses)] + [
        both.lacks,
        (both.known, (other & one).known) == (needs.KNOWN[1],) * 2,
    ]


FRAME = pd.DataFrame({"n": [1.0, 2.0], "city": ["Bern", "Basel"], "job": ["cook", "Bern"]})


def advise_on_unknown(said):
    return error_hints._advise_on_unknown(said, FRAME).partition(", which were")[0]


def draw_blindly(n_records, most):
    """Draw at most so many records; tell which, and whether the rest fits them."""
    given = Records(np.arange(n_records)[:, None], np.zeros(n_records))
    with mock.patch.object(blind, "MOST_RECORDS", most):
        found = blind._draw_blind_sample(given, np.arange(n_records) % 3, np.random.default_rng(0))
    rows = found.rows.tolist()
    fits = found.records.X[:, 0].tolist() == rows
    return (
        len(rows),
        rows == sorted({*rows}),
        fits,
        found.membership.tolist() == [k % 3 for k in rows],
    )


# A column without spread between two, whose inverse covariance is a third of 1, -1 and 4.
DIAGONAL = gaussians.DiagonalMoments(array([1.0, 2, 3]), array([4.0, 0, 0.25]))
FULL = gaussians.FullMoments(array([1.0, 2, 3]), array([[4.0, 0, 1], [0, 0, 0], [1, 0, 1]]))


def use_moments(moments):
    row, other = array([[2.0, 5.0, 1.0]]), array([[4.0, 1.0, 0.5]])
    return [
        moments.constant,
        moments.solve(row[0]),
        moments.variance_along(array([1.0, 2.0, 3.0])),
        moments.trace_of(array([1.0, 7.0, 2.0])),
        moments.inner(row, row),
        moments.inner(row, other),
    ]


def check_bits(*values, dtype=object):
    try:
        return metric_inputs.check_bits(array(values, dtype=dtype), "bits").tolist()
    except ValueError as error:
        return str(error)


class Rows(list):
    """Rows of another library, which are cut by slices and taken by numbers."""

    def __getitem__(self, key):
        taken = [list(self)[k] for k in key] if isinstance(key, np.ndarray) else list(self)[key]
        return NS(to_native=lambda: taken)


def take_foreign(key):
    return containers._take_foreign(Rows([10, 11, 12, 13, 14]), key)


class Handled(BaseEstimator):
    """A callback of skorch that only prints."""


Handled.__module__, Handled.__name__ = "skorch.callbacks.logging", "PrintLog"


def change_net(**parameters):
    """Return what is left of the callbacks of a net."""
    own = Sampler(3)
    given = {"callbacks": [("own", own), ("print", Handled())], **parameters}
    with mock.patch.object(writers, "_change_own", lambda callback, values, told: callback):
        found = writers._change_skorch(None, given, [])
    entries = [name for name, _ in found.pop("callbacks")]
    return entries, found


EMPTY, PLAIN = Pipeline([]), make_pipeline(MinMaxScaler(), LogisticRegression())


WORDS = array([[f"one {word} and many other words of it"] for word in "abcdefgh"], dtype=object)
LONG = np.longdouble(2) ** 63 + 1  # one more than a float holds, where it is longer than that
logits = Outputs(array([[0.0, np.log(3.0)], [0.0, -100.0]]), ["a", "b"], "logits")
matrix = array([[1, 2], [3, 4], [5, 6]])
least = float(np.log(np.finfo(float).eps))

# Of each module: calls and answers. Whatever may be equal differs, and each branch decides once.
ANSWERS = {
    blind: [
        # Only of words, on both sides of both halves.
        (lambda: score_words(np.zeros((8, 2)), [1, 0] * 4), []),
        (lambda: score_words(np.zeros((8, 0)), [1, 0] * 4), []),
        (lambda: score_words(WORDS[:2], [1, 0]), []),
        (lambda: score_words(WORDS, [1, 0] * 4, group_by=[7] * 8), []),
        (
            lambda: [len(rows) == n for rows, n in score_words(WORDS, [1, 0] * 4)],
            [True] * blind._N_SPLITS,
        ),
    ],
    needs: [
        (lambda: why_no_shadows(keeps=()), None),
        (
            lambda: why_no_shadows(trainable=False),
            "it needs shadow models, and there are none",
        ),
        (
            lambda: why_no_shadows(trainable=False, shadows="which nobody trains"),
            "it needs shadow models, which nobody trains",
        ),
        (
            lambda: why_no_shadows(kept=[needs.LABELS])[-36:],
            ", and the shadow models return labels"[-36:],
        ),
        (lambda: why_no_shadows(("proba", "label"), kept=[needs.LABELS, "auto"]), None),
        (lambda: why_no_shadows(kept=None), None),
        (
            lambda: why_no_shadows(kept=None, keeps=["gradients"], gradients="which are secret"),
            "it needs the gradients of the shadow models, which are secret",
        ),
        (
            lambda: why_no_shadows(kept=["models"], keeps=["gradients"], gradients="x"),
            "it needs the gradients of the shadow models, which skmia cannot read",
        ),
    ],
    query._query_scores: [
        (lambda: query.has_tags(object()), False),
        (lambda: query.has_tags(Voter()), True),
        (lambda: ask_labels([2, 0, 2]), ([2, 0, 2], [0, 2], "label")),
        (lambda: ask_labels(["b", "a"], ["a", "b", "c"]), (["b", "a"], ["a", "b", "c"], "label")),
        (lambda: ask_labels([[1], [0]])[1], [0, 1]),
        (
            lambda: tell_refusal(lambda: ask_labels([[1, 0], [0, 1]]))[:33],
            "The model must return one label p",
        ),
        (lambda: tell_refusal(lambda: ask_labels([0.5, 1.0]))[:21], "Voter predicts number"),
        (lambda: ask_labels([2.0, 1.0])[1], [1.0, 2.0]),
    ],
    records.check_column_name: [
        (lambda: check_name("a", ["a", "b"]), None),
        (lambda: check_name("c", ["a", "b"]), "Unknown column 'c'; the columns are a, b."),
        (lambda: check_name(["a"], ["a"]), "Unknown column ['a']; the columns are a."),
        (
            lambda: check_name("z", [*"abcdefghijklmnopqrst"])[:40],
            "Unknown column 'z'; the columns are a, b",
        ),
        (
            lambda: [
                check_name("z", [f"c{k}" for k in range(n)]).endswith(", ...")
                or check_name("z", [f"c{k}" for k in range(n)]).endswith(", ....")
                for n in (records._MOST_NAMES, records._MOST_NAMES + 1)
            ],
            [False, True],
        ),
    ],
    targets._reach_net: [
        (lambda: reach_net(Net()), ("Net", [[1.0], [3.0]], [0, 1])),
        (lambda: reach_net(make_pipeline(Net())), ("Net", [[1.0], [3.0]], [0, 1])),
        (lambda: reach_net(make_pipeline(MinMaxScaler(), Net())), ("Net", [[0.0], [1.0]], [0, 1])),
        (lambda: reach_net(make_pipeline(Failing(), Net())), None),
        (lambda: reach_net(FrozenEstimator(Net())), None),
        (lambda: reach_net(LogisticRegression()), None),
        (
            lambda: reach_net(TransformedTargetRegressor(Net())),
            ("Net", [[1.0], [3.0]], [0, 1]),
        ),
        (
            lambda: reach_net(BaggingClassifier(make_pipeline(MinMaxScaler(), Net())))[1:2],
            ([[0.0], [1.0]],),
        ),
        (lambda: targets._takes_flat(LogisticRegression()), True),
        (lambda: targets._takes_flat(NS()), True),
        (
            lambda: tell_refusal(
                lambda: targets._ask_net(net_of_shape((3, 1)), array([[1.0]] * 2), array([0, 1]))
            ),
            "outputs are not one for each record",
        ),
    ],
    skorch_nets._are_close_tensors: [
        # Rounding is of the largest output, whichever that is.
        (lambda: are_close([100.0, 0.0], [100.0, 99 * skorch_nets._ROUNDING]), True),
        (lambda: are_close([100.0, 0.0], [100.0, 101 * skorch_nets._ROUNDING]), False),
        (lambda: are_close([-100.0, 0.0, 7.0], [-100.0, 99 * skorch_nets._ROUNDING]), True),
        (lambda: are_close([[1.0], [2.0]], [[1.0]]), True),
        (lambda: are_close([[1.0], [2.0]], [[2.0]]), False),
        (lambda: are_close([[1.0]], [[1.0], [2.0]]), False),
        (lambda: are_close([[1.0]], [1.0]), False),
        (lambda: are_close([nan, 1.0], [nan, 1.0]), True),
        (lambda: are_close([nan, 1.0], [0.0, 1.0]), False),
        (lambda: are_close([np.inf, 1.0], [np.inf, 1.0]), True),
        (lambda: are_close([np.inf, 1.0], [np.inf, 1.1]), False),
        (lambda: are_close([3, 4], [3]), True),
        (lambda: are_close([3, 4], [4]), False),
        (lambda: are_close([0.0], [0.0]), True),
        (lambda: are_close([1.0], [[]][0]), True),
        (lambda: are_close(([1.0, 2.0], [3.0, 4.0]), ([1.0], [3.0])), True),
        (lambda: are_close(([1.0, 2.0], [3.0, 4.0]), ([1.0], [4.0])), False),
        (lambda: are_close(([1.0], [3.0]), ([1.0],)), False),
        (lambda: skorch_nets._are_close_tensors("a", "a"), False),
    ],
    gaussians: [
        (
            lambda: use_moments(DIAGONAL),
            [[False, True, False], [0.5, 0.0, 4.0], 6.25, 8.25, [5.0], [4.0]],
        ),
        (lambda: DIAGONAL.whiten(array([[2.0, 5.0, 1.0]])), [[1.0, 0.0, 2.0]]),
        (
            lambda: use_moments(FULL),
            [[False, True, False], [1 / 3, 0.0, 2 / 3], 19.0, 3.0, [4 / 3], [5 / 3]],
        ),
    ],
    metric_inputs: [
        (lambda: check_bits(1, 0), [True, False]),
        (lambda: check_bits(True, 0), [True, False]),
        (
            lambda: check_bits(1, 2)[:60],
            "bits must hold 1 for members and 0 for non-members; got the ",
        ),
        (lambda: check_bits("a", "b", dtype=None)[51:], " got dtype <U1."),
        (lambda: check_bits(True, False, dtype=bool), [True, False]),
        (lambda: numbers.are_allowed_numbers(array([0, 1], dtype=object), (0, 1)), False),
        (lambda: numbers.are_allowed_numbers(array([0, 1j]), (0, 1)), False),
        (lambda: numbers.are_allowed_numbers(array([0, 1.0]), (0, 1)), True),
        (lambda: numbers.are_allowed_numbers(array([0.5]), (0, 1)), False),
    ],
    blind._draw_blind_sample: [
        (lambda: draw_blindly(9, 9), (9, True, True, True)),
        (lambda: draw_blindly(9, 8), (8, True, True, True)),
        (lambda: draw_blindly(9, 3), (3, True, True, True)),
    ],
    containers._take_foreign: [
        (lambda: take_foreign(slice(1, 3)), [11, 12]),
        (lambda: take_foreign(slice(None, None, 2)), [10, 12, 14]),
        (lambda: take_foreign(slice(None, None, -2)), [14, 12, 10]),
        (lambda: take_foreign(slice(3, 1)), []),
        *(
            (
                lambda X=X: tell_refusal(lambda: containers.as_rows(X)),
                "X must be an array, a DataFrame, a sparse matrix or a torch tensor with one row "
                f"per record; got {type(X).__name__}.",
            )
            for X in (3, array(3), object())
        ),
        (lambda: containers.as_rows([3]), [3]),
        (
            lambda: tell_refusal(lambda: containers.as_rows([[1], [2, 3]])),
            "X must hold rows of equal length, with one value, text or a number, in each cell.",
        ),
        (lambda: take_foreign(slice(-2, None)), [13, 14]),
        (lambda: take_foreign(array([4, 0, 0])), [14, 10, 10]),
        (lambda: take_foreign(array([True, False, True, False, False])), [10, 12]),
    ],
    writers._change_skorch: [
        (lambda: change_net(), (["own"], {})),
        # A callback that takes the place of another one, settings of one, and where it prints.
        (
            lambda: change_net(
                callbacks__print_log=Handled(), callbacks__valid=None, callbacks__x__sink=print
            ),
            (["own"], {"callbacks__print_log": None, "callbacks__valid": None}),
        ),
        (lambda: change_net(callbacks__own__drawn=5, lr=2), (["own"], {"lr": 2})),
        (lambda: change_net(callbacks__other__size=5), (["own"], {"callbacks__other__size": 5})),
    ],
    sample_weights: [
        (lambda: mark_trained(None, None, None), None),
        (lambda: mark_trained(1.0, 0.5, 2.0), None),
        # Who equals a record that is trained on is trained on as well.
        (lambda: mark_trained(0.0, 0.5, 0.0), [True, True, False]),
        (lambda: mark_trained(0.0, 0.5, 0.0, estimator=KNeighborsClassifier()), None),
        (
            lambda: tell_refusal(lambda: mark_trained(0.0, 0.0, 0.0)),
            "sample_weight must be above 0 for some records, which models are trained on; all 3 "
            "are 0.",
        ),
    ],
    tokens.arrange_outputs: [
        # Texts that begin behind their padding, with a first token that does not count.
        (
            lambda: arrange([[nan, -1, -2], [-3, -4, -5]], [[0, 1, 1], [1, 1, 1]]),
            [[[-1, -2, nan], [-3, -4, -5]], None],
        ),
        (
            lambda: arrange(
                [[nan, -1, -2], [-3, -4, -5]], [[0, 1, 1], [1, 1, 1]], [[0, 0, 1], [0, 1, 1]]
            )[0],
            [[nan, -2, nan], [nan, -4, -5]],
        ),
        # Outputs that begin in the first column stay there.
        (
            lambda: arrange(
                [[-1, -2, nan], [-3, -4, -5]], [[0, 1, 1], [1, 1, 1]], [[0, 0, 1], [0, 1, 1]]
            )[0],
            [[nan, -2, nan], [nan, -4, -5]],
        ),
        # Of first tokens nothing may be known.
        (
            lambda: arrange([[-2, nan], [-4, -5]], [[0, 1, 1], [1, 1, 1]])[0],
            [[nan, -2, nan], [nan, -4, -5]],
        ),
        (
            lambda: arrange([[nan, -2], [-4, -5]], [[0, 1, 1], [1, 1, 1]])[0],
            [[nan, -2, nan], [nan, -4, -5]],
        ),
        (
            lambda: arrange(
                [[nan, -1], [nan, -4]],
                [[0, 1], [0, 1]],
                mean=[[nan, 0.5], [nan, 0.25]],
                std=[[nan, 1], [nan, 1]],
            ),
            [[[-1], [-4]], [[0.5], [0.25]]],
        ),
        (
            lambda: (tell_refusal(lambda: arrange([[-1, -2]], [[1, 1]] * 2)) or "")[:48],
            "outputs must have a row for each of 2 texts and ",
        ),
        (
            lambda: (tell_refusal(lambda: arrange([[-1, -2]], [[1, 1, 1, 1]])) or "")[49:74],
            " column for each of their",
        ),
        (
            lambda: (
                tokens.BagOfTokens(array([[0, 2, 2], [3, -1, -1]]))
                .encode(array([[2, 2, 9], [3, -1, -1], [0, 1, 5]]))
                .toarray()
            ),
            [[0, 2, 0, 3], [0, 0, 1, 1], [1, 0, 0, 3]],
        ),
        (
            lambda: repr(tokens.TokenOutputs([[None, -1, None, -2], [-1, -2, None, None]])),
            "TokenOutputs(2 sequences of up to 4 tokens, 1 inside without a number)",
        ),
        (
            lambda: repr(tokens.TokenOutputs([[-1.0]], [[0.5]], [[1.0]])[0:1]),
            "TokenOutputs(1 sequences of up to 1 tokens, with mean and std)",
        ),
    ],
    splits.draw_rows: [
        (lambda: draw_rows(5), (5, [0, 0], True)),
        (lambda: draw_rows(20), (20, [0, 0], True)),
        (lambda: draw_rows(99), (20, [0, 0], True)),
        (lambda: draw_rows(0), (0, [0, 0], True)),
        # Of small groups more, or all, without a change of the others.
        (lambda: draw_rows(0, 2), (4, [2, 2], True)),
        (lambda: draw_rows(0, 3), (6, [3, 3], True)),
        (lambda: draw_rows(0, 9)[0], 6),
        (lambda: draw_rows(5, 2)[1], [2, 2]),
        (
            lambda: {*splits.draw_rows(20, 5, 0)} <= {*splits.draw_rows(20, 9, 0)},
            True,
        ),
        (lambda: [*splits.draw_rows(20, 5, 0)] == [*splits.draw_rows(20, 5, 1)], False),
        # Records of a unit are drawn together.
        (
            lambda: (
                {*np.bincount(splits.draw_rows(20, 6, 0, units=np.arange(20) // 2) // 2)[:9]}
                <= {0, 2}
            ),
            True,
        ),
    ],
    accountant._say_unreachable: [
        (
            lambda: unreachable(8, "rdp")[:36],
            "Rényi accounting does not show targe",
        ),
        (
            lambda: unreachable(8, "prv"),
            "Neither accountant shows target_epsilon=8 at delta=1e-05 for 1000 steps at a sampling "
            f"rate of 0.01 with a noise multiplier of up to {accountant._MOST_NOISE:g}; allow "
            "more, or train for less.",
        ),
        (lambda: unreachable(1e-9, "prv")[-13:], "; allow more."),
        (lambda: unreachable(1e-9, "rdp")[-38:], '; allow more, or try accountant="prv".'),
        (lambda: "with any noise, as Rényi accounting does" in unreachable(1e-9, "rdp"), True),
    ],
    needs.Needs: [
        (
            lambda: join_needs(),
            [["proba"], ["file", "queries"], ["auto", "loss"], ["x", "y"], ("b", "a", "c"), True],
        ),
        (
            lambda: outputs.tell_columns("proba"),
            " If they are those of the second class, stack 1 - p and p as two columns.",
        ),
        (lambda: outputs.tell_columns("logits")[45:], " 0 and z as two columns."),
        (lambda: pvalues.count_least_rejected(10, 0.01, 0.05), 2),
        (lambda: pvalues.count_least_rejected(10, 0.0101, 0.05), 3),
        (lambda: pvalues.count_least_rejected(10, 0.001, 0.05), 1),
        (lambda: pvalues.count_least_rejected(10, 0.2, 0.05), 40),
    ],
    error_hints._advise_on_unknown: [
        # An encoder counts the columns that it was given, so text tells which one it is.
        (
            lambda: advise_on_unknown("Found unknown categories ['Basel'] in column 0 during"),
            "The model does not know the categories 'Basel' in column 'city'",
        ),
        (
            lambda: advise_on_unknown("Found unknown categories ['Bern'] in column 1 during"),
            "The model does not know the categories 'Bern' in column 1",
        ),
        (
            lambda: advise_on_unknown(
                "category not in the training set for the 2nd column: `Bern`"
            ),
            "The model does not know the categories 'Bern' in column 'job'",
        ),
        (
            lambda: advise_on_unknown(
                "category not in the training set for the 1st column: `cook`"
            ),
            "The model does not know the categories 'cook' in column 'job'",
        ),
        (lambda: advise_on_unknown("unknown category"), "The model does not know the categories"),
        (
            lambda: error_hints._advise_on_categories(LogisticRegression(), "cook", FRAME)[:107],
            "LogisticRegression takes the columns ['city', 'job'] of X for numbers, and they hold "
            "text such as 'cook'. N",
        ),
    ],
    query._split_pipeline: [
        (lambda: query._split_pipeline(EMPTY) == ([], EMPTY), True),
        (lambda: query._split_pipeline(PLAIN) == ([], PLAIN), True),
    ],
    tokens: [
        (lambda: read_token_row([0.5, None]), None),
        (
            lambda: read_token_row([[0.5], [1.0]])[:75],
            "token_log_probas must be a matrix; got [[0.5], [1.0]] for record 3. "
            + tokens._WAY[:7],
        ),
    ],
    trained_modules: [
        (lambda: hold_variable(), {"value": True, "nothing": False, "later": False}),
        (lambda: give_weights(Weights), False),
        (lambda: give_weights(lambda size: ONE_MODULE), True),
        (lambda: give_weights(lambda size, parts=[1, 2]: Weights(2, [*parts, object()])), True),
        (lambda: give_weights(lambda other: Weights(2)), None),
        (lambda: give_weights(Weights, NS()), None),
    ],
    transactions: [
        (lambda: copy_learned(a_=[1], b_=[2]), {"a_": False, "b_": False}),
        (
            lambda: tell_refusal(lambda: copy_learned(lock_=Lock())),
            "Continued cannot be trained further: it works on a copy, so that an interruption "
            "leaves it as it was, and what it has learned cannot be copied (TypeError). Train it "
            "anew by fit on all rows.",
        ),
        (lambda: take_over(Continued(7)), ({"given": None, "a_": 2}, "result")),
        (lambda: take_over(Interrupted(7)), ({"given": 7}, "KeyboardInterrupt")),
    ],
    writers: [
        # What prints goes without a word, what writes with one, and the rest stays.
        (lambda: change_callbacks("EvaluationMonitor", "Own"), (["Own"], [])),
        (
            lambda: change_callbacks(
                "Own", "TrainingCheckPoint", "_LogEvaluationCallback", "Other"
            ),
            (
                ["Own", "Other"],
                [
                    "The callback TrainingCheckPoint, which writes files or logs, is left out of "
                    "the shadow models."
                ],
            ),
        ),
        (lambda: writers._read_parameters(Folder()), {"path": "a"}),
        (lambda: writers._read_parameters(3), {}),
        (lambda: writers._read_parameters(Small(3)), {"value": 3}),
        (lambda: writers._read_parameters(Sampler(4)), {"drawn": 4}),
    ],
    validation: [
        (
            lambda: tell_refusal(
                lambda: validation.check_records(Records(np.zeros((2, 1)), np.zeros((2, 3))))
            )[:64],
            "This takes records with one task label, and y has 3 columns. LiRA, "[:64],
        ),
        (
            lambda: len(
                validation.check_records(Records(np.zeros((2, 1)), np.zeros((2, 3))), targets=True)
            ),
            2,
        ),
        (lambda: len(validation.check_records(Records(np.zeros((2, 1)), [0, 1]))), 2),
        (lambda: len(validation.check_records(Records(np.zeros((2, 1))), labels=False)), 2),
        (
            lambda: tell_refusal(lambda: validation.check_records(Records(np.zeros((2, 1)))))[:33],
            "The records carry no task labels;",
        ),
        (
            lambda: tell_refusal(lambda: validation.check_records(Records(np.zeros((2, 1)))[:0])),
            "Expected at least 1 record; got 0.",
        ),
    ],
    randomness: [
        (lambda: fork_torch({}), "nullcontext"),
        (lambda: fork_torch({"torch": fake_torch(True, True)}), [0, 1]),
        (lambda: fork_torch({"torch": fake_torch(True, False)}), []),
        (lambda: fork_torch({"torch": fake_torch(False, True)}), []),
    ],
    hashing: [
        (lambda: encode("a"), b"text a"),
        (lambda: encode(b"a"), b"bytes a"),
        (lambda: encode("\ud800"), b"text \xed\xa0\x80"),
        (lambda: [encode(one) for one in (26, 26.0, np.int8(26))], [b"number 1a"] * 3),
        (lambda: [encode(one) for one in (True, 1, np.True_)], [b"number 1"] * 3),
        (lambda: [encode(one) for one in (None, nan, pd.NaT, pd.NA)], [b"missing"] * 4),
        (lambda: encode(0.5), b"number 0x1.0000000000000p-1"),
        # What a float of Python does not hold is another number than what it holds.
        (
            lambda: encode(LONG),
            f"long {LONG!r}".encode() if float(LONG) != LONG else b"number 8000000000000000",
        ),
        (lambda: encode((1, 2)) == encode((1, 2)) != encode((1, 3)), True),
        (
            lambda: tell_refusal(lambda: encode(k for k in "a"))[:43],
            "A cell holds a generator, whose content can",
        ),
    ],
    outputs: [
        (
            lambda: join(["b", "a"], ["a", "later"]),
            (["b", "a", "a", "later"], ["a", "b", "later"], "label"),
        ),
        (
            lambda: join([[0.5, 0.5]], [[0.25, 0.75]], kind="proba", classes=[[0, 1]] * 2)[0].shape,
            (2, 2),
        ),
        (
            lambda: tell_refusal(
                lambda: join([[0.5, 0.5]], [[0.5, 0.5]], kind="proba", classes=[[0, 1], [0, 2]])
            )[:45],
            "Answers can be joined when they are of one ki",
        ),
        (
            lambda: tell_refusal(lambda: Outputs(array([1.0]), kind="value").as_labels()),
            "Answers of kind 'value' hold no predicted classes.",
        ),
        (
            lambda: tell_refusal(lambda: Outputs(array([1.0]), kind="log_odds").as_labels()),
            "Answers of kind 'log_odds' hold no predicted classes.",
        ),
        (lambda: Outputs(array(["b"]), ["a", "b"], "label").as_labels().values, ["b"]),
        (
            lambda: (lambda one: (one.values, one.classes, one.kind))(
                Outputs(array(["b"]), ["a", "b"], "label").aligned_to(array(["a", "b", "c"]))
            ),
            (["b"], ["a", "b", "c"], "label"),
        ),
        (
            lambda: Outputs([[0.25, 0.75]], ["a", "c"]).aligned_to(array(["a", "b", "c"])).values,
            [[0.25, 0.0, 0.75]],
        ),
        (
            lambda: tell_refusal(
                lambda: Outputs([[0.25, 0.75]], ["a", "c"]).aligned_to(array(["a"]))
            ),
            "The model knows the class 'c', which is none of ['a'].",
        ),
        (lambda: Outputs(array([2.5]), kind="log_odds")._get_log_odds(1), [2.5]),
        (
            lambda: tell_refusal(lambda: Outputs(array([2.5]), kind="log_odds")._get_log_odds(2)),
            "Log odds cannot be converted to another temperature without the class probabilities; "
            "got temperature=2.",
        ),
    ],
    accountant: [
        (lambda: ask_prv([(1.0, 0.1, 10**6)]), (7.0, "prv", 1e-5, 0.01)),
        (lambda: ask_prv([(1.0, 0.1, 10**6), (1.0, 0.1, 1)]), np.inf),
        *(
            (lambda error=error: ask_prv([(1.0, 0.1, 1)], error), np.inf)
            for error in (MemoryError(), RuntimeError(), ValueError())
        ),
        (lambda: tell_refusal(lambda: ask_prv([(1.0, 0.1, 1)], TypeError("a"))), "a"),
        # What has an epsilon alone is added to the exact one of a release, as often as it is made.
        (
            lambda: (
                accountant.total_epsilon([], [(5.0, 1)], [(0.5, 2)], 1e-5, "rdp")
                - accountant.total_epsilon([], [(5.0, 1)], [], 1e-5, "rdp")
            ),
            1.0,
        ),
        # With so many releases the distance of the laws takes all of delta.
        (
            lambda: (
                accountant.total_epsilon([], [(1e9, 10**12)], [], 1e-12, "prv")
                == accountant.spent_epsilon([(1e9, 1, 10**12)], 1e-12, "rdp", [])
            ),
            True,
        ),
    ],
    files: [
        (
            lambda: write_to(OSError(28, "No space left", "folder/name.half")),
            ("OSError", "[Errno 28] No space left: 'folder/name'", "folder/name"),
        ),
        (lambda: write_to(OSError("full")), ("OSError", "full", None)),
        (
            lambda: write_to(PermissionError(13, "Permission denied", "folder/name.half"))[:2],
            ("PermissionError", "[Errno 13] Permission denied: 'folder/name'"),
        ),
    ],
    optional: [
        (
            lambda: import_optional(ModuleNotFoundError("no", name="torch.nn")),
            ("ImportError", 'torch is not installed; pip install "skmia[torch]" brings it.'),
        ),
        # What a package lacks itself is another fault.
        (
            lambda: import_optional(ModuleNotFoundError("no", name="other.part")),
            ("ModuleNotFoundError", "no"),
        ),
        (lambda: import_optional(ModuleNotFoundError("no")), ("ModuleNotFoundError", "no")),
    ],
    splits: [
        (lambda: count_memory(lambda name: {"SC_PHYS_PAGES": 3, "SC_PAGE_SIZE": 5}[name]), 15),
        *(
            (lambda error=error: count_memory(error), np.inf)
            for error in (AttributeError, OSError, ValueError)
        ),
    ],
    guesses: [
        (lambda: guesses._list_known_names("no folder"), []),
        (lambda: find_cure("Outputs", (), places={"Outputs": "skmia.x"}), "it is skmia.x.Outputs"),
        (lambda: find_cure("outputs", ["Outputs"]), "did you mean 'Outputs'?"),
        (
            lambda: find_cure("otputs", [], places={"Outputs": "skmia.x"}),
            "did you mean 'skmia.x.Outputs'?",
        ),
        (
            lambda: find_cure("GoldenShadows", ["ShadowPool"], places={"ShadowsOf": "skmia.x"}),
            "did you mean 'skmia.x.ShadowsOf'?",
        ),
        (lambda: find_cure("zqx", ["Outputs"], places={"Records": "skmia"}), None),
        (
            lambda: pickle.loads(pickle.dumps(guesses.MissingName("no a", lambda: "it is b"))).args,
            ("no a: it is b",),
        ),
        (lambda: str(guesses.MissingName("no a", lambda: None)), "no a"),
        # Constructors of others are not changed.
        (lambda: guesses.name_keywords_of_class(NoInit), None),
        (lambda: vars(NoInit).get("__init__"), None),
    ],
    curves: [
        (lambda: draw_curves({"from": 1.5})["lines"], []),
        (
            lambda: draw_curves({}, {"from": 2.0}, {"name": "RMIA", "from": 0.1, "dashed": True})[
                "lines"
            ],
            [
                {
                    "name": "LiRA",
                    "level": "clear",
                    "dashed": False,
                    "points": "154.7,93.3 265.3,24 376,24 376,24",
                    "band": "154.7,24 265.3,24 376,24 376,24 376,24 376,24 265.3,93.3 154.7,162.7",
                    "point": None,
                    "label": [145.7, 97.3, "end"],
                },
                {
                    "name": "RMIA",
                    "level": "clear",
                    "dashed": True,
                    "points": "265.3,24 376,24 376,24",
                    "band": "265.3,24 376,24 376,24 376,24 376,24 265.3,93.3",
                    "point": None,
                    "label": [256.3, 28.0, "end"],
                },
            ],
        ),
        (
            lambda: [
                draw_curves({"at": (0.1, 0.1)}, point=0.1)[name] for name in ("mark", "guessing")
            ],
            [265.3, [274.1, 104.1]],
        ),
        (lambda: draw_curves({"at": (0.1, 0.1)})["lines"][0]["point"], (265.3, 93.3)),
        (lambda: draw_curves({})["mark"], None),
        (
            lambda: draw_curves({})["ticks"],
            [("0.1%", 44, 232), ("1%", 154.7, 162.7), ("10%", 265.3, 93.3), ("100%", 376, 24)],
        ),
        # Of a hundred points at most 48 are drawn, with the last one.
        (
            lambda: len(
                draw_curves({name: [0.5] * 100 for name in ("fpr", "tpr", "low", "high")})["lines"][
                    0
                ]["points"].split()
            ),
            35,
        ),
        # Guessing is named where no curve is, and if all places are taken in the last one.
        (lambda: curves._place_guessing([[274.1, 104.1]]), [163.4, 173.4]),
        (lambda: curves._place_guessing([[344.1, 104.1]]), [163.4, 173.4]),
        (lambda: curves._place_guessing([[344.2, 104.1]]), [274.1, 104.1]),
        (lambda: curves._place_guessing([[274.1, 119.1]]), [163.4, 173.4]),
        (lambda: curves._place_guessing([[274.1, 119.2]]), [274.1, 104.1]),
        (lambda: curves._place_guessing([[274.1, 104.1], [163.4, 173.4]]), [163.4, 173.4]),
    ],
    error_hints: [
        (
            lambda: say_types(
                "DataFrame.dtypes for data must be int. Invalid columns:a: object, b: str, "
                "c: datetime64[ns], d: str"
            ),
            "LogisticRegression takes numbers and categories, and these columns of X hold text or "
            "dates: a, b, c. Give them the type that they had when the model was trained, or leave "
            "them out.",
        ),
        (
            lambda: say_types("pandas dtypes must be int. Fields with bad pandas dtypes: a: str")[
                61:91
            ],
            "lumns of X hold text or dates:",
        ),
        (lambda: say_types("no advice"), None),
        (lambda: error_hints._is_low(raise_from(lambda: np.vander([[1]]))), True),
        (lambda: error_hints._is_low(ValueError("about the records")), False),
        (lambda: error_hints._is_low(ValueError("could not convert it")), True),
        (lambda: error_hints._is_low(RuntimeError("shapes")), True),
        (lambda: error_hints._is_low(RuntimeError("out of memory")), False),
        (lambda: error_hints._is_low(KeyError("a")), True),
        (lambda: error_hints._text_columns(np.zeros((2, 2))), []),
        (lambda: error_hints._text_columns(array(["a"], dtype=object)), []),
        (
            lambda: error_hints._text_columns(array([["a", 1]], dtype=object)),
            [(0, ["a"]), (1, [1])],
        ),
        (lambda: error_hints._text_columns([["a", 1]]), []),
        (
            lambda: error_hints._text_columns(pd.DataFrame({"n": [1], "w": ["a"]})),
            [("n", [1]), ("w", ["a"])],
        ),
    ],
    copies: [
        # What cannot be copied by its parameters fails as it does for scikit-learn.
        (lambda: type(raise_from(lambda: copies.copy_parameters(3))).__name__, "TypeError"),
        (
            lambda: type(raise_from(lambda: copies.copy_parameters(LogisticRegression))).__name__,
            "TypeError",
        ),
        (lambda: copies._describe(Opaque()), None),
        (lambda: copies._describe(LogisticRegression(C=2)) is None, False),
        (lambda: copies._keep_settings(None, [1, 2], None), [1, 2]),
        (
            lambda: tell_refusal(lambda: copies._copy_whole(NS(), "a"))[:66],
            "SimpleNamespace cannot be trained again: its constructor does not ",
        ),
    ],
    matrix_checks: [
        (lambda: matrix_checks.check_class_column([1, 2], "y"), [1, 2]),
        (
            lambda: tell_refusal(lambda: matrix_checks.check_class_column([[1], [2, 3]], "y")),
            "y must hold one class for each row; got [[1], [2, 3]].",
        ),
        (
            lambda: tell_refusal(lambda: matrix_checks.check_class_column(3, "y"))[:43],
            "y should be a 1d array, got an array of sha",
        ),
        (lambda: matrix_checks._get_foreign([[1, 2], [3]]), (None, [1, 2])),
        (lambda: matrix_checks._get_foreign([np.zeros((2, 2)), np.zeros((2, 3))]), None),
        (lambda: matrix_checks._get_foreign(np.zeros((1, 1, 1))), None),
        (lambda: matrix_checks._get_foreign([[1, 2], [3, "a"]]), (1, "a")),
        (lambda: matrix_checks._get_foreign([1, "a"]), (None, "a")),
        (lambda: matrix_checks._get_foreign([[1, None], [1j, 2]]), None),
        (lambda: matrix_checks._get_foreign(pd.DataFrame({"a": [1], "b": [[1]]})), ("b", [1])),
    ],
    brief: [
        (lambda: brief._show_field(np.zeros((3, 2))), "<ndarray of shape (3, 2)>"),
        (lambda: brief._show_field(np.float64(0.5)), "np.float64(0.5)"),
        (lambda: brief._show_field([1, 2, 3]), "[1, 2, 3]"),
        (lambda: brief._show_field((1, 2, 3, 4)), "<tuple of 4>"),
        (lambda: brief._show_field({"a": [1]}), "<dict of 1>"),
        (lambda: brief._show_field(Small(1)), "<Small>"),
        (lambda: brief._show_field("a\nb"), "'a\\nb'"),
        (lambda: len(brief._show_field("a" * 100)), 60),
        (lambda: brief._is_large_value(["a" * 60]), False),
        (lambda: brief._is_large_value(["a", "a" * 61]), True),
        (lambda: brief._is_large_value({"a": 1, "b": None}), False),
        (lambda: brief._is_large_value({"a": 1, "b": [1]}), True),
        (lambda: brief._read_outcome({"status": "a", "text": "b"}), ("a", "b")),
        (lambda: brief._read_outcome(NS(status="a", text="b")), ("a", "b")),
    ],
    drawing: [
        (
            lambda: drawing.attack_scores(
                NS(decision_function=lambda X: X, predict_proba=None), array([2.0])
            ),
            ([2.0], 0.0, [True]),
        ),
        (
            lambda: drawing.attack_scores(NS(predict_proba=lambda X: X), matrix),
            ([2, 4, 6], np.nextafter(0.5, 1), [True] * 3),
        ),
    ],
    foreign_words: [
        (lambda: foreign_words.name_package(raise_from(lambda: np.zeros(2).reshape(3))), "tests"),
        (lambda: foreign_words.name_package(raise_from(lambda: np.linalg.inv(1))), "numpy"),
        (lambda: foreign_words.name_package(raise_from(lambda: Records(matrix, [1]))), "skmia"),
        (lambda: foreign_words.name_package(raise_from(raise_nameless)), ""),
    ],
    groups: [
        (lambda: take_column("u"), [1, 4]),
        (lambda: tell_refusal(lambda: take_column("v")), "X has 2 columns 'v'; give one."),
        (lambda: take_column(1, X=matrix), [2, 4, 6]),
        (lambda: take_column(0, X=matrix), [1, 3, 5]),
        *(
            (
                lambda group=group: tell_refusal(lambda: take_column(group, X=matrix)),
                f"group={group!r} is not a field of the records, nor a column of X: the fields are "
                "a, b, the columns 0 to 1. Name one of them, or give the group of each record.",
            )
            for group in (2, -1, "u")
        ),
        (
            lambda: tell_refusal(lambda: take_column("w", fields=())),
            "group='w' is not a field of the records, nor a column of X: the fields are none, the "
            "columns u, v, v. Name one of them, or give the group of each record.",
        ),
        (
            lambda: tell_refusal(lambda: take_column(0, X=np.zeros((2, 3, 4))))[-75:],
            "a, b, the columns none. Name one of them, or give the group of each record.",
        ),
    ],
    probabilities: [
        (
            lambda: (
                tell_refusal(lambda: probabilities.round_into_bounds(array([[0.0, 100.0]]))) or ""
            )[-24:],
            ". Divide percent by 100."[-24:],
        ),
        (
            lambda: tell_refusal(lambda: probabilities.round_into_bounds(array([[0.0, 100.5]]))),
            "The model's probabilities must lie in [0, 1]; got values from 0 to 100.5.",
        ),
        (lambda: probabilities.check_sums(array([[0.5, 0.5], [0.25, 0.75]]), "p"), None),
        (
            lambda: tell_refusal(
                lambda: probabilities.check_sums(array([[0.5, 0.375], [1.0, 0.75]]), "p")
            ),
            "p must sum to 1 along the last axis; got a sum of 1.75.",
        ),
        (
            lambda: tell_refusal(lambda: probabilities.check_sums(array([0.5, 0.25]), "p")),
            "p must sum to 1 along the last axis; got a sum of 0.75.",
        ),
    ],
    query: [
        (lambda: query.log_label_scores(logits), [[np.log(0.25), np.log(0.75)], [0.0, least]]),
        (
            lambda: query.log_label_scores(Outputs(array([[0.25, 0.75], [1.0, 0.0]]), [0, 1])),
            [[np.log(0.25), np.log(0.75)], [0.0, least]],
        ),
        # Half of a resolution of .5 is added to each: (.5, 1) and (1.25, .25) of 1.5.
        (
            lambda: query.log_label_scores(Outputs(array([[0.25, 0.75], [1.0, 0.0]]), [0, 1]), 0.5),
            [[np.log(1 / 3), np.log(2 / 3)], [np.log(5 / 6), np.log(1 / 6)]],
        ),
        (
            lambda: query.log_label_scores(Outputs(array(["b", "a"]), ["a", "b"], "label"), 0.5),
            [[np.log(1 / 6), np.log(5 / 6)], [np.log(5 / 6), np.log(1 / 6)]],
        ),
        (lambda: draw(Sampler(matrix)), matrix),
        (lambda: draw(Sampler((matrix, [0, 1, 1]))), matrix),
        (lambda: draw(Sampler(NS(X=matrix))), matrix),
        (lambda: draw(SeededSampler(None)), np.iinfo(np.int32).max),
        (
            lambda: tell_refusal(lambda: query.check_generator(LogisticRegression())),
            "The victim must be a fitted generator with a sample method; got LogisticRegression.",
        ),
    ],
    records: [
        # Several targets are neither features, nor one column, nor indicators of one class each.
        (lambda: records._are_targets(matrix, array([[1, 2, 1], [3, 4, 0], [5, 6, 0]])), True),
        (lambda: records._are_targets(matrix, array([[1, 0, 0], [0, 0, 1], [0, 1, 0]])), False),
        (lambda: records._are_targets(matrix, array([[1, 0, 0], [0, 0, 1], [1, 1, 0]])), True),
        (lambda: records._are_targets(matrix, array([[2, 0, -1], [0, 0, 1], [0, 1, 0]])), True),
        (lambda: records._are_targets(matrix, matrix + 1), False),
        (lambda: records._are_targets(matrix, array([[1, 2, 3], [4, 5, 6]])), False),
        (lambda: records._are_targets(matrix, array([1, 2, 3])), False),
        (lambda: records._are_targets([1, 2, 3], array([[1, 2], [3, 4], [5, 6]])), False),
        (lambda: Records.from_ids(["b", "a"]).y, [0, 0]),
        (lambda: Records.from_ids(["b", "a"], [3, 4]).y, [3, 4]),
        (lambda: Records.from_ids(["b", "a"]).has_features, False),
        (
            lambda: tell_refusal(lambda: Records.from_ids([7, 8, 9, 8, 7])),
            "ids must be all different; 8 occurs more than once.",
        ),
        (
            lambda: tell_refusal(lambda: records.as_ids(["a", None]))[:24],
            "ids must hold one identi",
        ),
        (
            lambda: (
                Records(matrix, array([0, 1, 1]), site=array(["n", "s", "n"]))
                ._repr_html_()
                .partition("Records")[2]
                .splitlines()
            ),
            [
                ": 3",
                "  X     ndarray(3, 2), int64",
                "  y     int64, 2 different: 0 (1), 1 (2)",
                "  site  &lt;U1, 2 different: n (2), s (1)</pre>",
            ],
        ),
    ],
    searches: [
        (lambda: searches.mark_scored({"a": [0.5, 1.0], "b": [0.0, -1.0]}), [True, True]),
        (
            lambda: mark(a=[0.5, nan, 0.25], b=[0.5, 1.0, 0.25]),
            (
                [True, False, True],
                "1 of 3 candidates of the search, first number 1, have no a, because a fit or a "
                "scorer failed in one of the folds, and are left out. Give the search "
                "error_score='raise' to see the reason.",
            ),
        ),
        (
            lambda: mark(a=[nan, 0.5, 0.25], b=[0.5, 1.0, nan])[1][:66],
            "2 of 3 candidates of the search, first number 0, have no a and no ",
        ),
        (
            lambda: tell_refusal(lambda: searches.mark_scored({"a": [nan, 1.0], "b": [1.0, nan]}))[
                :53
            ],
            "All 2 candidates of the search have no a and no b, be",
        ),
    ],
    skorch_nets: [
        (lambda: describe_fault([[0.25, 0.75], [0.5, 0.5]]), None),
        (lambda: describe_fault([[0.25, nan], [5.0, 0.5]]), None),
        (lambda: describe_fault(np.zeros((0, 2))), None),
        (lambda: describe_fault([0.25, 0.75]), "an array of shape (2,), not one column per class"),
        (lambda: describe_fault([[-0.5, 0.75], [0.5, 0.5]]), "they lie between -0.5 and 0.75"),
        (lambda: describe_fault([[0.5, 1.5], [0.5, 0.5]], None), "they lie between 0.5 and 1.5"),
        (
            lambda: describe_fault([[0.25, 0.5], [0.5, 0.5]]),
            "the probabilities of a record sum to between 0.75 and 1",
        ),
        (lambda: describe_fault([[0.25, 0.5], [0.5, 0.5]], None), None),
        (lambda: "let the module return probabilities" in why_not("NLLLoss"), True),
        (lambda: "but not for MyLoss. Set the net's" in why_not("MyLoss"), True),
    ],
    targets: [
        (lambda: targets._is_foreign_part(LogisticRegression()), False),
        (lambda: targets._is_foreign_part(NS()), False),
        (lambda: targets._is_foreign_part(LogisticRegression), False),
        (lambda: targets._is_foreign_part(type("A", (), {"fit": 1})()), True),
        (lambda: targets._is_foreign_part(type("A", (), {"fit": 1})), False),
        (
            lambda: targets._map_nested(lambda x: -x, (1, {"a": [2]}, 3)),
            (-1, {"a": (-2,)}, -3),
        ),
        (
            lambda: [tuple(one)[:2] for one in targets._list_forms(array([0.0, 1.0]), False)],
            [(False, None), (True, None), (False, "float32"), (True, "float32")]
            + [(False, "int64"), (True, "int64")],
        ),
        (
            lambda: [tuple(one)[:2] for one in targets._list_forms(array([0.5, 1.0]), True)],
            [(True, None), (False, None), (True, "float32"), (False, "float32")],
        ),
        # From 2 ** 24 on, whole numbers are not all numbers of single precision.
        (lambda: len(targets._list_forms(array([0, 2**24 - 1]), True)), 4),
        (lambda: len(targets._list_forms(array([0, 2**24]), True)), 2),
        (lambda: len(targets._list_forms(array(["a", "b"]), True)), 2),
        (lambda: targets._pick_different_labels(array([1, 1, 0, 1]))[:2], [2, 0]),
    ],
    text: [
        (
            lambda: text.wrap("a-" + "b" * 60 + " " + "c" * 40, "  ").splitlines(),
            ["  a-" + "b" * 60, "    " + "c" * 40],
        ),
    ],
}


@pytest.mark.parametrize("module", ANSWERS, ids=lambda module: module.__name__)
def test_answers_by_hand(module):
    expect_answers(ANSWERS[module])


@pytest.mark.parametrize(
    "pair",
    [
        lambda: log_student([4, 4, 4]),
        lambda: log_student([4, 2, 7]),
        lambda: log_student([2, 7, 2], strength=8.5),
        lambda: joint_ratio(0.0),
        lambda: joint_ratio(0.5),
        lambda: limit_rates(2, 10),
        lambda: limit_rates(0, 7),
        lambda: limit_rates(7, 7, 0.25),
        lambda: limit_rates(90, 100),
    ],
)
def test_numbers_are_those_of_another_formula(pair):
    found, expected = pair()
    for one, other in zip(found, expected, strict=True):
        assert one == pytest.approx(other, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("size", [2, 8])
def test_each_unit_is_in_half_of_the_models_and_each_model_has_half_of_each_stratum(size):
    # Seven units, of which the second has three records, in strata of four and three.
    units = array([0, 1, 1, 1, 2, 3, 4, 5, 6])
    strata = array([0, 0, 0, 0, 0, 0, 1, 1, 1])
    inside = splits.draw_block(units, strata, size, np.random.default_rng(0))
    assert inside.shape == (size, 9)
    assert (inside.sum(axis=0) == size // 2).all()
    assert (inside[:, 1] == inside[:, 2]).all() and (inside[:, 1] == inside[:, 3]).all()
    first = inside[:, [0, 1, 4, 5, 6, 7, 8]]
    assert (first[:, :4].sum(axis=1) == 2).all()
    assert np.isin(first[:, 4:].sum(axis=1), [1, 2]).all()
    assert np.isin(first.sum(axis=1), [3, 4]).all()
    assert len(np.unique(inside, axis=0)) > 1


def test_lines_take_the_color_that_the_fewest_have_and_other_dashes():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    ax = figure.subplots()
    styles = []
    for _ in range(len(drawing.COLORS) + 1):
        styles.append(drawing.next_style(ax))
        ax.plot([0, 1], [0, 1], **styles[-1])
        ax.plot([0, 1], [0, 1], color="gray")  # with which curves are compared
    assert [one["color"] for one in styles] == [*drawing.COLORS, drawing.COLORS[0]]
    n_dashes = len(drawing.LINE_STYLES)
    for k, style in enumerate(styles):
        turn = k // len(drawing.COLORS)
        assert style["linestyle"] == drawing.LINE_STYLES[(k + turn) % n_dashes]


def test_a_legend_names_each_meaning_once_and_the_last_ones_last():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    ax = figure.subplots()
    drawing.add_legend(ax)
    assert ax.get_legend() is None
    for name in ("chance", "LiRA", "LiRA", "RMIA"):
        ax.plot([0, 1], [0, 1], label=name)
    drawing.add_legend(ax, last=("chance",))
    legend = ax.get_legend()
    assert [one.get_text() for one in legend.get_texts()] == ["LiRA", "RMIA", "chance"]
    assert legend.get_texts()[0].get_fontsize() == 10 * 0.833  # small, of a wide figure
    drawing.thin_frame(ax, grid="y")
    sides = {name: spine.get_visible() for name, spine in ax.spines.items()}
    assert sides == {"left": True, "bottom": True, "top": False, "right": False}
    assert not ax.xaxis.get_gridlines()[0].get_visible()
    assert ax.yaxis.get_gridlines()[0].get_visible()


class RowsOfNumbers(filed_array.RowSource):
    """Rows 0 and 1 of four columns with two numbers each, which count on."""

    def __init__(self):
        self.values = np.arange(16.0).reshape(2, 4, 2)
        self.n_columns, self.tail, self.dtype = 4, (2,), np.dtype(float)

    def read(self, number, start, stop):
        return self.values[number, start:stop]


def test_neighboring_columns_stay_in_files_until_they_are_read():
    rows = RowsOfNumbers()
    whole = filed_array.FiledArray(rows, array([1, 0]))
    assert (whole.shape, whole.nbytes) == ((2, 4, 2), 128)
    np.testing.assert_array_equal(np.asarray(whole), rows.values[::-1])
    np.testing.assert_array_equal(np.asarray(whole.span(1, 3)), rows.values[::-1, 1:3])
    np.testing.assert_array_equal(np.asarray(whole.span(1, 4).span(1, 2)), rows.values[::-1, 2:3])
    assert np.asarray(whole, dtype=np.float32).dtype == np.float32
    assert whole.__array__(copy=True).shape == (2, 4, 2)
    with pytest.raises(ValueError, match="reading it makes a copy"):
        whole.__array__(copy=False)


def make_net(criterion):
    torch, skorch = pytest.importorskip("torch"), pytest.importorskip("skorch")

    class Line(torch.nn.Linear):
        def __init__(self):
            super().__init__(2, 1)

    net = skorch.NeuralNet(Line, criterion=criterion, train_split=None, verbose=0)
    return torch, net.initialize()


def make_criterion(measure):
    """Return a criterion that measures flat outputs and labels."""
    torch = pytest.importorskip("torch")

    class Criterion(torch.nn.Module):
        def forward(self, outputs, y):
            return measure(outputs, y)

    return Criterion


@pytest.mark.parametrize(
    ("measure", "form"),
    [
        (lambda outputs, y: ((outputs[:, 0] - y) ** 2).mean(), "separate"),
        (lambda outputs, y: ((outputs[:, 0] - y) ** 2).sum(), "separate"),
        (lambda outputs, y: (outputs[:, 0] - y).mean() ** 2, "joint"),
        (lambda outputs, y: ((outputs - y) ** 2).mean(), "joint"),
        (lambda outputs, y: outputs.mean() + "a", "refused"),
    ],
    ids=["mean", "sum", "of all", "all with all", "error"],
)
def test_how_a_loss_takes_the_labels_is_seen_from_single_records(measure, form):
    torch, net = make_net(make_criterion(measure))
    X = array([[1.0, 0.0], [0.0, 2.0], [3.0, 1.0]], dtype=np.float32)
    y = array([1.0, -2.0, 4.0], dtype=np.float32)
    outputs = torch.tensor([[0.5], [1.0], [-1.0]])
    assert targets._judge_form(net, X, y, outputs) == form


def test_a_loss_that_warns_of_other_sizes_compares_all_with_all():
    torch, net = make_net(pytest.importorskip("torch").nn.MSELoss)
    X = array([[1.0, 0.0], [0.0, 2.0], [3.0, 1.0]], dtype=np.float32)
    y = array([1.0, -2.0, 4.0], dtype=np.float32)
    outputs = torch.tensor([[0.5], [1.0], [-1.0]])
    assert targets._judge_form(net, X, y, outputs) == "broadcast"
    assert targets._judge_form(net, X, y[:, None], outputs) == "separate"
