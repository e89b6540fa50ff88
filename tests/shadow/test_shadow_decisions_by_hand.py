"""Designs, domains and imports of shadow models, each decision with an answer by hand."""

import warnings
from dataclasses import fields
from functools import partial
from threading import Lock
from types import SimpleNamespace as NS

import numpy as np
import pandas as pd
import pytest
from by_hand import expect_answers, tell_refusal
from numpy import array, inf, nan
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

from skmia import Outputs, Records, ShadowPool
from skmia.exceptions import CheckpointError
from skmia.shadow import _answers, _fit_once, _imported, _job, _record_columns, _stored, _synthesis
from skmia.signals import (
    Correctness,
    Entropy,
    GradientNorm,
    Hinge,
    LogResidual,
    Loss,
    ScaledLogit,
    get_signal,
)
from skmia.victims import CallableVictim


def choose_features(n_chosen, n_features=4):
    rng = np.random.default_rng(0)
    chosen = _synthesis.choose_features(array(n_chosen), n_features, rng)
    return chosen.sum(axis=1)


def from_uniform(uniform, columns=slice(None)):
    domain = NS(
        _low=array([1.0, 2.0]),
        _high=array([4.0, 6.0]),
        _step=array([0.0, 2.0]),
        _n_values=array([4.0, 3.0]),
    )
    return _synthesis.TableCodes._from_uniform(domain, array(uniform), columns)


def other_value(values, columns):
    domain = NS(
        _low=array([1.0, 2.0, 5.0]),
        _high=array([4.0, 6.0, 6.0]),
        _step=array([3.0, 2.0, 0.0]),
        _n_values=array([2.0, 3.0, 2.0]),
    )
    return _synthesis.TableCodes.other_value(domain, array(values), array(columns))


def compute_domain(codes):
    domain = NS(codes=array(codes))
    _synthesis.TableCodes._compute_domain(domain)
    return domain._low, domain._high, domain._step, domain._n_values


def choose_targets(running, wanted, made, failed, max_failures=2, batch_size=5):
    given = NS(max_failures=max_failures, batch_size=batch_size)
    return _synthesis.ModelBasedSynthesizer._choose_targets(
        given, array(running, dtype=int), array(wanted), array(made), array(failed)
    )


def count_wanted(shares, n):
    return _synthesis.ModelBasedSynthesizer._count_wanted(NS(_shares=array(shares)), n)


def step(own, best=0.3, n_iter=0, other=0.1, luck=0.0):
    """Step one search for class 1; return how many were found or ended, and what goes on."""
    settings = NS(min_confidence=0.2, max_changes=4, min_changes=1, max_rejections=3, max_iter=5)
    table = NS(n_features=2, redraw=lambda codes, n_changes, rng: codes + n_changes[:, None])
    proba = array([[other, own]])
    climb = _synthesis.HillClimb(table, lambda codes: proba, settings, NS(random=lambda n: luck))
    climb.target, climb._n_iter = array([1]), array([n_iter])
    climb._proposal, climb._best = array([[7.0, 8.0]]), array([[1.0, 2.0]])
    climb._best_proba, climb._n_changes = array([best]), array([3])
    climb._n_rejections = array([0])
    made, found, ended = climb.step()
    return made.tolist(), found.tolist(), ended.tolist(), climb._proposal.tolist()


def redraw(codes, n_changes):
    """Redraw features that can be 9 alone; return how many of each row are."""
    table = _synthesis.TableCodes(np.full((2, 4), 9.0))
    codes = array(codes)
    found = table.redraw(codes, array(n_changes), np.random.default_rng(0))
    assert (found[found != 9] == codes[found != 9]).all()
    return (found == 9).sum(axis=1), table.draw(2, np.random.default_rng(0))


def settle(n_features=5, **settings):
    """Return the first and the least number of changes of a search, and its shares."""
    victim = CallableVictim(lambda X: np.full((len(X), 2), 0.5), ["a", "b"])
    records = Records(np.arange(2.0 * n_features).reshape(2, -1))
    made = _synthesis.ModelBasedSynthesizer(victim, **settings)
    told = tell_refusal(lambda: made.fit(records))
    if told is not None:
        return told[: told.index(";")]
    first = made._settings.max_changes, made._settings.min_changes
    return *first, made.n_queries_, made._shares.tolist()


def ask_proba(values, kind):
    outputs = Outputs(values, [0, 1], kind)
    made = NS(_ask=lambda codes: outputs)
    return _synthesis.ModelBasedSynthesizer._ask_proba(made, None)


def draw_and_ask(values, kind, classes=(5, 6)):
    """Return the labels that a victim gives to what was drawn."""
    outputs = Outputs(values, None if kind == "value" else list(classes), kind)
    made = NS(
        _table=NS(codes=np.zeros((3, 2)), decode=lambda codes: codes),
        _draw=lambda rows, n: np.zeros((n, len(rows))),
        _ask=lambda codes: outputs,
    )
    records, classes = _synthesis.MarginalSynthesizer._draw_and_ask(made, len(values))
    return records.y, classes, records.X.shape


def report(y, classes, victim=None):
    made = NS(victim=victim)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        _synthesis.MarginalSynthesizer._report(made, NS(y=array(y)), classes)
    said = [str(one.message).partition(", because none was drawn: ")[::2] for one in told]
    return said, None if made.report_ is None else made.report_.to_numpy().tolist()


def warn_short(n_classes, n_short):
    made = np.where(np.arange(n_classes) < n_short, 1, 2)
    table = pd.DataFrame({"n_wanted": 2, "n_made": made})
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        _synthesis.warn_short(table, "why")
    return [str(one.message) for one in told]


def change_values(values, columns):
    """Change values of a table of a bit, a constant and a number, whose third row is drawn."""
    table = _synthesis.TableCodes(array([[0.0, 5, 1], [1, 5, 2], [1, 5, 4]]))
    made = NS(_table=table, _rng=NS(integers=lambda n, size: np.full(size, n - 1)))
    return _synthesis.NoisyRecords._change(made, array(values), array(columns))


def augment(*lengths, alone=False):
    records = Records(array([[0.0], [1.0]]), [0, 1])
    changed = [Records(np.zeros((n, 1)), np.zeros(n)) for n in lengths]
    found = tell_refusal(
        lambda: _job.augmented(records, lambda one: changed[0] if alone else changed)
    )
    if found is not None:
        return found
    return len(_job.augmented(records, lambda one: changed[0] if alone else changed))


def infer(membership, fingerprint=None):
    membership = array(membership, dtype=bool)
    fingerprint = np.arange(membership.shape[1]) if fingerprint is None else array(fingerprint)
    found = _job.infer_design(membership, fingerprint)
    return found.partners.tolist(), found.n_in, found.n_out


