"""Laws, stacks and sizes of attacks, each with its few decisions, with answers by hand."""

import warnings
from types import SimpleNamespace as NS

import numpy as np
import pandas as pd
import pytest
from by_hand import expect_answers, tell_refusal
from numpy import array
from scipy import sparse
from scipy.stats import norm, t
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from skmia import Outputs, Records
from skmia._core.moments import compute_sides
from skmia.attacks import (
    RMIA,
    AttributeInferenceAttack,
    SplitThresholdAttack,
    StationarityAttack,
    _attack_people,
    _attribute,
    _calibrated,
    _file_attack,
    _lira,
    _quantile,
    _released_model,
    _rmia,
    _shadow,
    _split_threshold,
    _stack_models,
    _stacked,
    _stored_values,
    _transferred_query,
    _vulnerable_records,
    diversity,
    equal_rates,
    ranges,
    recovered,
    white_box,
)
from skmia.signals import Correctness, Loss, ScaledLogit

LOG = np.log
TARGET, OUTSIDE = array([[5.0], [2.0]]), NS(mean=array([[3.0], [6.0]]))


def choose_law(estimator, signal):
    answers = NS(
        locate_signal=lambda reads: NS(signal=signal, place=1),
        estimator=estimator,
        resolution=array([0.5, 0.25]),
    )
    law = _lira.choose_law(answers, None, "shrinks")
    return type(law).__name__, getattr(law, "n_voters", None)


SIX = np.arange(6).reshape(1, 3, 2)
OWN = NS(_count_others=lambda sides, query: (array([[2.0, 3.0]]), array([4.0, 6.0])), n_voters=5)
SIDES = [
    NS(mean=array([[0.5, 0.25]]), count=array([2, 4])),
    NS(mean=array([[0.75, 0.1]]), count=array([5, 3])),
]
NOISES = NS(_spread=lambda trend, place: array(trend) + place, _unit=lambda mean: mean * (1 - mean))


def compare_normal(online, variance="pooled"):
    law = NS(online=online, variances=(array([4.0]), array([0.25])), variance=variance)
    law._estimate_variance = lambda moments, pooled: np.broadcast_to(pooled, moments.mean.shape)
    law._log_density = lambda *given: _lira.PrintedLaws._log_density(law, *given)
    into, out = (NS(mean=array([[k]]), count=array([[6]])) for k in (1.0, 2.0))
    return float(_lira.PrintedLaws._compare(law, array([[3.0]]), into, out)[0])


def leave_each(partners):
    """Return who leaves together, and the model that is said to leave."""
    values, inside = np.arange(8.0)[None, :, None] ** 2, (np.arange(8) % 2 == 0)[:, None]
    law, asked = NS(partners=array(partners)), []
    models = array([0, 1, 4, 5])
    left = _lira.TrendLaws._leave_each(
        law, values, inside, models, array(partners)[models][:, None]
    )
    for group, _ in left:
        asked.append(group.tolist())
    return asked


def refuse_pool(n_models, rate):
    return (tell_refusal(lambda: _stacked.check_pool_size(n_models, rate)) or "")[:26]


def ask_once(victim, augment):
    records = Records(array([[0.0], [5.0]]), [0, 1])
    found = _stacked.ask_once(NS(augment=augment), victim, records)
    return found[0] is victim, found[1] is records, "outputs" in found[1].fields


MODEL = LogisticRegression().fit([[0.0], [5.0]], [0, 1])
TABLE = Records(np.arange(12.0).reshape(4, 3), [0, 1, 1, 1])
SPARSE = Records(sparse.csr_array(array([[1, 0], [1, 2], [1, 0], [0, 0]])), [0, 1, 1, 1])
PLAIN = 0.1 + 8e-5 * 4


def find_near(around):
    comparison = NS(around=around)
    reader = NS(_comparison=comparison, answers=NS(locate=lambda records: array([9, 4, 7])))
    return _stacked.StackReader.find_near(reader, array([4, 5, 9]), "records", (2,))


def fold(number, n_folds=2):
    return NS(group="g", number=number, n_folds=n_folds)


def evidence(path, number=None, kept=1.0):
    return NS(path=path, fold=None if number is None else fold(number), kept=kept, share=1.0)


RATIOS = {"a": array([1.0, 0.0]), "b": array([0.0, 3.0]), "c": array([2.0, -1.0])}


def expect_auc(aucs, shares=(1, 1), names=("x", None)):
    """Expect an AUC of parts, of which those of the ledger count."""
    attack = NS(
        ledger_={"part": names},
        parts_={name: NS(expected_auc_=auc) for name, auc in aucs.items()},
        _score_samples=lambda records: array([0.0, LOG(3)]),
        prior=0.5,
        _inner=[NS(share=share) for share in shares],
    )
    return _released_model.ReleasedModelAttack._expect(attack, None)


# Posteriors 1/2 and 3/4: members 1.25 and others .75, of which pairs in order and half of ties.
AUC = (0.75 * 0.5 + (0.5 * 0.5 + 0.75 * 0.25) / 2) / (1.25 * 0.75)


def compare_rmia(a, online=False):
    law = NS(log_likelihood=lambda values: values)
    ratio = NS(online=online, a=a, law=law)
    return _rmia.ModelLikelihoodRatio._compare(ratio, array([[0.0]]), array([[LOG(0.5)]]))


def list_choices(signal="auto", temperatures=(1.0, 2.0), criterion="auto", rate=0.01, online=False):
    attack = NS(
        online=online,
        criterion=criterion,
        target_fpr=rate,
        signal=signal,
        pool_=NS(temperatures_=temperatures),
    )
    return [*RMIA._list_choices(attack)]


def get_without(fold, other, members, kept=None):
    """Return which model is used without two folds, and on which rows it was fitted."""
    rows = NS(folds=array([0, 0, 1, 1, 2, 2]), is_member=array(members))
    stacks = NS(
        _rows=rows,
        _fitted={fold: {_stack_models.LINEAR: f"without {fold}"}},
        _pairs={} if kept is None else kept,
        _fit=lambda kinds, rest: {kinds[0]: rest.tolist()},
    )
    return _stack_models.StackCandidates._get_without(stacks, fold, other), stacks._pairs


def learn_rates(n_models, members=0):
    """Learn of five records that so many models do not have, and a further one has some of."""
    scores = np.random.default_rng(0).normal(size=(n_models, 5))
    is_in = np.zeros(scores.shape, dtype=bool)
    is_in[0, :members] = True
    scores[is_in] += 9
    blocks = [(slice(0, 5), scores, ~is_in, is_in)]
    attack = NS(_list_blocks=lambda records: blocks, target_fpr=None)
    equal_rates.EqualRateAttack._learn(attack, None)
    return attack._offset


def draw_records():
    """Draw two of three records, in their order, whatever this order is."""
    before, equal_rates._MOST_RECORDS = equal_rates._MOST_RECORDS, 2
    try:
        records = Records(np.arange(3.0)[:, None], np.zeros(3))
        drawn, whole = equal_rates._draw_records(records), equal_rates._draw_records(records[:2])
        other = equal_rates._draw_records(records[[2, 1, 0]])
    finally:
        equal_rates._MOST_RECORDS = before
    assert len(whole) == len(other) == 2 and other.X[0] > other.X[1]
    assert sorted(other.X.ravel()) == sorted(drawn.X.ravel())
    return bool(drawn.X[0] < drawn.X[1])