def list_conflicts(**given):
    settings = {
        "n_estimators": 64,
        "estimator": LogisticRegression(),
        "design": "paired",
        "on_disk": False,
        "checkpoint": None,
        "batched": "auto",
        "output_kind": "auto",
    }
    return [one[:24] for one in _job._list_conflicting_settings(NS(**settings | given))]


def draw_entropy(random_state, stored):
    checkpoint = None if stored is None else NS(read_entropy=lambda: stored or None)
    found = _job.draw_entropy(random_state, checkpoint)
    return "stored" if found == stored else "drawn"


def check_scores(scores, membership, n_records=2, resolution="auto"):
    try:
        _imported.check_scores(scores, membership, n_records, resolution)
    except ValueError as error:
        return str(error)[:36]
    return None


def check_sets(membership, n_models=None):
    try:
        return _imported.check_training_sets(membership, 2, n_models)
    except ValueError as error:
        return str(error)[:36]


def keep_each(n_given, n_models=2):
    """Keep what a pool keeps of so many models that were given."""
    before = _imported.keep
    _imported.keep = lambda job, trained: trained._model
    try:
        given = ((f"model {k}", None) for k in range(n_given))
        found = []
        for one in _imported._keep_each(
            NS(n_models=n_models, number=lambda i: i, subsets=[0, 0], data=None), given
        ):
            found.append(one)
    except ValueError as error:
        return str(error)[-8:]
    finally:
        _imported.keep = before
    return found


def gather(on_disk=False, outputs=True):
    """Gather three models, which arrive in another order, with warnings."""
    results = [
        (
            k,
            NS(
                arrays={"raw": np.full((1, 2, 4), float(k))}
                | ({"outputs": np.full((4, 3), 10.0 + k)} if outputs else {}),
                model=f"model {k}",
                facts={"step": k / 10},
                warnings=[f"warning {k}"],
            ),
        )
        for k in (2, 0, 1)
    ]
    found = _stored.gather_results(iter(results), 3, 4, on_disk)
    signals, outputs = (None if one is None else one for one in found[:2])
    return (
        None if signals is None else (signals.shape, signals[0, 1, :, 0].tolist()),
        None if outputs is None else (outputs.shape, outputs[:, 0, 0].tolist()),
        *found[2:5],
    )


def make_answers(stored, kind="proba", signal="scaled_logit", of=_answers.PoolAnswers, **given):
    """Make the answers of a pool of which only some parts are there."""
    names = [one.name for one in fields(_answers.PoolAnswers) if one.init]
    return of(**dict.fromkeys(names) | {"stored": stored, "kind": kind, "signal": signal} | given)


LOG_ODDS = make_answers([ScaledLogit(1.0), ScaledLogit(2.0), Entropy()])
MARGINS = make_answers([Hinge(), Correctness()], "decision", "hinge")
BITS = make_answers([Correctness()], "label", "correctness")
RESIDUALS = make_answers([LogResidual()], "value", "log_residual")


class Stepped(_answers.PoolAnswers):
    """Answers whose values say where they are stored, by which step, and how they were asked."""

    def _evaluate(self, place, model, records, step, ask):
        return np.array([place, step, len(records), model is not None], dtype=float)

    def answers(self, records):
        return np.full((2, len(records), 2), 7.0)


def ask_victim(steps, victim=None, signal="auto"):
    answers = make_answers(
        LOG_ODDS.stored, of=Stepped, signals=np.empty((3, 1, 3, 9)), steps=array(steps)
    )
    return answers.victim_values(victim, Records(HELD[:, None], [0, 1]), signal)


def follow(derive):
    reading = NS(place=2, derive=derive)
    found = _answers.InUnit("auto", 4.0).follow(reading)
    return found.place, found.derive(array([8.0])), found.signal == _answers.InUnit("auto", 4.0)


def choose_unit(values, kind="value", has_unit=True):
    """Return the unit of values of records, and what is read of them."""
    values = array(values, dtype=float)
    answers = make_answers(
        [NS(has_unit_of_target=has_unit)],
        kind,
        "other",
        signals=values[None, None, None],
        columns=NS(digests=np.empty((2, len(values)))),
    )
    read = answers.in_unit("auto")
    return answers.choose_unit("auto"), read if isinstance(read, str) else read.unit


def leave(what, n_stored=3, **given):
    """Return what remains of a pool without something: signals, outputs and models."""
    given = {"outputs": np.zeros((2, 9, 2)), "estimators": ["model"] * 2} | given
    answers = make_answers(
        LOG_ODDS.stored[:n_stored],
        of=Stepped,
        signals=np.arange(3.0)[:n_stored, None],
        smoothings=[*"abc"[:n_stored]],
        classes=array([0, 1]),
        columns=NS(locate=lambda records: array([1, 0])),
        **given,
    )
    found = answers.without(what, Records(HELD[:, None], [0, 1]))
    if found is None:
        return None
    outputs = None if found.outputs is None else found.outputs.shape
    return "".join(found.smoothings), found.signals[:, 0], outputs, found.estimators


def take_first(n):
    answers = make_answers(
        [],
        signals=np.empty((1, 2, 3, 4)),
        design=_job.drawn_design(4, "paired"),
        membership=[1, 2, 3, 4],
        steps=[5, 6, 7, 8],
    ).first(n)
    shape = answers.signals.shape
    return answers.membership, answers.steps, answers.outputs, answers.design.partners, shape


def warn_of_victim(own, n_models=4):
    """Warn of a victim of models with much in common; return the beginnings of the warnings."""
    common = np.arange(100.0)
    noise = np.random.default_rng(0).normal(size=(n_models, 100))
    answers = make_answers(
        [ScaledLogit(1.0)],
        signals=array([common + noise, noise])[None],
        membership=np.zeros((n_models, 100)),
        design=_job.drawn_design(n_models, "independent"),
        **dict.fromkeys(("outputs", "estimators"), None),
        steps=np.zeros(n_models),
        columns=NS(locate=lambda records: np.arange(len(records))),
    )
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        answers.warn_of_victim(array([own(common, noise), common]), range(100), "auto")
    return [str(one.message)[:44] for one in told]


HALVED = _answers.InUnit("confidence", 2.0)


def locate(signal, answers=LOG_ODDS):
    """Return the place of a signal, and what it makes of log odds of 0."""
    try:
        place, derive, found = answers.locate_signal(signal)
    except ValueError as error:
        return str(error)
    return place, found.name, None if derive is None else float(derive(np.zeros(1))[0])


def correlate(partners):
    """Correlate a victim with two models, 0.8 and 0.3, each of them twice, of which one is 0.8."""
    first, second = [1.0, 2, 3, 4, 9], [20.0, 10, 40, 30, 90]
    models = array([first, first, second, second])
    return _answers._correlate(array([1.0, 4, 2, 9, 5]), models, array(partners))


def find_victim(own, columns=None, n_models=3):
    """Return which of some models answers as a victim: each counts from its number on."""
    n = len(own)
    given = np.arange(n) if columns is None else array(columns)
    numbers = np.arange(n_models)[:, None] + np.arange(1200.0)
    models = array([numbers, numbers + 90])  # of two queries, of which the first one counts
    answers = make_answers(
        [ScaledLogit(1.0)],
        signals=models[None],
        columns=NS(locate=lambda records: given[: len(records)]),
    )
    return answers.find_victim(array([own, own + 5]), range(n))


def change(values, places, to=-5.0):
    values = array(values, dtype=float)
    values[places] = to
    return values


def get_stored(n_queries, **fields):
    records = Records(HELD[:, None], [0, 1], **fields)
    answers = make_answers([], signals=np.empty((1, n_queries, 1, 1)))
    try:
        found = answers._get_stored(records)
    except ValueError as error:
        return str(error)
    return [int(one.fields["outputs"].values[0, 1]) for one in found]


def give(*values):
    """Return outputs as fields, which are known by a number."""
    names = ["outputs", "outputs_1", "outputs_2"]
    outputs = [Outputs([[0.0, value], [1, 2]], [0, 1], "logits") for value in values]
    return dict(zip(names, outputs, strict=False))


def count_augmented(n_queries, augment=None):
    answers = make_answers([], signals=np.empty((1, n_queries, 1, 1)), augment=augment)
    try:
        return len(answers._augment(Records(HELD[:, None], [0, 1])))
    except ValueError as error:
        return str(error)[:70]


def join(*parts, joint=None, signal="log_residual"):
    answers = make_answers([], joint_residual=joint)
    return answers._join(get_signal(signal), array(parts))


def check_kind(answers, kind):
    told = tell_refusal(lambda: answers._check_kind(kind, answers.stored[0]))
    return told and told[told.index("of the shadow") :]


def reduce(answers, outputs):
    return answers._reduce(outputs).kind


def tell_single(n_classes, kind="logits"):
    """Return what else is told of outputs with one number for each of six records."""
    records = Records.from_ids(np.arange(6), np.arange(6) % n_classes)
    told = tell_refusal(lambda: _imported.GivenOutputs(np.ones((2, 6)), records, None, kind))
    return told and told.partition("; got (2, 6).")[2]


def of_model(values, kind, classes=None, k=1):
    """Return what a model answered for each query, on three records of the labels 0, 1 and 1."""
    records = Records.from_ids([5, 6, 7], [0, 1, 1])
    given = _imported.GivenOutputs(array(values), records, classes, kind)
    assert given.n_models == len(values)
    found = given.of_model(k)
    return given.n_queries, [(one.values, one.classes) for one in found]


def list_unanswerable(kind="proba", store="signals", temperatures=(1.0,), signals=("auto",)):
    pool = NS(store=store, temperatures=temperatures, signals=signals)
    return [one[:31] for one in _imported.list_unanswerable(pool, kind)]


def find_homes(*columns, relatives=True):
    """Find the homes of five records, of which three have relatives."""
    related = (array([3, 7, 9]), array([5, 0, 2])) if relatives else None
    records = NS(fingerprint=array([7, 3, 4, 99, 9]))
    known = _record_columns.RecordColumns(None, "", None, related)
    return known.find_homes(records, array(columns))


def take_columns(*columns):
    return _record_columns.take_columns(array([[0, 1, 2, 3], [4, 5, 6, 7]]), array(columns))


def draw_sets(max_samples, n_records, design="balanced", on_disk=False, n_models=8):
    """Draw training sets; return their kind, how many, and how many records each has."""
    pool = NS(
        max_samples=max_samples,
        design=design,
        estimator=LogisticRegression(),
        n_estimators=n_models,
        on_disk=on_disk,
    )
    records = Records(np.arange(n_records)[:, None], np.arange(n_records) % 2)
    try:
        sets = _job.draw_training_sets(pool, records, np.random.SeedSequence(0))
    except ValueError as error:
        return str(error)[-4:]
    return type(sets).__name__, len(sets), {int(np.sum(sets[k])) for k in range(len(sets))}


def list_drawn(key):
    """Return models of three pairs that are drawn when they are asked for."""
    drawn = _job.DrawnSets(
        lambda seed: [array([seed, 0, 1]) > 0, array([0, seed, 0]) > 0], [0, 1, 1], 2
    )
    found = drawn[key]
    return (
        [one.tolist() for one in map(found.__getitem__, range(len(found)))]
        if isinstance(key, list)
        else found
    )


def scale_margins(margins, inside, most=100_000):
    """Return the scale of margins, of which so many may be read."""
    before, _stored._MOST_MARGINS = _stored._MOST_MARGINS, most
    try:
        found = _stored._estimate_margin_scale(array(margins), array(inside, dtype=bool))
        return round(found, 4)
    finally:
        _stored._MOST_MARGINS = before


def read_rows(kind, numbers, *given):
    """Read two columns of rows, of which those in files tell their number and columns."""
    rows = NS(n_columns=9, dtype="f4", rows_per_model=6, lead=(2, 3))
    rows.read = lambda number, start, stop: 100 * number + np.arange(start, stop)
    made = kind(rows, *given)
    assert (made.n_columns, made.dtype) == (9, "f4")
    found = [made.read(number, 4, 6).tolist() for number in numbers]
    return found, getattr(made, "rows_per_model", None), getattr(made, "lead", None)


def smooth(values, resolution, of_models=lambda row: row):
    """Smooth two models' values, and return them, or why that is refused."""
    raw = array([[values, values]], dtype=float)
    signal = NS(name="it", fit_smoothing=lambda *given: NS(of_models=of_models, given=given[2:]))
    try:
        return _stored._smooth(signal, raw, None, "f4", resolution).given, raw[0, 1]
    except ValueError as error:
        return str(error)


def change_signals(*changes):
    return _stored._change_signals(array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), changes)


def put_first():
    """Put predictions before residuals of two queries and two models, and another signal."""
    signals = np.arange(24.0).reshape(2, 2, 2, 3)
    found = _stored._put_predictions_first(signals, lambda outputs, y: outputs.values * y, HELD3)
    return found.shape, found[0, 1, 0], found[1:].tolist() == signals.tolist()


def scale_residuals(n_targets):
    joint, nobody = NS(weights=np.ones((1, n_targets))), array([[False, False]])
    return _stored._estimate_scale(-np.log([[1.0, 2.0]]), nobody, joint)


def describe(value):
    """Describe a value and its equal; tell whether both descriptions are equal."""
    return _fit_once._describe_value(value()) == _fit_once._describe_value(value())


def find_table(*tables):
    """Return the tables that a worker knows after these, as numbers."""
    before = _fit_once.parent_process, dict(_fit_once._table_of_worker)
    _fit_once.parent_process = lambda: "parent"
    try:
        _fit_once._table_of_worker.clear()
        found = [_fit_once._find_table(table) for table in tables]
    finally:
        _fit_once.parent_process = before[0]
        _fit_once._table_of_worker.clear()
        _fit_once._table_of_worker.update(before[1])
    return [next(k for k, one in enumerate(found) if one is table) for table in found]