PARTS_INSIDE = [
    NS(path=path, model=path or "whole", value=k) for k, path in enumerate(["", "a", "b"])
]


def look_inside(error=None):
    """Look inside a victim with models at a and b, where the second may fail."""
    fitted = []

    def iterate(*given):
        yield from PARTS_INSIDE[:2]
        if error is not None:
            raise error
        yield PARTS_INSIDE[2]

    attack = NS(victim=None, left_out_={})
    attack._fit_inner = lambda inner, is_first: fitted.append((inner.path, is_first))
    parts = {"iter_inner_models": iterate, "find_model": lambda model: ("whole", None)}
    parts["_starts_region"] = lambda inner, regions: True
    before = {name: getattr(_released_model, name) for name in parts}
    vars(_released_model).update(parts)
    try:
        _released_model.ReleasedModelAttack._look_inside(attack, Records(np.zeros((2, 1)), [0, 1]))
    finally:
        vars(_released_model).update(before)
    return fitted, attack.left_out_


def wrap_inner(path):
    evidence = NS(path=path, spread=lambda inner, n, attack, alone: [float(inner.value), n])
    return _released_model.InnerAttack(NS(offset_=3.0), evidence, None)


def score_inside(path):
    before = _released_model.iter_inner_models
    _released_model.iter_inner_models = lambda victim, X, y, only: PARTS_INSIDE
    try:
        return wrap_inner(path).score_samples(Records(np.zeros((7, 1)), np.zeros(7)))
    finally:
        _released_model.iter_inner_models = before


def share_beaten(values, gamma=1.0, reference=(1.0, 2.0, 2.0 + 1e-13, 5.0)):
    ratio = NS(gamma=gamma, population=None if reference is None else array(reference))
    return _rmia.ModelLikelihoodRatio._finish(ratio, array(values))


def choose_criterion(criterion, target_fpr):
    return RMIA._choose_criterion(NS(criterion=criterion, target_fpr=target_fpr))


def check_population(judged, online=True):
    attack = NS(online=online, population=judged, _can_judge=array)
    return tell_refusal(lambda: RMIA._check_population(attack))


ONE_OF_FOUR, HERE = np.tile([True, False, False, False], 2), np.ones((3, 2))


def learn_stack(kind, *rng):
    """Learn that three quarters of the records above 0 are members, and one in ten below."""
    features = np.repeat([1.0, -1.0], [400, 1000])[:, None]
    is_member = np.concatenate([np.tile([1, 1, 1, 0], 100), np.tile([1] + [0] * 9, 100)]) > 0
    found = kind(features, is_member, *rng).log_odds(array([[1.0], [-1.0]]))
    even = LOG(400 / 1000)  # log odds of a member
    return np.abs(found - [LOG(3) - even, -LOG(9) - even]) < 0.05


def sum_weights():
    """Sum the weights of four explanations of two thresholds, with two and three values each."""
    group = NS(
        lower=array([0, 0, 3, 2]),
        upper=array([1, 0, 4, 4]),
        of_slot=array([0, 0, 1, 1, 1]),
        of_pair=array([0, 0, 1, 1]),
        n_thresholds=2,
    )
    return _split_threshold._sum_weights(group, array([1.0, 2.0, 4.0, 8.0]))


def draw_pairs(max_rows, n_in=3, n_out=4):
    inside = np.repeat([True, False], [n_in, n_out + 3]).reshape(2, -1)
    chosen = np.repeat([True, False], [n_in + n_out, 3]).reshape(2, -1)
    rows = _shadow._draw_pairs(inside, chosen, max_rows, np.random.RandomState(0))
    found = np.ravel_multi_index(rows, inside.shape)
    half = len(found) // 2
    return len(found), set(found[:half] < n_in), set((found[half:] >= n_in) & (found[half:] < 7))


def describe_classes(values, labels):
    attack = NS(temperature=1.0, max_iter=5)
    return white_box.FisherRaoAttack._describe(attack, array(values), array(labels), False)


def judge_blocks(counts, scores=(1.0, 2.0, 3.0)):
    is_out = (np.arange(4)[:, None] < array(counts)).astype(bool)
    attack = NS(
        attack_=NS(can_judge=lambda records: array([True, True, False])),
        _list_blocks=lambda records: [(slice(0, 3), None, is_out, None)],
    )
    return equal_rates.EqualRateAttack._can_judge(attack, None)


def choose_models(n):
    return equal_rates.EqualRateAttack._models.fget(NS(pool_=NS(membership_=np.zeros(n))))


def attack_scores(combine, able=(True, True, True), judged=(True, True, True)):
    """Attack two people, the first of whom has two records, beside four models without them."""
    people = _attack_people.NumberedPeople(array([0, 1, 0]))
    of_models = array([[1.0, 2.0, 4.0], [0.0, 1.0, 3.0], [2.0, 5.0, 1.0]])
    attack = NS(
        pool_=NS(membership_=np.zeros((3, 1))),
        can_judge=lambda records: array(judged),
        score_left_out=lambda records, models: [
            (slice(0, 3), of_models, None, np.broadcast_to(able, (3, 3)))
        ],
        score_samples=lambda records: array([3.0, 7.0, -1.0]),
    )
    inside = array([[False, False], [True, False], [False, False]])
    found = _attack_people._attack_scores(attack, [0, 1, 2], people, inside, combine)
    return found[:3]


def can_refuse(*given):
    return (tell_refusal(lambda: attack_scores("sum", *given)) or "")[:33]


class Guesses(AttributeInferenceAttack):
    def predict(self, X):
        return array([1, 2, 3])

    def _read_truth(self, X):
        return array([1, 2, 9])


def score_guesses(y=None, weights=None):
    return Guesses(sensitive=0).score(None, y, weights)


def refuse_weights(weights):
    return (tell_refusal(lambda: score_guesses(None, weights)) or "")[:44]


def leave_out_scores():
    """Compare the moments of what is left of each record's scores with those of numpy."""
    scores = array([[1.0, 5.0], [2.0, 7.0], [6.0, 8.0], [9.0, 1.0]])
    is_out = array([[1, 1], [1, 0], [1, 0], [0, 0]], dtype=bool)
    left = equal_rates._ScoresOutside(scores, is_out)
    count, mean, squares = left.leave_out(scores, is_out)
    rest = scores[[1, 2], 0]
    return [
        left.count.tolist() == [3, 1],
        np.allclose(left.mean, [3.0, 5.0]),
        np.allclose(left.squares, [14.0, 0.0]),
        count.tolist() == [[2, 0], [2, 1], [2, 1], [3, 1]],
        np.allclose([mean[0, 0], mean[3, 0]], [rest.mean(), 3.0]),
        np.allclose([squares[0, 0], squares[3, 0]], [((rest - 4) ** 2).sum(), 14.0]),
        mean[0, 1] == 5.0 and squares[0, 1] == 0.0,
    ]


def rate_offset(law, n_queries):
    sides = [("rows", "one"), ("rows", "other")]
    reader = NS(answers=NS(signals=np.zeros((1, n_queries))), sides=lambda records, change: sides)
    attack = NS(law=law, change=None, priors="priors")
    return _lira.TrendLaws._rate_offset(attack, reader, None, 0.1)


class Bits(_lira.BitLaw):
    def __init__(self):
        pass

    def describe(self, side, priors):
        return side, priors

    def rate_threshold(self, laws, rate):
        return laws, rate


def list_lists(model, texts=("a b", "b c")):
    given = [NS(model=model.fit(list(texts)), view="raw", X=None)]
    before, _stored_values.iter_inner_models = _stored_values.iter_inner_models, lambda *_: given
    try:
        return len([*_stored_values._iter_lists(None, None)])
    finally:
        _stored_values.iter_inner_models = before


def warn_of_length(length, of_others):
    """Warn of a length of coefficients beside those of models of the recipe."""
    lengths = iter([length, *of_others])
    before = recovered._measure_length, recovered._N_LIKE_IT
    recovered._measure_length, recovered._N_LIKE_IT = lambda model: next(lengths), len(of_others)
    records = Records(np.arange(6.0)[:, None], [0, 1] * 3)
    attack = NS(prior=0.9, estimator_=None)
    kind = recovered.RecoveredModelAttack
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            kind._warn_of_other_recipe(attack, Ridge(), records, np.random.RandomState(0))
    finally:
        recovered._measure_length, recovered._N_LIKE_IT = before
    return [str(one.message)[:37] for one in caught]


def read_further_answers():
    """Read the columns of further records of a model that knows its classes as 5 and 7."""
    records = Records(array([[2.0], [4.0]]), array([5, 7]))
    victim = GaussianNB().fit(array([[0.0], [1.0], [3.0], [4.0]]), [5, 5, 7, 7])
    found = NS(read_columns=lambda X, y: np.column_stack([X, y]))
    columns, pulls = recovered._SolvedAnswers._read_further(
        NS(victim=victim, _found=found), records
    )
    return columns.toarray(), pulls


def join_similar(columns):
    """Join means of values at some columns; records are at the columns 7, 2 and 4 of the pool."""
    features = NS(_columns=array([7, 2, 4]), _means=["first"])
    joined = _stacked.SimilarityFeatures.join(
        features, array(columns), array([3.0, 1.0, 9.0]), np.arange(1.0, 9).reshape(1, 2, -1)
    )
    return joined._means


def of_models(n_folds):
    """Average two models over similar records, by the folds of what is asked about."""
    weights = {4: array([[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]])}
    models = 10.0 * np.arange(n_folds)[:, None, None] + array([[[1.0, 3.0], [5.0, 7.0]]])
    features = NS(_means=[(4, array([2.0, 4.0]), models)])
    kind = _stacked.SimilarityFeatures
    return kind.of_victim(features, weights), kind.of_models(features, weights, array([1, 0, 1]))


def fill():
    kept = {3: sparse.csr_array(array([[1.0, 0.0], [0.0, 2.0]]))}
    further = {3: sparse.csr_array(array([[5.0, 6.0], [7.0, 8.0]]))}
    similar = NS(_kept=(array([11, 12]), kept), _weigh=lambda records, numbers: further)
    rows = np.arange(4)
    kind = _stacked.SimilarRecords
    found = kind._fill(similar, rows, (3,), array([1, 0, 0, 1]), array([0, 1, 0, 1], dtype=bool))
    known = kind._fill(similar, rows[:2], (3,), array([1, 0]), np.zeros(2, dtype=bool))
    return found[3].toarray(), known[3].toarray()


def fit_parts(kind, likelihood):
    """Return the names of the parts of a stack, by how votes are compared."""
    before = _stacked.compare_with, _stacked.LogLikelihood, _stacked._show_lira_priors
    _stacked.compare_with = lambda *given: NS(likelihood=likelihood)
    _stacked.LogLikelihood, _stacked._show_lira_priors = (lambda pool: None), (lambda lira: {})
    try:
        return [*_stacked.fit_parts(NS(temperatures_=(1.0, 2.0)), None)][3:5]
    finally:
        _stacked.compare_with, _stacked.LogLikelihood, _stacked._show_lira_priors = before


def find_known(*prints):
    digests = array([[2, 5, 5, 9], [1, 1, 3, 1]], dtype=np.uint64)[:, [0, 1, 3]]
    records = NS(
        fingerprint=array([a for a, _ in prints], dtype=np.uint64),
        digests=array(prints, dtype=np.uint64).T,
    )
    return _file_attack.find_known(digests, records)


def sort_by_content():
    attack = NS(
        _digests=array([[2, 5, 9], [1, 1, 1]], dtype=np.uint64), _groups=array([1, 0, 2, 1])
    )
    digests = array([[9, 2, 5], [1, 1, 1]], dtype=np.uint64)
    records = NS(fingerprint=digests[0], digests=digests)
    kind = _file_attack.CandidatesAttack
    return kind._sort_by_content(attack, records, array([30.0, 10.0, 20.0]))


def records_of_pool(*places):
    attack = NS(pool_=NS(locate=lambda records: array(places)))
    try:
        return _shadow.ShadowAttack._records_of_pool(attack, np.arange(len(places)))
    except ValueError as error:
        return str(error)[:35]


def draw_range(n_samples, fields=(), length=2):
    """Draw points of the ranges of two records."""
    drawn = []

    def sample(records, rng):
        drawn.append(rng.randint(10**6))
        more = {name: np.zeros(length) for name in fields}
        if "outputs" in more:
            more["outputs"] = Outputs(np.full((length, 2), 0.5), [0, 1])
        return Records(np.zeros((length, 1)), np.zeros(length), **more)

    attack = NS(sampler=sample, _seed=0, n_samples=n_samples, attack_="attack")
    records = Records(np.zeros((2, 1)), [0, 1])
    found = [
        (one, sorted(points.fields)) for one, points in ranges.RangeAttack._draw(attack, records)
    ]
    return found, len({*drawn})


def can_judge(*judged):
    attack = NS(
        _draw=lambda records: [(NS(can_judge=lambda p, j=j: array(j)), None) for j in judged]
    )
    return ranges.RangeAttack._can_judge(attack, None)


def score_folds():
    """Score three rows, each by the model that has not seen its fold."""
    models = {k: {"one": NS(log_odds=lambda rows, k=k: rows[:, 0] + 10 * k)} for k in (0, 1)}
    rows = NS(folds=array([1, 0, 1]), features=array([[1.0], [2.0], [3.0]]))
    stacks = NS(_rows=rows, _fitted=models)
    return _stack_models.StackCandidates._score_folds(stacks, "one")


def judge_folds():
    asked = []

    def get_without(reads, judged):
        asked.append((reads, judged))
        return NS(log_odds=lambda rows: rows[:, 0] * (2 + reads + 10 * judged))

    stacks = NS(_scale=lambda rows: rows / 10, _fitted={0: None, 1: None}, _get_without=get_without)
    found = _stack_models.StackCandidates.judge(stacks, array([[1.0], [2.0]]), array([1, 0]))
    return {key: np.arctanh(one) * 2 for key, one in found.items()}, asked


def warn_if_short(way):
    """Warn of two labels of which one has come so far from its start, and the other twice."""
    ways = iter([way, 2 * way])
    before = diversity._count_epochs
    diversity._count_epochs = lambda *given: (1, next(ways))
    attack = NS(learning_rate=0.1, batch_size=2, max_iter=10)
    records = NS(y=array([0, 0, 1, 1, 2]))
    membership = array([True, False, True, False, True])
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            diversity.DiversityAttack._warn_if_short(attack, records, membership)
    finally:
        diversity._count_epochs = before
    return [str(one.message) for one in caught]