class OnceRefused(BaseEstimator):
    """A pool whose folder is another one's at first."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, table):
        TRIED.append(table)
        if len(TRIED) < 2:
            raise CheckpointError("of another pool")
        return self


TRIED = []


def fit_clone(random_state):
    TRIED.clear()
    told = tell_refusal(lambda: _fit_once._fit_clone(OnceRefused(random_state), "table"))
    return told, TRIED[:]


class Holder:
    def __init__(self, held):
        self.held = held

    def method(self):
        return self.held


def count_pools(*settings):
    """Count pools that differ in what they train."""
    pools = [ShadowPool(LogisticRegression(), **given) for given in settings]
    return len({*map(_fit_once._describe_pool_settings, pools)})


def close_over(first):
    return lambda: first


def default_to(second):
    return lambda first=second: first


def name_by_word(third):
    return lambda *, first=third: first


def hold(first, second=1):
    def inner(third=second):
        return first

    return inner


ONE_HOT = Outputs([[0.3, 0.7]], [0, 1], "proba")


class Total(NS):
    def __call__(self, parts):
        return parts.sum(axis=0)


JOINT = Total(weights=np.ones((1, 2)))
TREE, OTHER_TREE = (DecisionTreeClassifier().fit([[0.0], [1.0]], y) for y in ([0, 1], [1, 0]))
ENDLESS = {}
ENDLESS["itself"] = ENDLESS
HELD3 = array([1.0, 2.0, 3.0])
HELD, LOCK = array([1.0, 2.0]), Lock()

TWO_OF_FIVE = [[1, 1, 1, 0, 0, 1], [1, 0, 0, 1, 0, 1], [0, 1, 0, 1, 1, 1], [0, 0, 1, 0, 1, 1]]
TWO_OF_FIVE += [[0, 0, 0, 0, 0, 1]]
PAIRS = [[1, 0, 0], [0, 1, 1], [0, 1, 0], [1, 0, 1]]
APART = [[1, 0, 0], [0, 1, 0], [0, 1, 1], [1, 0, 1]]

# Of each module: calls and answers. Whatever may be equal differs, and each branch decides once.
ANSWERS = {
    _answers: [
        (lambda: LOG_ODDS.temperatures, (1.0, 2.0)),
        (lambda: MARGINS.temperatures, (1.0,)),
        (lambda: locate("auto"), (0, "scaled_logit", None)),
        (lambda: locate(("auto", 2.0)), (1, "scaled_logit", None)),
        (lambda: locate(ScaledLogit(2.0)), (1, "scaled_logit", None)),
        (lambda: locate("entropy"), (2, "entropy", None)),
        (lambda: locate("confidence"), (0, "confidence", 0.5)),
        *(
            (
                lambda signal=signal: locate(signal),
                "The shadow pool stores the temperatures (1.0, 2.0), not 3.0; fit it with "
                "temperatures including 3.0.",
            )
            for signal in (("auto", 3.0), ScaledLogit(3.0))
        ),
        (
            lambda: locate(Entropy(), make_answers([ScaledLogit(1.0), ScaledLogit(2.0), Loss()])),
            "The shadow pool stores the signals 'scaled_logit', 'loss', not 'entropy'; fit it with "
            'signals=("auto", Entropy()).',
        ),
        (
            lambda: locate("entropy", MARGINS)[:78],
            "The signal 'entropy' reads 'proba' or 'logits'; the models of the shadow pool "[:78],
        ),
        (lambda: locate(("auto", 7.0), MARGINS), (0, "hinge", None)),
        (lambda: locate(ScaledLogit(3.0), MARGINS)[:24], "The signal 'scaled_logit"),
        (lambda: LOG_ODDS.locate_signal(HALVED).derive(np.zeros(1)), [0.25]),
        # The median of the steps that are not 0, for one record after the other.
        (lambda: ask_victim([0.0, 0.25, 0.75], 5), [[0.0, 0.5, 2.0, 1.0]]),
        (lambda: ask_victim([0.0, 0.0, 0.0], 5, "entropy"), [[2.0, 0.0, 2.0, 1.0]]),
        (lambda: ask_victim([0.0, 0.0, 0.5]), [[0.0, 0.5, 2.0, 0.0]]),
        (lambda: follow(None), (2, [2.0], True)),
        (lambda: follow(lambda values: values + 4), (2, [3.0], True)),
        (lambda: choose_unit([8.0] * 5), (8.0, 8.0)),
        (lambda: choose_unit([1.0] * 5), (1.0, "auto")),
        (lambda: choose_unit([8.0] * 5, "values")[0], 8.0),
        (lambda: choose_unit([8.0] * 5, "proba"), (1.0, "auto")),
        (lambda: choose_unit([8.0] * 5, has_unit=False), (1.0, "auto")),
        (lambda: choose_unit([8.0, 1024] * 2500)[0], 8.0),
        (lambda: choose_unit([8.0, 1024] * 2048)[0], 512.0),
        (lambda: [leave("gradients"), leave(_answers.LABELS)], [None, None]),
        (lambda: leave("outputs"), ("abc", [0.0, 1.0, 2.0], None, None)),
        (lambda: leave("models"), ("abc", [0.0, 1.0, 2.0], (2, 9, 2), None)),
        (lambda: leave("models", outputs=None)[2:], ((2, 2, 2), None)),
        (lambda: leave("models", outputs=None, estimators=None)[2:], (None, None)),
        (lambda: leave(("auto", 2.0)), ("ac", [0.0, 2.0], (2, 9, 2), ["model"] * 2)),
        (lambda: leave("auto")[0], "bc"),
        (lambda: leave("auto", n_stored=1), None),
        (lambda: take_first(3), ([1, 2, 3], [5, 6, 7], None, [1, 0, -1], (1, 2, 3, 4))),
        (lambda: take_first(2)[3:], ([1, 0], (1, 2, 2, 4))),
        (lambda: warn_of_victim(lambda common, noise: common), []),
        (
            lambda: warn_of_victim(lambda common, noise: noise[0]),
            ["The signals of the victim do not go with tho"],
        ),
        (lambda: warn_of_victim(lambda common, noise: noise[0], n_models=3), []),
        (
            lambda: warn_of_victim(lambda common, noise: common + noise[2]),
            ["The victim answers exactly as shadow model 2"],
        ),
        (lambda: warn_of_victim(lambda common, noise: 0 * common), []),
        (lambda: LOG_ODDS.get_law("auto"), _answers.LabelLaw(ScaledLogit(1.0), None)),
        (
            lambda: tell_refusal(lambda: LOG_ODDS.get_law("entropy"))[-34:],
            ' compares; take signal="auto" or "loss".'[-34:],
        ),
        (
            lambda: tell_refusal(lambda: BITS.get_law())[-40:],
            "s; LiRA and CalibratedAttack compare labels."[-40:],
        ),
        (lambda: _answers._tells_little(np.arange(20)), False),
        (lambda: _answers._tells_little(np.arange(19)), True),
        (lambda: _answers._tells_little(np.arange(20) % 5), False),
        (lambda: _answers._tells_little(np.arange(20) % 4), True),
        # The mean rank of two pairs, and of the other pair or all other models.
        (lambda: correlate([1, 0, 3, 2]), (1.1 / 3.6**0.5, 0.8)),
        (lambda: correlate([-1] * 4), (1.1 / 3.6**0.5, 2.6 / 8.2**0.5)),
        (lambda: correlate([1, 0, -1, -1])[1], 0.4 + 1.3 / 8.2**0.5),
        (lambda: find_victim(np.arange(20.0) + 2), 2),
        (lambda: find_victim(np.arange(19.0) + 2), None),
        (lambda: find_victim(np.arange(20.0) + 9), None),
        (lambda: find_victim(np.arange(20.0) + 2 + 1e-6), 2),
        (lambda: find_victim(change(np.arange(20), 7)), None),
        (lambda: find_victim(change(np.arange(21), 7), [*range(7), -1, *range(8, 21)]), 0),
        (lambda: find_victim(np.arange(20.0)[::-1] + 1, range(20)[::-1]), 1),
        # Every second one of 250, and of the first thousand every tenth.
        (lambda: find_victim(change(np.arange(250), [1, 249])), 0),
        (lambda: find_victim(change(np.arange(250), [248])), None),
        (lambda: find_victim(change(np.arange(1100), slice(1000, None))), 0),
        (lambda: find_victim(change(np.arange(1100), [990])), None),
        (lambda: find_victim(np.arange(20.0), n_models=1), 0),
        (lambda: get_stored(1, **give(7)), [7]),
        (lambda: get_stored(3, **give(7, 8, 9)), [7, 8, 9]),
        (
            lambda: get_stored(3, **give(7, 8)),
            "The shadow pool has 2 augmentations, for which the outputs of the victim must be "
            "known too: as fields of the records (outputs_2 missing), or pass the victim instead "
            "of stored outputs.",
        ),
        (lambda: "(outputs_1, outputs_2 missing)" in get_stored(3, **give(7)), True),
        (lambda: count_augmented(1), 1),
        (lambda: count_augmented(3, lambda records: [records, records]), 3),
        (
            lambda: count_augmented(3),
            "The shadow pool has signals of 3 queries for each record, and the vict"[:70],
        ),
        (lambda: join([1.0, np.e, 1 / np.e]), [0.0, -1.0, 1.0]),
        (lambda: join([1.0, 2.0], signal="loss"), [1.0, 2.0]),
        (lambda: join([1.0], [5.0], joint=JOINT), [6.0]),
        *(
            (
                lambda parts=parts, joint=joint: tell_refusal(lambda: join(*parts, joint=joint)),
                f"The victim answers with {len(parts)} numbers for each record, and the shadow "
                f"models with {n}.",
            )
            for parts, joint, n in (
                ([[1.0], [2.0], [3.0]], JOINT, 2),
                ([[1.0], [2.0]], None, 1),
            )
        ),
        (
            lambda: [check_kind(LOG_ODDS, kind) for kind in ("proba", "logits", "log_odds")],
            [None] * 3,
        ),
        (
            lambda: check_kind(LOG_ODDS, "decision"),
            "of the shadow models it must return 'proba' or 'logits' or 'log_odds'.",
        ),
        (
            lambda: check_kind(LOG_ODDS, "label")[-43:],
            '. Or fit the pool with output_kind="label".',
        ),
        (lambda: [check_kind(BITS, kind) for kind in ("label", "proba", "decision")], [None] * 3),
        (lambda: check_kind(BITS, "value")[:29], "of the shadow models it must "),
        (lambda: check_kind(RESIDUALS, "value"), None),
        (lambda: [reduce(BITS, ONE_HOT), reduce(LOG_ODDS, ONE_HOT)], ["label", "proba"]),
        (lambda: reduce(BITS, Outputs([1.0], kind="value")), "value"),
    ],
    _record_columns: [
        (lambda: find_homes(-1, -1, -1, -1, 8), [0, 5, -1, -1, 8]),
        (lambda: find_homes(4, -1, -1, 6, -1), [4, 5, -1, 6, 2]),
        (lambda: find_homes(-1, -1, -1, -1, 8, relatives=False), [-1, -1, -1, -1, 8]),
        (lambda: take_columns(1, 2), [[1, 2], [5, 6]]),
        (lambda: take_columns(0), [[0], [4]]),
        (lambda: take_columns(-1, 0), [[3, 0], [7, 4]]),
        (lambda: take_columns(3, 2, 1), [[3, 2, 1], [7, 6, 5]]),
        (lambda: take_columns(2, 2), [[2, 2], [6, 6]]),
    ],
    _fit_once: [
        *(
            (lambda value=value: describe(value), True)
            for value in (
                lambda: [1, (2.5, "a", b"b", None, True, int)],
                lambda: {"a": {1, 2}, "b": frozenset({3})},
                lambda: nan,
                lambda: np.random.RandomState(3),
                lambda: LogisticRegression(C=2.0),
                lambda: Holder(3).method,
                lambda: partial(hold, 2, second=3),
                lambda: hold(2),
                lambda: HELD.copy(),
                lambda: find_homes,
                # What cannot be pickled is described by its code, wherever it is.
                lambda: [hold(2)],
                lambda: {"a": hold(2)},
                lambda: partial(hold(2), 3),
                lambda: FunctionTransformer(hold(2)),
            )
        ),
        *(
            (lambda pair=pair: len({*map(_fit_once._describe_value, pair)}), 2)
            for pair in (
                (1, True),
                (1, 1.0),
                ([1], (1,)),
                ([1, 2], [2, 1]),
                ({"a": 1}, {"a": 2}),
                ({"a": 1}, {"b": 1}),
                ({1}, frozenset({1})),
                (np.random.RandomState(3), np.random.RandomState(4)),
                (LogisticRegression(C=2.0), LogisticRegression(C=1.0)),
                (Holder(3).method, Holder(4).method),
                (Holder(3).method, Holder(3).__init__),
                (partial(hold, 2), partial(hold, 3)),
                (partial(hold, 2), partial(hold, 2, second=1)),
                (partial(hold, 2), partial(Holder, 2)),
                (hold(2), hold(3)),
                (hold(2), hold(2, second=5)),
                (close_over(2), close_over(3)),
                (default_to(2), default_to(3)),
                (name_by_word(2), name_by_word(3)),
                (FrozenEstimator(TREE), FrozenEstimator(OTHER_TREE)),
                (HELD, HELD + 1),
                (find_homes, take_columns),
                (FrozenEstimator(LogisticRegression()), FrozenEstimator(LogisticRegression(C=2.0))),
                (Holder(open), Holder(print)),
                (iter([1]), (one for one in [1])),
            )
        ),
        # What cannot be pickled is equal to itself alone.
        (lambda: len({_fit_once._describe_value(one) for one in [LOCK, LOCK, Lock()]}), 2),
        (lambda: _fit_once._UniqueValue(LOCK) == LOCK, False),
        (lambda: _fit_once._UniqueValue(LOCK) == _fit_once._UniqueValue(Lock()), False),
        (lambda: _fit_once._UniqueValue(LOCK) == _fit_once._UniqueValue(LOCK), True),
        # Of pools: number of workers and bars are no settings of what is trained.
        (lambda: count_pools({}, {"n_jobs": 2}, {"verbose": 1}), 1),
        (lambda: count_pools({}, {"n_estimators": 4}, {"random_state": 1}, {"store": "models"}), 4),
        (lambda: count_pools({"fit_params": ENDLESS}, {"fit_params": ENDLESS}), 2),
        (lambda: find_table(Records(HELD[:, None]), Records(HELD[:, None])), [0, 0]),
        (
            lambda: find_table(*(Records(HELD[:, None] + k) for k in (0, 1, 1, 0))),
            [0, 1, 1, 3],
        ),
        (lambda: fit_clone(None), (None, ["table", "table"])),
        (lambda: fit_clone(3), ("of another pool", ["table"])),
    ],
    _stored: [
        # Three of four margins are right: their log odds of one are log(3).
        (lambda: scale_margins([[2.0, 2, 2, -2]], [[0, 0, 0, 0]]), 1.8205),
        (lambda: scale_margins([[2.0, 9, 2], [2, -2, -9]], [[0, 1, 0], [0, 0, 1]]), 1.8205),
        (lambda: scale_margins([[0.0, 9, 0]], [[0, 1, 0]]), 1.0),
        # Every second one of all models, whatever the others are.
        (
            lambda: scale_margins(
                [[2.0, 9, 2], [9, 2, 9], [-2, 9, -9]], [[0] * 3, [0] * 3, [0, 0, 1]], 4
            ),
            1.8205,
        ),
        # Of one sign, they could have any scale.
        (lambda: scale_margins([[2.0, 3.0]], [[0, 0]]) > 0.002, True),
        # Columns 4 and 5 of a row of bits, of which 4 is of no model.
        (lambda: read_rows(_stored.TrainedRows, [0], np.arange(9) == 5)[0], [[0, 1]]),
        # Of two signals and three queries, the second one is changed.
        (
            lambda: read_rows(
                _stored.ChangedRows, [2, 3, 8, 11], [lambda row: row, lambda row: -row]
            ),
            ([[204, 205], [-304, -305], [804, 805], [-1104, -1105]], 6, (2, 3)),
        ),
        # Before the six rows of a model, three of its residuals are predictions.
        (
            lambda: read_rows(
                _stored.OrientedRows, [0, 2, 3, 8, 9, 12], lambda row, y: row * y, np.arange(9)
            ),
            (
                [[16, 25], [816, 1025], [4, 5], [504, 505], [2416, 3025], [604, 605]],
                9,
                (3, 3),
            ),
        ),
        (lambda: _stored.leave_untrained_out("all", None), "all"),
        (
            lambda: _stored.leave_untrained_out(array(PAIRS) > 0, array([True, False, True]))[1],
            [False, False, True],
        ),
        (lambda: smooth([1.0, 2.0], 0.5), (("f4", 0.5), [1.0, 2.0])),
        (lambda: smooth([1.0, inf], "auto", lambda row: row.clip(max=9))[1], [1.0, 9.0]),
        (lambda: smooth([1.0, inf], 0)[:46], "resolution=0 leaves 2 signals of shadow models"),
        (
            lambda: smooth([nan, inf], "auto"),
            "4 answers of the shadow models are NaN or infinite, by the signal 'it'.",
        ),
        (lambda: change_signals(np.negative), [[-1, -2], [3, 4], [5, 6]]),
        (lambda: change_signals(np.sqrt, np.negative)[1:], [[-3, -4], [5, 6]]),
        # y less the residuals 6, 7 and 8 of the second query, times y.
        (put_first, ((3, 2, 2, 3), [-5.0, -10.0, -15.0], True)),
        # The mean square is 2.5, of half as many targets as there are, at least of one.
        (lambda: scale_residuals(4), 1.25**0.5),
        (lambda: scale_residuals(1), 2.5**0.5),
    ],
    _synthesis: [
        # Sure of the class and lucky; sure, but not lucky; at the least confidence; another class.
        (lambda: step(0.5, luck=0.4), ([[7.0, 8.0]], [1], [], [])),
        (lambda: step(0.5, luck=0.5), ([], [], [], [[10.0, 11.0]])),
        (lambda: step(0.2, best=0.1), ([], [], [], [[10.0, 11.0]])),
        (lambda: step(0.45, other=0.55), ([], [], [], [[10.0, 11.0]])),
        # As good as before, and worse.
        (lambda: step(0.3, best=0.3, luck=0.9), ([], [], [], [[10.0, 11.0]])),
        (lambda: step(0.29, best=0.3), ([], [], [], [[4.0, 5.0]])),
        (lambda: step(0.1, n_iter=4), ([], [], [1], [])),
        (lambda: step(0.1, n_iter=3)[2], []),
        (lambda: step(0.5, n_iter=4)[1:3], ([1], [])),
        (
            lambda: redraw([[1.0, 2, 3, 4]] * 4, [0, 1, 3, 9]),
            ([0, 1, 3, 4], [[9.0] * 4] * 2),
        ),
        (lambda: settle(), (2, 1, 1, [0.5, 0.5])),
        (lambda: settle(4)[0], 1),
        (lambda: settle(max_changes=5, min_changes=5)[:2], (5, 5)),
        (lambda: settle(max_changes=1)[:2], (1, 1)),
        (lambda: settle(2, min_changes=9, max_changes=2)[:2], (2, 2)),
        *(
            (lambda given=given: settle(**given), "max_changes must be between " + limits)
            for given, limits in (
                ({"max_changes": 6}, "min_changes=1 and the 5 features"),
                ({"max_changes": 2, "min_changes": 3}, "min_changes=3 and the 5 features"),
                ({"min_changes": 3}, "min_changes=3 and the 5 features"),
            )
        ),
        (lambda: settle(class_prior=[0.0, 1.0])[3], [0.0, 1.0]),
        *(
            (
                lambda prior=prior: settle(class_prior=prior),
                "class_prior needs a share for each of 2 classes, with sum 1",
            )
            for prior in ([0.5, 0.4], [-0.5, 1.5], [1.0], [[0.5, 0.5]])
        ),
        (lambda: ask_proba([[0.25, 0.75]], "proba"), [[0.25, 0.75]]),
        (lambda: ask_proba(np.log([[1.0, 3.0]]), "logits"), [[0.25, 0.75]]),
        (lambda: draw_and_ask([[0.2, 0.8], [0.7, 0.3]], "proba"), ([6, 5], [5, 6], (2, 3))),
        (lambda: draw_and_ask([6, 6, 5], "label"), ([6, 6, 5], [5, 6], (3, 3))),
        (lambda: draw_and_ask([1.5, 2.5], "value")[:2], ([1.5, 2.5], None)),
        (lambda: report([5, 5, 6], [5, 6]), ([], [[2, 2, 0], [1, 1, 0]])),
        (lambda: report([5, 5, 6], [5, 6], "victim"), ([], [[2, 2, 2], [1, 1, 1]])),
        (
            lambda: report([5], [5, 6]),
            (
                [("1 of 2 classes have fewer records than requested", "6; see report_.")],
                [[1, 1, 0], [1, 0, 0]],
            ),
        ),
        (lambda: report([5], None), ([], None)),
        (lambda: warn_short(3, 0), []),
        (
            lambda: warn_short(12, 10)[0][-45:],
            "why: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9; see report_."[-45:],
        ),
        (
            lambda: warn_short(12, 11)[0],
            "11 of 12 classes have fewer records than requested, why: 0, 1, 2, 3, 4, 5, 6, 7, 8, "
            "9, ...; see report_.",
        ),
        (lambda: change_values([0.0, 1, 5, 2, 4], [0, 0, 1, 2, 2]), [1.0, 0.0, 5.0, 4.0, 4.0]),
        (lambda: choose_features([0, 1, 3, 4, 9, 3]), [0, 1, 3, 4, 4, 3]),
        # A real feature from 1 to 4, and one of 2, 4 and 6.
        (lambda: from_uniform([[0.0, 0.0], [0.5, 0.5], [0.9, 0.99]]), [[1, 2], [2.5, 4], [3.7, 6]]),
        (lambda: from_uniform([0.34], [1]), [4.0]),
        (lambda: other_value([1.0, 4.0, 6.0, 5.0], [0, 0, 1, 2]), [4.0, 1.0, nan, nan]),
        (
            lambda: compute_domain([[0.0, 0.5], [1.0, 0.25], [3.0, 1 / 3]]),
            ([0.0, 0.25], [3.0, 0.5], [1.0, 0.0], [4.0, 1.0]),
        ),
        (lambda: count_wanted([0.5, 0.25, 0.25], 10), [5, 3, 2]),
        (lambda: count_wanted([1 / 3, 2 / 3], 4), [1, 3]),
        # As many at once as may fail, in turns, and no more than there is room for.
        (lambda: choose_targets([], [9, 1], [0, 0], [0, 0]), [0, 0, 1]),
        (lambda: choose_targets([], [9, 9], [1, 0], [0, 0]), [0, 1, 0, 1, 0]),
        (lambda: choose_targets([0, 1], [9, 9], [1, 0], [0, 1]), [0, 0, 0]),
        (lambda: choose_targets([0, 0], [3, 0], [1, 0], [0, 0]), []),
        (lambda: choose_targets([], [9, 0], [0, 0], [2, 0]), []),
        (lambda: choose_targets([0] * 6, [99, 9], [9, 9], [0, 0]), []),
        (lambda: choose_targets([0] * 4, [99, 99], [9, 9], [0, 0]), [0]),
    ],
    _job: [
        (lambda: augment(2, 2), 3),
        (lambda: draw_sets(2, 5), ("ndarray", 8, {2, 3})),
        (lambda: draw_sets(3, 5)[:2], ("ndarray", 8)),
        (lambda: draw_sets(0.5, 5)[:2], ("ndarray", 8)),
        (lambda: draw_sets(0.5, 6, n_models=16), ("ndarray", 16, {3})),
        (lambda: draw_sets(1, 5), "t 1."),
        (lambda: draw_sets(4, 5), "t 4."),
        (lambda: draw_sets(0.3, 6), " 0.3."[-4:]),
        (lambda: draw_sets(0.3, 10, "paired", True), ("DrawnSets", 8, {3})),
        (lambda: draw_sets(0.31, 10, "paired"), ("ndarray", 8, {4})),
        (lambda: draw_sets(3, 10, "independent", n_models=5), ("ndarray", 5, {3})),
        (lambda: list_drawn(0), [False, False, True]),
        (lambda: list_drawn(3), [False, True, False]),
        (
            lambda: list_drawn([2, 0, 5]),
            [[True, False, True], [False, False, True], [False, True, False]],
        ),
        *(
            (
                lambda key=key: tell_refusal(lambda: list_drawn(key)),
                f"there are 6 training sets, none of number {key}",
            )
            for key in (-1, 6)
        ),
        (lambda: _job.PackedSets(array(PAIRS) > 0)[[2, 0]][0], [False, True, False]),
        (lambda: len(_job.PackedSets(array(PAIRS) > 0)[[2, 0]]), 2),
        (lambda: augment(2, alone=True), 2),
        (
            lambda: augment(2, 3),
            "augment must keep the number of records; it returned 3 of 2.",
        ),
        (lambda: len(_job.augmented("records", None)), 1),
        (lambda: _job.check_temperatures((1.0, 0.5)), None),
        *(
            (
                lambda given=given: tell_refusal(lambda: _job.check_temperatures(given))[:42],
                "temperatures must be one or more positive ",
            )
            for given in ((), (0.0,), (1.0, inf), (1.0, True), (-1,), ("a",))
        ),
        (
            lambda: tell_refusal(lambda: _job.check_temperatures((1, 2, 1.0)))[:38],
            "temperatures must be different numbers"[:38],
        ),
        (lambda: _job.check_outputs_store("outputs", "proba"), None),
        (lambda: _job.check_outputs_store("models", "label"), None),
        (
            lambda: tell_refusal(lambda: _job.check_outputs_store("outputs", "label"))[:15],
            'store="outputs"',
        ),
        (lambda: infer(PAIRS)[0], [1, 0, 3, 2]),
        (lambda: infer(APART)[0], [2, 3, 0, 1]),
        (lambda: infer([[1, 1, 0], [0, 0, 1], [1, 1, 1]])[0], [1, 0, -1]),
        # Two of five models for each record that varies.
        (lambda: infer(TWO_OF_FIVE)[1:], (2.0, 3.0)),
        # A repeated record says nothing.
        (
            lambda: infer(array(TWO_OF_FIVE)[:, [0, 1, 2, 3, 3, 4]], [1, 2, 3, 4, 4, 6])[1:],
            (2.0, 3.0),
        ),
        (
            lambda: infer(np.column_stack([TWO_OF_FIVE, np.eye(5, 2)]), [1, 2, 3, 4, 5, 6, 7, 7])[
                1:
            ],
            (2.0, 3.0),
        ),
        (lambda: _job._find_partners(array([[1, 0], [0, 1]], dtype=bool)), [1, 0]),
        (lambda: _job._find_partners(array([[1, 0], [1, 0]], dtype=bool)), [-1, -1]),
        (lambda: _job._find_partners(array([[1, 0], [1, 1], [0, 1]], dtype=bool)), [2, -1, 0]),
        (lambda: list_conflicts(), []),
        (lambda: list_conflicts(n_estimators=5), ["n_estimators must be eve"]),
        (lambda: list_conflicts(n_estimators=5, design="independent"), []),
        (
            lambda: list_conflicts(n_estimators=_job.BLOCK + 2, design="balanced"),
            ["n_estimators must be a m"],
        ),
        (lambda: list_conflicts(n_estimators=_job.BLOCK, design="balanced"), []),
        (lambda: list_conflicts(on_disk=True), ["on_disk=True requires a "]),
        (lambda: list_conflicts(on_disk=True, checkpoint="x"), []),
        (
            lambda: list_conflicts(on_disk=True, checkpoint="x", batched=True),
            ["batched=True trains many"],
        ),
        (lambda: list_conflicts(batched=True), []),
        (
            lambda: list_conflicts(output_kind="label", estimator=LinearRegression()),
            ['output_kind="label" is f'],
        ),
        (lambda: list_conflicts(output_kind="label"), []),
        (lambda: list_conflicts(estimator=None), []),
        (lambda: draw_entropy(None, 5), "stored"),
        (lambda: draw_entropy(0, 5), "drawn"),
        (lambda: draw_entropy(None, None), "drawn"),
        (lambda: draw_entropy(None, 0), "drawn"),
    ],
    _imported: [
        (lambda: tell_single(3), " Log odds of the label are kind='log_odds'."),
        (lambda: tell_single(2)[-42:], "Log odds of the label are kind='log_odds'."),
        (lambda: len(tell_single(2)) > 60, True),
        (lambda: tell_single(3, "values"), ""),
        (
            lambda: of_model([[1.0, 2, 3], [4, 5, 6]], "log_odds"),
            (1, [([4.0, 5.0, 6.0], None)]),
        ),
        (
            lambda: of_model([[[1.0, 2, 3], [4, 5, 6]], [[7, 8, 9], [10, 11, 12]]], "value"),
            (2, [([7.0, 8.0, 9.0], None), ([10.0, 11.0, 12.0], None)]),
        ),
        (lambda: of_model([[0, 1, 2], [0, 0, 3]], "label"), (1, [([0, 0, 3], [0, 1, 2, 3])])),
        # A label that no model knows has a column of its own.
        (
            lambda: of_model([[[0.2, 0.8]] * 3, [[0.7, 0.3]] * 3], "proba", [0, 2]),
            (1, [([[0.7, 0.0, 0.3]] * 3, [0, 1, 2])]),
        ),
        (
            lambda: [*_imported._list_tables([1, [2, 3], (4,)])],
            [1, 2, 3, 4],
        ),
        (lambda: [*_imported._list_tables(HELD)], []),
        (lambda: list_unanswerable(), []),
        (lambda: list_unanswerable(store="outputs"), []),
        (
            lambda: list_unanswerable(store="models"),
            ['store="models" keeps models, wh'],
        ),
        (lambda: list_unanswerable("log_odds", "outputs"), ['store="outputs" keeps class pro']),
        (lambda: list_unanswerable("log_odds"), []),
        (lambda: list_unanswerable("proba", temperatures=(1.0, 2.0)), []),
        (
            lambda: list_unanswerable("log_odds", temperatures=(1.0, 2.0)),
            ["Log odds cannot be converted to"],
        ),
        (lambda: list_unanswerable(signals=("auto", "loss")), []),
        (
            lambda: list_unanswerable(signals=("auto", "loss", GradientNorm())),
            ["Signal 'gradient_norm_w' needs t"[:31]],
        ),
        (lambda: _imported._p_value_below_zero(array([-3.0])), 1.0),
        # The mean -4 of three numbers has the standard error 2: t = -2 with two degrees of freedom.
        (
            lambda: _imported._p_value_below_zero(array([-4.0, -4 - 12**0.5, -4 + 12**0.5])),
            0.0917517,
        ),
        (lambda: _imported._p_value_below_zero(array([1.0, 1.0])), 1.0),
        (lambda: _imported._p_value_below_zero(array([-1.0, -1.0])), 0.0),
        (lambda: check_scores([[1.0, 2.0]], [[1, 0]]), None),
        (lambda: check_scores([[1.0, 2.0]], [[1, 0]], 2, 0.0), None),
        (
            lambda: check_scores([[1.0, 2.0]], [[1, 0]], resolution=-1.0),
            'resolution must be "auto" or a finit',
        ),
        (
            lambda: check_scores([[1.0, 2.0]], [[1, 0]], 2, "other")[:18],
            "resolution must be",
        ),
        (lambda: check_scores([[1.0, 2.0]], [[1, 0]], 3), "scores and membership need the shape"),
        (lambda: check_scores([1.0, 2.0], [1, 0]), "scores and membership need the shape"),
        (lambda: check_scores([[1.0, 2.0]], [[1], [0]]), "scores and membership need the shape"),
        (lambda: check_scores([["a", "b"]], [[1, 0]]), "scores must hold numbers; got an arr"),
        (lambda: check_scores([[1.0, nan]], [[1, 0]])[:18], "scores holds 1 NaN"),
        (lambda: check_sets([[1, 0], [0, 1]]), [[True, False], [False, True]]),
        (lambda: check_sets([[1, 0], [0, 1]], 2), [[True, False], [False, True]]),
        (lambda: check_sets([[1, 0], [0, 1]], 3), "membership needs the shape (3, 2); g"),
        (lambda: check_sets([[1, 0, 1]]), "membership needs the shape (n_estima"),
        (lambda: check_sets([1, 0]), "membership needs the shape (n_estima"),
        (lambda: check_sets([[1, 2]]), "membership must be 1 where a model w"),
        (lambda: check_sets([["a", "b"]]), "membership must hold 0 and 1; got an"),
        (lambda: check_sets(np.zeros((0, 2))), "membership is empty; a pool needs on"),
        (lambda: keep_each(2), [(0, "model 0"), (1, "model 1")]),
        (lambda: keep_each(1), "2; got 1."[-8:]),
        (lambda: keep_each(0), "2; got 0."[-8:]),
        (lambda: keep_each(5), "e than 2."[-8:]),
        (
            gather,
            (
                ((1, 2, 3, 4), [0.0, 1.0, 2.0]),
                ((3, 4, 3), [10.0, 11.0, 12.0]),
                ["model 0", "model 1", "model 2"],
                [0.0, 0.1, 0.2],
                ["warning 0", "warning 1", "warning 2"],
            ),
        ),
        (lambda: gather(True)[:2], (None, None)),
        (lambda: gather(outputs=False)[1], None),
    ],
}


@pytest.mark.parametrize("module", ANSWERS, ids=lambda module: module.__name__)
def test_answers_by_hand(module):
    expect_answers(ANSWERS[module])