def describe_sides():
    attack = NS(_describe=lambda layer, labels, is_last: (layer.tolist(), labels.tolist(), is_last))
    layers = [array([1, 2, 3]), array([4, 5, 6])]
    membership = array([True, False, True])
    kind = white_box.LayerDistanceAttack
    return kind._describe_sides(attack, layers, array([7, 8, 9]), membership)


def compute_ratios():
    attack = NS(_measure=lambda side, layer, is_last: layer * side + is_last)
    layers = [array([0.0, 2.0]), array([3.0, 4.0])]
    return white_box.LayerDistanceAttack._compute_ratios(attack, ((2.0, 5.0), (3.0, 7.0)), layers)


def measure_normals(values):
    description = array([[0.0], [4.0]]), array([2.0]), array([True, False])
    found = white_box.FisherRaoAttack._measure(NS(), description, array(values), False)
    each = [
        white_box.fisher_rao_of_normals((array(values)[:, :1], mean), (array([2.0]), array([2.0])))
        for mean in description[0]
    ]
    return np.allclose(found, np.min(each, axis=0)), not np.allclose(each[0], each[1])


def choose_radius(share, max_neighbors=0):
    """Choose a radius by references at angles of 0, 10, 30 and 90 degrees."""
    angles = np.deg2rad([0.0, 10.0, 30.0, 90.0])
    attack = NS(_references=np.column_stack([np.cos(angles), np.sin(angles)]))
    attack.max_neighbors, attack.share = max_neighbors, share
    return _vulnerable_records.VulnerableRecordsAttack._choose_radius(attack)


def far(degrees):
    return 1 - np.cos(np.deg2rad(degrees))


def is_vulnerable(max_neighbors):
    vectors = np.eye(3)[[0, 0, 1, 2]]
    attack = NS(
        pool_=NS(answers=lambda records: None), _reference_prints=array([5, 7]), radius_=0.5,
        _references=np.eye(3)[[0, 1, 1]], max_neighbors=max_neighbors, fitted_=True,
    )  # fmt: skip
    before = _vulnerable_records._direct, _vulnerable_records.order_features
    _vulnerable_records._direct = lambda answers: vectors
    _vulnerable_records.order_features = lambda attack, records: records
    kind = _vulnerable_records.VulnerableRecordsAttack
    try:
        return kind.is_vulnerable(attack, NS(fingerprint=array([5, 6, 8, 9])))
    finally:
        _vulnerable_records._direct, _vulnerable_records.order_features = before


def measure_confidence():
    """Average over three models, each of which is outside of some of three records."""
    rows = array([[0.2], [0.4], [0.8]])
    models = [NS(by=by) for by in (1.0, 0.5, 0.25)]
    before = _transferred_query.query_aligned, _transferred_query.log_label_scores
    _transferred_query.query_aligned = lambda model, some, classes: NS(
        logs=LOG(np.column_stack([1 - model.by * some[:, 0], model.by * some[:, 0]])),
        label_index=lambda y: y,
    )
    _transferred_query.log_label_scores = lambda outputs: outputs.logs
    outside = array([[1, 0, 1], [1, 0, 0], [0, 0, 0]], dtype=bool)
    try:
        return _transferred_query.measure_confidence(models, outside, rows, array([1, 0, 0]), None)
    finally:
        _transferred_query.query_aligned, _transferred_query.log_label_scores = before


def standardize_rates():
    trend = NS(centers=array([0.0, 10.0]), variances=array([1.0, 21.0]), largest=10.0)
    given = array([7.0, 3.0]), array([5, 0]), array([5.0, 20.0]), array([4.0, 0.0])
    return equal_rates._VarianceTrend.standardize(trend, *given)


def rank(n_records, rate):
    return _quantile.QuantileAttack._compute_rank(NS(target_fpr=rate), n_records)


def standardize_quantile(least):
    predict = lambda by: NS(predict=lambda records: by * records)  # noqa: E731
    scaled = NS(scale=predict(1.0), least_scale=least, location=predict(2.0), threshold=0.5)
    model = next(one for one in vars(_quantile).values() if hasattr(one, "standardize"))
    return model.standardize(scaled, array([1.0, 4.0]), array([5.0, 9.0]))


def make_law(variance, online, kind=None):
    law = (kind or _lira.PrintedLaws)("reads", "offset", variance, online)
    return law.least, law.alternative


STEPS = StationarityAttack._n_usual * (30**3 / 3 / 2e10)

# Of each module: calls and answers. Whatever may be equal differs, and each branch decides once.
ANSWERS = {
    _lira: [
        (lambda: choose_law(KNeighborsClassifier(5), ScaledLogit()), ("OwnVoteLaw", 5)),
        (lambda: choose_law(KNeighborsClassifier(1), ScaledLogit()), ("NormalLaw", None)),
        (lambda: choose_law(KNeighborsClassifier(2), ScaledLogit()), ("OwnVoteLaw", 2)),
        (
            lambda: choose_law(KNeighborsClassifier(5, weights="distance"), ScaledLogit()),
            ("NormalLaw", None),
        ),
        (lambda: choose_law(KNeighborsClassifier(5), Loss()), ("NormalLaw", None)),
        (lambda: choose_law(KNeighborsClassifier(5), Correctness()), ("BitLaw", None)),
        (lambda: choose_law(RandomForestClassifier(7), ScaledLogit()), ("VoteLaw", 7)),
        (lambda: choose_law(BaggingClassifier(n_estimators=3), ScaledLogit()), ("VoteLaw", 3)),
        (lambda: choose_law(LogisticRegression(), ScaledLogit()), ("NormalLaw", None)),
        (
            lambda: _lira.BitLaw.log_ratio(
                None, array([[1.0, 0.0, 0.5]]), [(array([0.25] * 3), array([0.5] * 3))]
            ),
            [[LOG(0.5), LOG(1.5), LOG(1.5)]],
        ),
        (
            lambda: _lira.UnsmoothedLabelLaw(0.5)(array([0.0, LOG(3), 9.0, -9.0])),
            [0.5, 0.875, 1.0, 0.0],
        ),
        (lambda: _lira.UnsmoothedLabelLaw(0.5).likelihood(array([LOG(3), -9.0])), [0.875, 1e-6]),
        (lambda: _lira.OwnVoteLaw._fit_query(OWN, None, 0), 5 / 10),
        (
            lambda: _lira.OwnVoteLaw._describe(OWN, None, 0.25, 0),
            [[5 * (0.93 * 0.5 + 0.07 * 0.25), 5 * (0.93 * 0.5 + 0.07 * 0.25)]],
        ),
        (
            lambda: _lira.OwnVoteLaw._describe(NS(**vars(OWN) | {"n_voters": 0.1}), None, 0.25, 0),
            [[0.05, 0.05]],
        ),
        (
            lambda: _lira.OwnVoteLaw.log_ratio(
                OWN, array([[0.4, 0.0]], dtype=np.float32), array([[4.0, 0.5]])
            ),
            [[LOG(0.5), LOG(0.1)]],
        ),
        (
            lambda: _lira.VoteLaw._noise(NOISES, NS(into=2.0, out=3.0), 1.0, SIDES, 0),
            [3 * 0.25 / 2 + 4 * 0.1875 / 5, 3 * 0.1875 / 4 + 4 * 0.09 / 3],
        ),
        (lambda: compare_normal(False), (3 - 2) / 0.5),
        (lambda: compare_normal(True), norm.logpdf(3, 1, 2) - norm.logpdf(3, 2, 0.5)),
        (
            lambda: compare_normal(True, "conjugate"),
            t.logpdf(3, 9, 1, 2) - t.logpdf(3, 9, 2, 0.5),
        ),
        (lambda: leave_each([-1] * 8), [[0], [1], [4], [5]]),
        (lambda: leave_each([1, 0, 3, 2, 5, 4, 7, 6]), [[0, 1], [4, 5]]),
    ],
    _stacked: [
        (lambda: _stacked.list_scores(["a", "gap", "similar_records", "b"]), {"a": 0, "b": 3}),
        (lambda: refuse_pool(3, None), "StackedAttack learns from "),
        (lambda: refuse_pool(4, None), ""),
        (lambda: refuse_pool(7, 0.01), "target_fpr=0.01 cannot be "),
        (lambda: refuse_pool(8, 0.01), ""),
        (lambda: refuse_pool(NS(n_estimators=3), None), "StackedAttack learns from "),
        (lambda: refuse_pool("few", None), ""),
        (lambda: ask_once(None, None), (True, True, False)),
        (lambda: ask_once(MODEL, None), (False, False, True)),
        (lambda: ask_once(MODEL, "copies"), (True, True, False)),
        # 4 records in classes of 1 and 3, which are 10 pairs; 3 columns, or 9 + 1 common numbers.
        (lambda: (_stacked._expect_seconds(TABLE) - PLAIN) * 1e9, 10 * (7 + 3 * 0.03)),
        (
            lambda: (_stacked._expect_seconds(SPARSE) - PLAIN) * 1e9,
            10 * (7 + (9 + 1) / 16 * 4),
        ),
        (
            lambda: (_stacked._expect_seconds(Records(TABLE.X)) - PLAIN) * 1e9,
            16 * (7 + 3 * 0.03),
        ),
        (
            lambda: _stacked.StackedAttack().expect_cost(TABLE)[:3],
            (
                1920.0,
                PLAIN + 10 * (7e-9 + 3 * 3e-11),
                "similar records of 4 records of 3 columns",
            ),
        ),
        (lambda: find_near(None), None),
        (
            lambda: find_near(NS(weigh=lambda *given: given)),
            ([0, 2], ("records", (2,), array([1, 0]))),
        ),
        (
            lambda: _stacked.LogLikelihood._score_left_out(
                NS(score=lambda *given: given),
                np.arange(6).reshape(1, 3, 2),
                None,
                array([2]),
                None,
            ),
            ([[[4, 5]]], None, None, None),
        ),
    ],
    _released_model: [
        (lambda: "alpha" in _released_model._list_parameters(Ridge()), True),
        (lambda: _released_model._list_parameters(NS(get_params=len)), set()),
        # Models inside, of which the victim itself and its last step are read elsewhere.
        (look_inside, ([("a", True), ("b", True)], {})),
        (
            lambda: look_inside(ValueError("A step\n  refuses.")),
            ([("a", True)], {"models inside": "A step refuses."}),
        ),
        (lambda: look_inside(TypeError("No."))[1], {"models inside": "No."}),
        (lambda: tell_refusal(lambda: look_inside(NotFittedError("Fit it."))), "Fit it."),
        (lambda: tell_refusal(lambda: look_inside(KeyError("other"))), "'other'"),
        (lambda: score_inside("b"), [2.0, 7]),
        (lambda: tell_refusal(lambda: score_inside("c")), "The victim has no model at c."),
        (
            lambda: hasattr(_released_model.InnerAttack.__new__(_released_model.InnerAttack), "x"),
            False,
        ),
        (lambda: hasattr(wrap_inner("b"), "__deepcopy__"), False),
        (lambda: wrap_inner("b").offset_, 3.0),
        (lambda: _released_model._list_readable(make_pipeline(Ridge())), []),
        (lambda: _released_model._list_readable(NS(best_estimator_=1)), []),
        (lambda: _released_model._from_sample(array([0.0, LOG(3)]), 1.0), [0.0, LOG(3)]),
        (lambda: _released_model._from_sample(array([0.0, LOG(3)]), 0.25), [0.0, LOG(1.5)]),
        (
            lambda: [
                [one.path for one in group]
                for group in _released_model._list_groups(
                    [evidence("a", 0), evidence("c"), evidence("b", 1), evidence("d")]
                )
            ],
            [["a", "b"], ["c"], ["d"]],
        ),
        (lambda: _released_model._join_fold_ratios([evidence("c")], RATIOS), [2.0, -1.0]),
        # Left out by one of two: what the other one says, and with the same probability.
        (
            lambda: _released_model._join_fold_ratios([evidence("a", 0), evidence("b", 1)], RATIOS),
            LOG(array([np.exp(0) + np.exp(1), np.exp(3) + np.exp(0)]) / 2),
        ),
        (lambda: expect_auc({"x": 0.6}), AUC),
        (lambda: expect_auc({"x in z": 0.9}), 0.9),
        (lambda: expect_auc({"x": 0.9}, (1, 0.5)), AUC),
        (lambda: expect_auc({"x": 0.6, "w": None}, names=("x", "w")), None),
        (lambda: expect_auc({"x": 0.6, "w": None}, names=("x",)), AUC),
        (lambda: expect_auc({"x": 0.6}, names=(None,)), None),
        (lambda: expect_auc({"x": 0.6, "w": 0.8}, names=("x", "w")), 0.8),
    ],
    _rmia: [
        # a = 1 leaves the mean, and others add a constant: (1 + a) / 2 mean + (1 - a) / 2.
        (lambda: compare_rmia(1.0), [LOG(2.0)]),
        (lambda: compare_rmia(0.5), [-LOG(0.75 * 0.5 + 0.25)]),
        (lambda: compare_rmia(0.5, online=True), [LOG(2.0)]),
        (lambda: list_choices(), ["a", "temperature"]),
        (lambda: list_choices(rate=0.009), ["a"]),
        (lambda: list_choices(rate=0.009, criterion="auc"), ["a", "temperature"]),
        (lambda: list_choices(rate=None), ["a", "temperature"]),
        (lambda: list_choices(signal="loss"), ["a"]),
        (lambda: list_choices(temperatures=(1.0,)), ["a"]),
        (lambda: list_choices(online=True), ["temperature"]),
        (lambda: len(RMIA()._needs().uses), 1),
        (lambda: RMIA(temperature=2.0)._needs().uses, frozenset()),
        (lambda: RMIA(signal="loss")._needs().uses, frozenset()),
    ],
    _stack_models: [
        (lambda: get_without(1, 1, [0, 1, 0, 1, 0, 1])[0], "without 1"),
        (
            lambda: get_without(2, 1, [0, 1, 0, 1, 0, 1]),
            (
                [True, True, False, False, False, False],
                {(1, 2): [True, True, False, False, False, False]},
            ),
        ),
        (lambda: get_without(2, 1, [1, 1, 0, 1, 0, 1])[0], "without 2"),
        (lambda: get_without(2, 1, [0, 1, 0, 1, 0, 1], {(1, 2): "kept"})[0], "kept"),
        (
            lambda: _stack_models.MedianScale(array([[1.0, 0, 0], [-3, 0, 0], [9, 6, 0]]))._unit,
            [3.0, 2.0, 1.0],
        ),
    ],
    _split_threshold: [
        # At each value, passing over it, and neither.
        (sum_weights, ([3.0, 1.0, 8.0, 4.0, 12.0], [0, 0, 0, 8, 0], [0, 2, 4, 0, 0])),
        (
            lambda: SplitThresholdAttack._judge_further(
                NS(_X=np.zeros((2, 1)), _judge_beside=lambda some: some + 10 * len(some)),
                np.arange(5),
            ),
            [20, 21, 22, 23, 14],
        ),
    ],
    _shadow: [
        (lambda: draw_pairs(99), (6, {True}, {True})),
        (lambda: draw_pairs(99, 4, 3), (6, {True}, {True})),
        (lambda: draw_pairs(5), (4, {True}, {True})),
        (lambda: draw_pairs(4), (4, {True}, {True})),
    ],
    white_box: [
        (
            lambda: describe_classes(
                [[1.0, 7.0], [3.0, 7.0], [4.0, 7.0], [8.0, 7.0]], [5, 5, 9, 9]
            ),
            ([[2.0], [6.0]], [2.5**0.5], [True, False]),
        ),
    ],
    equal_rates: [
        (
            lambda: tell_refusal(lambda: learn_rates(3)),
            "No record has enough shadow models that were not trained on it to say how its score "
            "varies; use a larger pool.",
        ),
        (lambda: learn_rates(4), 0.0),
        (lambda: learn_rates(5, members=3) > 1, True),  # between most others and the members
        (draw_records, True),
        (lambda: judge_blocks([3, 2, 4]), [True, False, False]),
        (lambda: judge_blocks([4, 3, 4]), [True, True, False]),
        (lambda: choose_models(5), [0, 1, 2, 3, 4]),
        (lambda: [*choose_models(127)[:3], *choose_models(127)[-2:]], [0, 2, 4, 124, 126]),
        (lambda: len(choose_models(200)), 64),
    ],
    recovered: [
        (lambda: read_further_answers(), ([[2.0, 0.0], [4.0, 1.0]], 0.0)),
        (lambda: recovered._measure_length(NS(coef_=array([[3.0, 4.0]]))), 5.0),
        (lambda: recovered._measure_length(NS(coef_=array([3.0, 4.0]))), 5.0),
        (
            lambda: recovered._measure_length(NS(coef_=array([[3.0, 4.0], [1.0, 0.0]]))),
            (2 * (1 + 4)) ** 0.5,
        ),
    ],
    _file_attack: [
        (lambda: _file_attack.allow_bytes_for_file(NS(X=np.zeros((2, 2)))), 5e8),
        # Of 20 non-members by the file, one may reach the threshold; of 21, it is between.
        (lambda: _file_attack.choose_offset(array([1.0, 2.0, -9.0]), 0.5), 2.0),
        (lambda: _file_attack.choose_offset(array([-1.0, -2.0]), 0.5), float(np.nextafter(0, 1))),
        (lambda: _file_attack.choose_offset(np.r_[np.full(19, -50.0), 50.0], 0.5), 50.0),
    ],
    _calibrated: [
        (
            lambda: _calibrated.OutRank.score(
                None,
                array([[1.0, 3.0]]),
                array([[[1.0, 5.0], [0.0, 2.0], [0.0, 9.0], [2.0, 3.0]]]),
                None,
                array([[True, True], [True, False], [False, True], [True, True]]),
            ),
            [2 / 3, 1 / 3],
        ),
        (
            lambda: _calibrated.PopulationRank(array([[1.0, 2.0, 2.0, 4.0]]), None).score(
                array([[2.0, 0.0, 5.0]]), None, None, None
            ),
            [0.75, 0.0, 1.0],
        ),
        (
            lambda: _calibrated.AwayFromMiddle._compare(
                None,
                array([[5.0], [2.0]]),
                NS(mean=array([[1.0], [2.0]])),
                NS(mean=array([[3.0], [6.0]])),
            ),
            [(3 - 2) / 2],
        ),
        (
            lambda: _calibrated.AwayFromOut._compare(None, TARGET, None, OUTSIDE),
            [-1.0],
        ),
    ],
    _attack_people: [
        # 3 - 1 and 7 of the victim; models without a person, beside which each is judged.
        (
            lambda: attack_scores("sum"),
            ([2.0, 7.0], [True, True], [5.0, 2.0, 1.0, 3.0, 5.0]),
        ),
        (lambda: attack_scores("max"), ([3.0, 7.0], [True, True], [4.0, 2.0, 1.0, 2.0, 5.0])),
        (
            lambda: attack_scores("sum", judged=(True, False, True))[:2],
            ([2.0, 0.0], [True, False]),
        ),
        (lambda: can_refuse(), ""),
        (lambda: can_refuse([False] * 3), "No person has enough shadow model"),
        (lambda: can_refuse([True] * 3, [False] * 3), "No person has enough shadow model"),
        (
            lambda: _attribute._make_baseline()[-1].get_params()["max_iter"],
            50,
        ),
        (
            lambda: [
                _attribute._make_baseline()[0]
                .fit_transform(pd.DataFrame({"a": ["x", "y", "x"], "b": [5.0, 7.0, 9.0]}))
                .tolist()
            ],
            [[[0.0, 5.0], [1.0, 7.0], [0.0, 9.0]]],
        ),
        (
            lambda: (
                _attribute._make_baseline()[0]
                .fit(pd.DataFrame({"a": ["x", "y"]}))
                .transform(pd.DataFrame({"a": ["z"]}))
            ),
            [[-1.0]],
        ),
        (lambda: score_guesses(), 2 / 3),
        (lambda: score_guesses([1, 9, 9]), 1 / 3),
        (lambda: score_guesses(None, [1.0, 2.0, 5.0]), 3 / 8),
        (lambda: refuse_weights([0.0, 0.0, 0.0]), "sample_weight must hold one number of 0 or m"),
        (lambda: refuse_weights([0.0, 0.0, 1.0]), ""),
        (
            lambda: (tell_refusal(lambda: score_guesses([1, 2])) or "")[:46],
            "y must hold one value for each of 3 records; g",
        ),
        (
            lambda: StationarityAttack.expect_seconds(10, 30, 15 * 30**3),
            StationarityAttack._n_usual * (100 * 30 + 1000 / 3) / 2e10,
        ),
        (lambda: StationarityAttack.expect_seconds(30, 30, STEPS), STEPS),
        (lambda: StationarityAttack.expect_seconds(30, 30, STEPS * 0.99), 0.0),
        (lambda: StationarityAttack.expect_seconds(5000, 5000), 0.0),
    ],
    equal_rates._ScoresOutside: [(leave_out_scores, [True] * 7)],
    _lira.TrendLaws: [
        (lambda: rate_offset(_lira.NormalLaw(True), 1), None),
        (lambda: rate_offset(Bits(), 2), None),
        (lambda: rate_offset(Bits(), 1), ([("one", "priors"), ("other", "priors")], 0.1)),
    ],
    _stored_values: [
        (lambda: list_lists(CountVectorizer(token_pattern="[a-z]")), 1),
        (lambda: list_lists(CountVectorizer(token_pattern="[a-z]", max_features=3)), 0),
        (lambda: list_lists(CountVectorizer(token_pattern="[a-z]", vocabulary=["a"])), 0),
    ],
    recovered.RecoveredModelAttack: [
        (lambda: warn_of_length(1.2, [1.0, 1.0, 1.0]), []),
        (lambda: warn_of_length(1.4, [1.0, 1.0, 1.0]), ["The coefficients are 1.4 times as lon"]),
        (lambda: warn_of_length(0.7, [1.0, 1.0])[0][:26], "The coefficients are 0.7 t"),
        (lambda: warn_of_length(1.4, [1.0, 1.2, 0.8]), []),
        (lambda: warn_of_length(9.0, [1.0]), []),
        (lambda: warn_of_length(0.0, [1.0, 1.0]), []),
        (lambda: warn_of_length(1.0, [1.0, 0.0]), []),
    ],
    _stacked.SimilarityFeatures: [
        # The record at column 4 is not among those that values are given of.
        (
            lambda: join_similar([2, 5, 7, 9])[1][2],
            [[[3.0, 1.0, 0.0], [7.0, 5.0, 0.0]]],
        ),
        (lambda: of_models(1), ([[3.0, 2.0, 4.0]], [[[2.0, 1.0, 3.0], [6.0, 5.0, 7.0]]])),
        (lambda: of_models(2)[1], [[[12.0, 1.0, 13.0], [16.0, 5.0, 17.0]]]),
        (
            fill,
            ([[0, 2], [5, 6], [1, 0], [7, 8]], [[0, 2], [1, 0]]),
        ),
        (lambda: fit_parts(None, "votes"), ["lira_votes", "calibrated_out"]),
        (lambda: fit_parts(None, "normal"), ["calibrated_out", "calibrated_midpoint"]),
        (
            lambda: _stacked._get_folds(array([[[9.0, 9.0]], [[2.0, 1.0]]]), array([0, 1, 2])),
            [[2, 1], [2, 1], [2, 1]],
        ),
    ],
    _file_attack.CandidatesAttack: [
        (
            lambda: find_known((5, 1), (9, 1), (5, 3), (99, 1), (0, 1)),
            ([1, 2, 1, 2, 0], [True, True, False, False, False]),
        ),
        (sort_by_content, [20.0, 10.0, 30.0, 20.0]),
    ],
    _shadow.ShadowAttack: [
        (lambda: records_of_pool(0, 5), [0, 1]),
        (lambda: records_of_pool(0, -1, 3), [0, 2]),
        (lambda: records_of_pool(-1, -1), "None of the records is in the shado"),
    ],
    ranges: [
        (lambda: draw_range(3), ([("attack", [])] * 3, 3)),
        (lambda: draw_range(1, ["other"])[0], [("attack", ["other"])]),
        (lambda: draw_range(1, ["outputs", "other"])[0], [("attack", ["other"])]),  # of centers
        (
            lambda: tell_refusal(lambda: draw_range(1, length=3)),
            "sampler must return one point for each record; it returned 3 for 2.",
        ),
        (lambda: can_judge([True, True, False], [True, False, False]), [True, False, False]),
    ],
    _rmia.ModelLikelihoodRatio: [
        # Of four ratios, half of those that tie are beaten; beyond the ends it comes near 0 and 1.
        (
            lambda: share_beaten([1.0, 2.0, 5.0, 1.5, 4.0]),
            [1 / 8, 4 / 8, 7 / 8, 2.5 / 8, 6 / 8],
        ),
        (
            lambda: share_beaten([0.0, -1.0, 6.0, 7.0]),
            [np.exp(-1) / 8, np.exp(-2) / 8, 1 - np.exp(-1) / 8, 1 - np.exp(-2) / 8],
        ),
        (lambda: share_beaten([3.0], gamma=np.e), [4 / 8]),
        (lambda: share_beaten([3.0], reference=None), [3.0]),
        (lambda: choose_criterion("auto", None), "auto"),
        (lambda: choose_criterion("auto", 0.2), 0.2),
        (lambda: choose_criterion("auto", 0.001), 0.01),
        (lambda: choose_criterion("roc_auc", 0.2), "roc_auc"),
        (lambda: check_population([True, True]), None),
        (
            lambda: check_population([True, False, False]),
            "population must hold records that have an IN shadow model; 2 of 3 have none. Choose "
            "other records of the pool or set online=False.",
        ),
        (
            lambda: check_population([False, True], online=False),
            "population must hold records that have an OUT shadow model; 1 of 2 have none. Choose "
            "other records of the pool.",
        ),
    ],
    # Log odds of 0 stand for equal shares; what is learned of nothing says nothing.
    _stack_models.LogisticStack: [
        (
            lambda: (
                _stack_models.LogisticStack(np.zeros((8, 1)), ONE_OF_FOUR).log_odds(HERE).round(5)
            ),
            [0.0] * 3,
        ),
        (lambda: learn_stack(_stack_models.LogisticStack), [True, True]),
    ],
    _stack_models.BoostedStack: [
        (lambda: learn_stack(_stack_models.BoostedStack, np.random.RandomState(0)), [True, True]),
        (
            lambda: _stack_models.BoostedStack(
                np.zeros((8, 1)), ONE_OF_FOUR, np.random.RandomState(0)
            ).log_odds(HERE[:, :1]),
            [0.0] * 3,
        ),
    ],
    _stack_models.StackCandidates: [
        (score_folds, [11.0, 2.0, 13.0]),
        (
            judge_folds,
            (
                {0: [0.1 * 12, 0.2 * 2], 1: [0.1 * 13, 0.2 * 3], None: [0.1 * 13, 0.2 * 2]},
                [(0, 0), (0, 1), (1, 0), (1, 1), (0, 0), (1, 1)],
            ),
        ),
    ],
    diversity: [
        (lambda: warn_if_short(diversity._LEAST_WAY), []),
        (
            lambda: warn_if_short(diversity._LEAST_WAY * 0.75)[0][:53],
            "max_iter=10 leaves the matrices of 1 of 2 labels near",
        ),
        (
            lambda: warn_if_short(diversity._LEAST_WAY / 4)[0].partition("set max_iter to ")[2],
            f"{int(np.ceil(10 * diversity._WAY / (diversity._LEAST_WAY / 4)))} or None.",
        ),
        (lambda: warn_if_short(diversity._LEAST_WAY / 4)[0][34:40], " 2 of "),
    ],
    white_box.LayerDistanceAttack: [
        (
            describe_sides,
            [
                [([1, 3], [7, 9], False), ([4, 6], [7, 9], True)],
                [([2], [8], False), ([5], [8], True)],
            ],
        ),
        (
            compute_ratios,
            [[0.0, 22 / 16], [6 / 4, 29 / 21]],
        ),
        (lambda: measure_normals([[1.0, 9.0], [3.5, 9.0]]), (True, True)),
    ],
    _vulnerable_records.VulnerableRecordsAttack: [
        # The nearest at 10, 10, 20 and 60 degrees, of which a quarter, or a half, is farther.
        (lambda: choose_radius(0.25), (far(60) + far(20)) / 2),
        (lambda: choose_radius(0.5), (far(20) + far(10)) / 2),
        (lambda: choose_radius(0.01), (far(60) + far(20)) / 2),
        (lambda: choose_radius(1.0), 0.0),
        (lambda: choose_radius(0.25, 1), (far(80) + far(30)) / 2),
        (lambda: choose_radius(0.25, 9), 2.0),
        (lambda: is_vulnerable(0), [True, False, False, True]),
        (lambda: is_vulnerable(1), [True, True, False, True]),
        (lambda: is_vulnerable(2), [True, True, True, True]),
    ],
    _transferred_query.measure_confidence: [
        (measure_confidence, [(0.2 + 0.1) / 2, 0.0, 0.2]),
    ],
    equal_rates._VarianceTrend: [
        # At 5 of 0 to 10 a variance of 11, and 4 squares of 5; beyond the last one 21.
        (
            standardize_rates,
            [2 / ((4 * 11 + 4) / 8 * 1.2) ** 0.5, -17 / (21 * 2) ** 0.5],
        ),
    ],
    _quantile: [
        (
            lambda: [rank(99, 0.05), rank(98, 0.05), rank(19, 0.05), rank(18, 0.05)],
            [95, 95, 19, 19],
        ),
        (lambda: standardize_quantile(0.1), [3.0 - 0.5, 0.25 - 0.5]),
        (lambda: standardize_quantile(2.0), [1.5 - 0.5, 0.25 - 0.5]),
    ],
    _lira.PrintedLaws: [
        (lambda: make_law("example", True), ((2, 2), "online=False")),
        (lambda: make_law("example", False), ((0, 2), None)),
        (lambda: make_law("pooled", True), ((1, 1), "online=False")),
        (lambda: make_law("pooled", False), ((0, 1), None)),
        (lambda: _lira.JointNormalLaw("reads", "offset", 3).least, (3, 3)),
        (lambda: _lira.JointNormalLaw("reads", "offset", 3).online, True),
        (lambda: _lira.JointNormalLaw("reads", "offset", 3).variance, "example"),
        (lambda: _lira.JointNormalLaw("reads", "offset", 3).alternative, 'variance="example"'),
        (lambda: _lira.TrendLaws("reads", "offset", "shrunk", "auto").shrinks, True),
        (lambda: _lira.TrendLaws("reads", "offset", "other", "auto").shrinks, False),
        (lambda: _lira.OwnVoteLaw(5, 0.2, "shrinks").shrinks, "shrinks"),
        (lambda: _lira.VoteLaw(5, 0.2, "shrinks").shrinks, "shrinks"),
    ],
}


@pytest.mark.parametrize("module", ANSWERS, ids=lambda module: module.__name__)
def test_answers_by_hand(module):
    expect_answers(ANSWERS[module])


@pytest.mark.parametrize("online", [True, False])
@pytest.mark.parametrize("is_shared", [True, False])
def test_ratios_of_models_as_the_victim_are_those_with_the_models_that_remain(online, is_shared):
    rng = np.random.default_rng(0)
    logs = rng.normal(size=(2, 6, 5))  # of two queries, six models and five records
    logs[:, 1:, 4] -= 50  # beside the first model, the others hardly count
    inside = np.array([[0, 1, 0, 0, 1], [1, 0, 0, 1, 0], [0, 0, 1, 0, 0]], dtype=bool)
    inside = np.concatenate([inside, ~inside])
    models, others = array([0, 2, 5]), array([[3, -1, 1, 3, 2], [1, 0, -1, -1, 4], [2, 2, 2, 3, 4]])
    others = others[:, :1] if is_shared else others
    law = NS(likelihood=np.exp, log_likelihood=lambda values: values)
    ratio = _rmia.ModelLikelihoodRatio(law, None, 0.3, online)
    found = ratio._score_left_out(logs, inside, models, others)
    assert ratio.least == ((1, 0) if online else (0, 1))
    for model, gone, scores in zip(models, np.broadcast_to(others, (3, 5)), found, strict=True):
        for record in range(5):
            rest = [k for k in range(6) if k not in (model, gone[record])]
            rest = rest if online else [k for k in rest if not inside[k, record]]
            mean = np.exp(logs[:, rest, record]).mean(axis=1)
            mean = mean if online else (1.3 * mean + 0.7) / 2
            wanted = (logs[:, model, record] - LOG(mean)).mean()
            assert scores[record] == pytest.approx(wanted, rel=1e-6)
    # As the victim is compared with all of them.
    target = ratio.score(logs[:, 0], logs, inside, ~inside)
    chosen = np.ones((6, 5)) if online else ~inside
    mean = (np.exp(logs) * chosen).sum(axis=1) / chosen.sum(axis=0)
    mean = mean if online else (1.3 * mean + 0.7) / 2
    np.testing.assert_allclose(target, (logs[:, 0] - LOG(mean)).mean(axis=0))


def test_means_of_probabilities_that_underflow_are_those_of_their_logs():
    logs = array([[[-900.0, 0.0], [-901.0, -1.0], [-950.0, -2.0]]])
    law = NS(likelihood=np.exp, log_likelihood=lambda values: values)
    found = _rmia._log_mean_likelihood(law, logs)
    of_first = -900 + LOG((1 + np.exp(-1) + np.exp(-50)) / 3)
    np.testing.assert_allclose(found, [[of_first, LOG((1 + np.exp(-1) + np.exp(-2)) / 3)]])
    chosen = array([[0, 1], [1, 0], [1, 1]], dtype=bool)
    found = _rmia._log_mean_likelihood(law, logs, chosen)
    of_first = -901 + LOG((1 + np.exp(-49)) / 2)
    np.testing.assert_allclose(found, [[of_first, LOG((1 + np.exp(-2)) / 2)]])


def test_trends_pool_the_variances_of_each_side_and_read_what_the_pool_has_stored():
    rng = np.random.default_rng(0)
    values, inside = rng.normal(size=(1, 8, 30)), rng.random((8, 30)).argsort(axis=0) < 3
    values += 3 * inside * rng.normal(size=(8, 30))  # IN models vary more
    stored = compute_sides(values, inside, ~inside, np.full(8, -1))
    fitted = []
    for known in (None, stored):
        answers = NS(design=NS(partners=np.full(8, -1)), signals=np.zeros((1, 1, 8, 30)))
        answers.moments = lambda reads, change, known=known: known
        reader = NS(answers=answers, can_judge=len, refuse_unjudged=lambda judged, records: None)
        reader.draw_columns = lambda n: np.arange(30)
        reader.read_columns = lambda columns: (values, inside)
        laws = _lira.TrendLaws("reads", "offset", "shrunk", "normal")
        laws.fit(reader, [])
        assert laws.likelihood == "normal"
        fitted.append(np.ravel(laws.variances))
    wanted = []
    for side in (inside, ~inside):
        of_side = [values[0, side[:, record], record] for record in range(30)]
        squares = sum(((one - one.mean()) ** 2).sum() for one in of_side)
        wanted.append(squares / sum(len(one) - 1 for one in of_side))
    assert wanted[0] > 4 > wanted[1]
    for found in fitted:
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
