"""A stack of attacks that is learned on the pool's own models."""

import copy
from dataclasses import replace
from numbers import Integral, Real

import numpy as np
from scipy import sparse
from scipy.special import logit
from sklearn.base import BaseEstimator
from sklearn.preprocessing import StandardScaler, normalize
from sklearn.utils import check_random_state

from .._core.budget import Cost
from .._core.features import FeatureEncoder
from .._core.normal_law import NormalLaw
from .._core.pseudo_victims import (
    FEWEST_FOR_RATE,
    FEWEST_MODELS,
    MOST_VICTIMS,
    choose_others,
    choose_pairs,
    number_pairs,
)
from .._core.query import query, unwrap
from .._core.records import Records
from .._core.sklearn import Interval
from .._core.types import Frozen, Seed
from ..base import (
    Comparison,
    PoolAttack,
    PoolReader,
    PosteriorMixin,
    TooFewModelsError,
    compare_with,
    find_judged,
    score_in_place,
)
from ..shadow import ShadowPool
from ..signals import COMPARED_JOINTLY
from ._calibrated import AwayFromMiddle, CalibratedAttack
from ._lira import LiRA
from ._rmia import RMIA
from ._stack_models import NUMBERS, StackCandidates, StackRows

# Similar training records raise each other's scores. How far a model is from what is usual on the
# neighbors of a record therefore tells what it would be on the record itself if it were no member.


# Number of the most similar records that are averaged. Weights fall to 0 at the next one, so that
# rounding does not decide which of two equally similar records counts.
_N_NEIGHBORS = 64

# Total weight below which an average is drawn to 0: neighbors that are all alike tell nothing.
_LEAST_WEIGHT = 0.04

# Maximum number of records among which similar ones are searched, of cells of their features, and
# of similarities that are computed at once.
_MOST_RECORDS = 1 << 13
_MOST_CELLS = 1 << 25
_BLOCK = 1 << 20

# Of at most so many records, weights are kept from learning to scoring.
_MOST_KEPT = 1 << 15


def _compute_residuals(pool, victim, records):
    """Return the signal minus its level, of the victim and of each model without its pair."""
    comparison = AwayFromMiddle()
    reader = PoolReader(pool.to_answers(), comparison, StackedAttack.__name__)
    columns = pool.locate(records)
    values, inside = reader.read_columns(columns)
    of_victim = comparison.score(reader.of_victim(victim, records), values, inside, ~inside)
    models = np.arange(len(inside))
    others = choose_others(pool.design_, inside, columns, models)
    judged = find_judged(reader, inside, inside.sum(axis=0), models, others)
    left = score_in_place(comparison, values, inside, models, others, judged)
    return of_victim, np.where(judged, left, 0)


class _NormalizedFeatures:
    """Standardized features as rows of length 1, and labels."""

    def __init__(self, records):
        self._encoder = FeatureEncoder(records)
        X = self._encoder.encode(records)[:, :-1]
        with np.errstate(invalid="ignore"):  # the mean of a column without values is missing
            scaler = StandardScaler(with_mean=not sparse.issparse(X))
            self._scaler = scaler.set_output(transform="default").fit(X)

    def __call__(self, records):
        matrix = self._encoder.encode(records)
        X = self._scaler.transform(matrix[:, :-1].astype(np.float64))
        if not sparse.issparse(X):
            X[~np.isfinite(X)] = 0
        label = matrix[:, [-1]]
        # Weights are means over continuous similarities, so half of the digits are enough.
        label = (label.toarray() if sparse.issparse(label) else label).ravel()
        return normalize(X).astype(np.float32), label


class SimilarRecords:
    """Weights of means over the most similar records of the same class.

    The weight of a record is its cosine similarity minus that of the first one that is not
    averaged.
    """

    def __init__(self, records):
        self._features = _NormalizedFeatures(records)
        self._known, self._labels = self._features(records)
        self._fingerprints = records.fingerprint
        self._kept = None

    def weigh(self, records, numbers, rows=None):
        """Return weights in the means over some numbers of records; the record itself has none.

        With rows, only these are returned, and kept if they are not too many: what is learned from
        is scored next, and often without the others.

        Return sparse of shape (n, n_known) for each number: rows of 0 where no record is similar.
        """
        if rows is not None:
            some = records[rows]
            weights = self._weigh(some, numbers)
            self._kept = (some.fingerprint, weights) if len(some) <= _MOST_KEPT else None
            return weights
        known, weights = self._kept or ((), {})
        if not set(numbers) <= set(weights):
            return self._weigh(records, numbers)
        if np.array_equal(known, records.fingerprint):
            return weights
        order = np.argsort(known, kind="stable")
        places = np.searchsorted(known, records.fingerprint, sorter=order)
        places = order[np.minimum(places, len(known) - 1)]
        return self._fill(records, numbers, places, known[places] != records.fingerprint)

    def _fill(self, records, numbers, places, is_new):
        """Return the weights of records, of which some were kept, at their places."""
        further = self._weigh(records[is_new], numbers) if is_new.any() else None
        rows, n_kept = np.where(is_new, 0, places), len(self._kept[0])
        rows[is_new] = n_kept + np.arange(is_new.sum())
        found = {}
        for number in numbers:
            kept = self._kept[1][number]
            whole = kept if further is None else sparse.vstack([kept, further[number]], "csr")
            found[number] = whole[rows]
        return found

    def _weigh(self, records, numbers):
        parts, step = [], _count_encoded_records(records)
        for start in range(0, len(records), step):
            block = records[start : start + step]
            parts += [(start + rows, *found) for rows, *found in self._find_nearest(block, numbers)]
        shape = len(records), len(self._labels)
        return {number: _collect_weights(parts, number, shape) for number in numbers}

    def _find_nearest(self, records, numbers):
        """Yield rows, columns of the most similar records, and similarities in falling order."""
        X, labels = self._features(records)
        fingerprints = records.fingerprint
        for label in np.unique(labels):
            places, rows = (np.flatnonzero(some == label) for some in (self._labels, labels))
            if not len(places):
                continue
            for part in np.array_split(rows, -(-len(rows) * len(places) // _BLOCK)):
                similarity = X[part] @ self._known[places].T
                similarity = similarity.toarray() if sparse.issparse(similarity) else similarity
                similarity[fingerprints[part, None] == self._fingerprints[places]] = 0
                first = max(0, len(places) - max(numbers) - 1)
                some = np.argpartition(similarity, first, axis=1)[:, first:]
                order = np.argsort(-np.take_along_axis(similarity, some, axis=1), axis=1)
                some = np.take_along_axis(some, order, axis=1)
                yield part, places[some], np.take_along_axis(similarity, some, axis=1)


def _collect_weights(parts, number, shape):
    """Return weights of the first records, as a sparse array."""
    found = [np.empty((3, 0))]
    for rows, places, similarity in parts:
        least = np.maximum(similarity[:, number : number + 1], 0)
        weights = np.maximum(similarity[:, :number] - (least if least.size else 0), 0)
        weights /= weights.sum(axis=1, keepdims=True) + _LEAST_WEIGHT
        cells = np.broadcast_arrays(rows[:, None], places[:, :number], weights)
        found.append(np.stack([one.ravel() for one in cells]))
    rows, places, weights = np.concatenate(found, axis=1)
    places = rows.astype(np.int32), places.astype(np.int32)
    return sparse.csr_array((weights.astype(np.float32), places), shape=shape)


class SimilarityFeatures:
    """How far the victim, and each model of a pool, is from what is usual on similar records.

    With `join`, also which of them are likely to be members.
    """

    def __init__(self, pool, victim, records):
        self._similar, self._columns = SimilarRecords(records), pool.locate(records)
        of_victim, of_models = _compute_residuals(pool, victim, records)
        self._means = [(_N_NEIGHBORS, of_victim, of_models[None])]

    def __len__(self):
        return len(self._means)

    def join(self, columns, of_victim, of_models):
        """Return the same with means of values of models at sorted columns of the pool.

        Other records have none. of_victim (n_known,), of_models (n_folds, n_estimators, n_columns):
        what records of a fold read.
        """
        places = np.minimum(np.searchsorted(columns, self._columns), len(columns) - 1)
        known, joined = columns[places] == self._columns, copy.copy(self)
        values = of_victim * known, of_models[..., places] * known
        joined._means = [*self._means, *((number, *values) for number in NUMBERS)]
        return joined

    def weigh(self, records, numbers=None, rows=None):
        """Return weights of similar records, by their number."""
        return self._similar.weigh(records, numbers or {number for number, *_ in self._means}, rows)

    def of_victim(self, weights):
        """Return means of the victim over similar records, of shape (n_means, n)."""
        return np.stack([weights[number] @ victim for number, victim, _ in self._means])

    def of_models(self, weights, folds):
        """Return means of each model, without its pair, of shape (n_means, n_estimators, n)."""
        means = []
        for number, _, models in self._means:
            mean = np.stack([(weights[number] @ some.T).T for some in models])
            means.append(mean[folds if len(mean) > 1 else 0 * folds, :, np.arange(len(folds))].T)
        return np.stack(means)


# Seconds on one core of a laptop: of learning from a record; of one other record among which
# similar ones are searched, and beside that of each product of two of their numbers.
_SECONDS_OF_RECORD, _LEAST_SECONDS = 8e-5, 0.1
_SECONDS_OF_OTHER, _SECONDS_OF_PRODUCT, _SECONDS_OF_SPARSE_PRODUCT = 7e-9, 3e-11, 4e-9


def _expect_seconds(records):
    """Return about how long the stack takes on one core."""
    n, n_known = len(records), min(len(records), _MOST_RECORDS, _count_encoded_records(records))
    # Similar records are those of one class; for numbers there are none.
    shares = [1.0] if records.y is None else np.unique(records.y, return_counts=True)[1] / n
    n_pairs = n * n_known * float(np.sum(np.square(shares)))
    X, n_columns = records.X, int(np.prod(np.shape(records.X)[1:], dtype=np.int64))
    each = _SECONDS_OF_PRODUCT * n_columns
    if sparse.issparse(X):  # the products of columns that both have
        counts = np.bincount(X.tocsr().indices, minlength=1) / n
        each = _SECONDS_OF_SPARSE_PRODUCT * float(np.sum(counts**2))
    learned = _SECONDS_OF_RECORD * min(n, _N_SAMPLE)
    return _LEAST_SECONDS + learned + n_pairs * (_SECONDS_OF_OTHER + each)


def _count_encoded_records(records):
    """Return how many records are encoded at once."""
    return max(1, _MOST_CELLS // max(1, int(np.prod(np.shape(records.X)[1:], dtype=np.int64))))


def _draw_usable_records(records, usable):
    rows = np.flatnonzero(usable)
    n_most = min(_MOST_RECORDS, _count_encoded_records(records))
    if len(rows) > n_most:
        order = np.argsort(records.fingerprint[rows], kind="stable")
        rows = np.sort(rows[order[:n_most]])
    return records[rows]


class LogLikelihood(Comparison):
    """Log-likelihood of the label under the victim, which needs no shadow model."""

    def __init__(self, pool):
        self.law = pool.get_law(self.reads)

    def score(self, target, shadows, inside, outside):
        return self.law.log_likelihood(target.astype(np.float64)).mean(axis=0)

    def _score_left_out(self, shadows, inside, models, others):
        return self.score(shadows[:, models], None, None, None)


def estimate_level(into, out):
    """Return the middle between the means of two distributions."""
    return (into[0] + out[0]) / 2


def estimate_gap(into, out):
    """Return the difference between the means of two distributions."""
    return into[0] - out[0]


def estimate_spread(into, out):
    """Return the logarithm of the joint spread of two distributions."""
    return np.log(into[1] + out[1]) / 2


class ShownLaw(NormalLaw):
    """A normal law that tells something of the distributions in the place of their log ratio."""

    def __init__(self, show):
        super().__init__(shrinks=True)
        self.show = show

    def log_ratio(self, target, laws):
        return np.array([np.broadcast_to(self.show(*both), target[0].shape) for both in laws])


# Features that are not scores of membership by themselves.
_SHOWN = {"level": estimate_level, "gap": estimate_gap, "spread": estimate_spread}

# The feature of similar records, which is none of the record itself.
SIMILAR = "similar_records"


def fit_parts(pool, records):
    """Return the comparisons of several attacks on one pool."""
    attacks = {
        "lira_raw": LiRA(variance="conjugate"),
        "lira_pooled": LiRA(variance="pooled"),
        "lira": LiRA(likelihood="normal"),
        "lira_votes": LiRA(),
        "calibrated_out": CalibratedAttack(),
        "calibrated_midpoint": CalibratedAttack(reference="midpoint"),
        "log_likelihood": None,
    }
    for temperature in pool.temperatures_:
        attacks[f"rmia_{temperature:g}"] = RMIA(temperature=temperature)
    parts = {
        name: LogLikelihood(pool) if attack is None else compare_with(attack, pool, records)
        for name, attack in attacks.items()
    }
    if parts["lira_votes"].likelihood == "normal":
        del parts["lira_votes"]
    return parts | _show_lira_priors(parts["lira"])


def _show_lira_priors(lira):
    """Return comparisons that show what LiRA estimates, with its priors."""
    shown = {name: copy.copy(lira) for name in _SHOWN}
    for name, part in shown.items():
        part.law = ShownLaw(_SHOWN[name])
    return shown


def list_scores(names):
    """Return the columns of the features that are scores of membership, by name."""
    others = {*_SHOWN, SIMILAR}
    return {name: column for column, name in enumerate(names) if name not in others}


def check_pool_size(pool, rate):
    """Refuse a pool that is too small to learn a stack from, or to promise a rate."""
    n_models = getattr(pool, "n_estimators", pool)
    if not isinstance(n_models, Integral):
        return  # which the pool refuses
    if n_models < FEWEST_MODELS:
        raise TooFewModelsError(
            "StackedAttack learns from shadow models that are treated as the victim, and "
            f"requires a pool of at least {FEWEST_MODELS} models; this pool has {n_models}."
        )
    if rate is not None and n_models < FEWEST_FOR_RATE:
        raise TooFewModelsError(
            f"target_fpr={rate:g} cannot be promised with {n_models} shadow models; "
            f"use a pool of at least {FEWEST_FOR_RATE} models, or target_fpr=None."
        )


# Bytes that are held of a record at once.
_BYTES_OF_RECORD = 480.0

# Number of records of the pool that the stack is learned from.
_N_SAMPLE = 1 << 13

# Number of folds of the records.
_N_FOLDS = 4

# 2 ** 64 divided by the golden ratio, an odd number whose multiples are spread evenly.
_MIXER = np.uint64(0x9E3779B97F4A7C15)

# Standard errors by which what is learned with few models must be ahead of a single score, which
# does not change with the number of models that remain.
_MARGIN = 1.0


def fold_records(columns):
    """Deal records into folds by their columns in the pool, at random but always alike."""
    return (columns.astype(np.uint64) * _MIXER >> np.uint64(40)) % np.uint64(_N_FOLDS)


def _get_folds(shadows, models):
    """Return the fold of each record under each model."""
    return np.broadcast_to(shadows[-1, 0].astype(int), (len(models), shadows.shape[2]))


def ask_once(answers, victim, records):
    """Return no victim and records with its answers, unless it is asked about augmented copies."""
    if victim is None or answers.augment is not None:
        return victim, records
    return None, records.with_fields(outputs=query(victim, records))


class StackReader(PoolReader):
    """What the parts of a stack read of a pool, and the residuals of models on similar records.

    They are joined on the axis of the queries: readings, similar records, folds of the records.
    """

    surrounds_models = True

    def count_rows(self):
        around = self._comparison.around
        n_parts = len(self._comparison.readings) + max(1, len(around or [])) + 1
        return max(1, super().count_rows() // n_parts)

    def blocks(self, records):
        size, columns = self.count_rows(), self.answers.locate(records)
        blocks = [self.answers.blocks(records, size, what) for what in self._comparison.readings]
        for together in zip(*blocks, strict=True):
            rows, _, inside, n_in = together[0]
            around = self._surround(records[rows], columns[rows])
            shadows = self._join([values for _, values, *_ in together], columns[rows], around)
            yield rows, shadows, inside, n_in

    def read_columns(self, columns, near):
        values = [self.answers.values_at(columns, what) for what in self._comparison.readings]
        around = self.surround_columns(columns, near)
        return self._join(values, columns, around), self.answers.inside(columns)

    def find_near(self, columns, records, numbers):
        """Return columns whose records are given, and the weights of similar ones there."""
        if self._comparison.around is None:
            return None
        _, given, rows = np.intersect1d(columns, self.answers.locate(records), return_indices=True)
        return given, self._comparison.around.weigh(records, numbers, rows)

    def surround_columns(self, columns, near):
        """Return means over similar records; 0 where the record is not among the given."""
        if near is None:
            return []
        around, (given, weights) = self._comparison.around, near
        means = np.zeros((len(around), len(self.answers.membership), len(columns)))
        means[:, :, given] = around.of_models(weights, fold_records(columns[given]))
        return [means]

    def of_victim(self, victim, records):
        victim, records = ask_once(self.answers, victim, records)
        whole = self._comparison
        values = [self.answers.victim_values(victim, records, what) for what in whole.readings]
        self.answers.warn_of_victim(values[0], records, whole.readings[0])
        if whole.around is not None:
            # A single score that was chosen reads no other feature.
            is_read = whole.stack.chosen not in list_scores(whole.feature_names)
            around, shape = whole.around, (len(whole.around), len(records))
            values += [around.of_victim(around.weigh(records)) if is_read else np.zeros(shape)]
        return np.concatenate(values)

    def _surround(self, records, columns):
        """Return means over similar records, if any, of shape (n_means, n_estimators, n)."""
        around = self._comparison.around
        if around is None:
            return []
        if not self.surrounds_models:
            return [np.zeros((len(around), len(self.answers.membership), len(records)))]
        return [around.of_models(around.weigh(records), fold_records(columns))]

    def _join(self, values, columns, around):
        folds = fold_records(columns).astype(values[0].dtype)
        return np.concatenate([*values, *around, np.broadcast_to(folds, (1, *values[0].shape[1:]))])


class StackedComparison(Comparison):
    """Log odds of membership, learned from the scores of several comparisons."""

    least, reader = (1, 1), StackReader

    def __init__(self, pool, victim, records, prior):
        self.offset, self.n_queries = logit(1 - prior), pool.signals_.shape[1]
        reader = self._read(pool)
        judged = reader.can_judge(records)
        reader.refuse_unjudged(judged, records)
        self.parts, self.around, self._asked = fit_parts(pool, records), None, None
        self.readings = list(dict.fromkeys(part.reads for part in self.parts.values()))
        if pool.classes_ is not None and (victim is not None or "outputs" in records.fields):
            self._asked = ask_once(pool, victim, _draw_usable_records(records, judged))
            self.around = SimilarityFeatures(pool, *self._asked)
        self.feature_names = [*self.parts, *([] if self.around is None else [SIMILAR])]

    def _read(self, pool):
        """Return what reads the answers of a pool."""
        return StackReader(pool.to_answers(), self, StackedAttack.__name__)

    def learn(self, pool, records, boosted, rng):
        """Learn the stack from shadow models treated as the victim."""
        asked, self._asked = self._asked, None
        reader, n_models = self._read(pool), len(pool.membership_)
        columns, joins = reader.draw_columns(_N_SAMPLE), n_models >= FEWEST_FOR_RATE
        numbers = {_N_NEIGHBORS, *(NUMBERS if joins else ())}
        near = reader.find_near(columns, records, numbers)
        shadows, inside = reader.read_columns(columns, near)
        # Time and memory grow with their number.
        models, _ = choose_pairs(pool.design_, MOST_VICTIMS)
        features, judged = self._compare_in_place(reader, columns, shadows, inside, models)
        is_member, folds = inside[models][judged], _get_folds(shadows, models)[judged]
        for fold in range(_N_FOLDS):
            if len(np.unique(is_member[folds != fold])) < 2:
                place = " when another one is treated as the victim"
                raise TooFewModelsError(reader.say_too_few(len(columns), place))
        some, places = np.nonzero(judged)
        rows = StackRows(features, is_member, models[some], folds)
        scores, units = list_scores(self.feature_names), number_pairs(pool.design_)
        candidates = StackCandidates(rows, scores, boosted, rng)
        if near is None or not joins:
            self.stack = candidates.choose(units, 0.0 if joins else _MARGIN)
            return
        first, means = copy.copy(self), {}
        posterior = np.zeros((_N_FOLDS, *inside.shape))
        for fold, found in candidates.judge(features, folds).items():
            values = np.zeros(inside.shape)
            values[rows.models, places] = found
            self.around = first.around.join(columns, 0.0, values[None])
            around = reader.surround_columns(columns, near)[0][-len(NUMBERS) :]
            means[fold] = around[:, rows.models, places].T
            if fold is not None:
                posterior[fold] = values
        candidates.join(means)
        self.stack, self.around = candidates.choose(units, 0.0), first.around
        if self.stack.joins:
            rest = np.setdiff1d(np.arange(n_models), models)
            if len(rest):
                features, judged = self._compare_in_place(reader, columns, shadows, inside, rest)
                some, places = np.nonzero(judged)
                folds = _get_folds(shadows, rest)[judged]
                for fold, found in candidates.judge(features, folds).items():
                    if fold is not None:
                        posterior[fold, rest[some], places] = found
            first.stack = candidates.get_regression()
            self.around = first.around.join(columns, first._judge_victim(pool, *asked), posterior)

    def _compare_in_place(self, reader, columns, shadows, inside, models):
        """Return features where models can be treated as the victim, and where that is."""
        answers = reader.answers
        others = choose_others(answers.design, inside, columns, models)
        judged = find_judged(reader, inside, answers.n_inside[columns], models, others)
        left = self._leave_out(reader, models)
        return left._collect_left_out(shadows, inside, models, others, judged)[judged], judged

    def _judge_victim(self, pool, victim, known):
        """Return posteriors of membership of the victim, from -1 to 1."""
        reader = self._read(pool)
        return np.tanh(self._score_records(reader, known, reader.of_victim(victim, known)) / 2)

    def _score_records(self, reader, records, target):
        reader.surrounds_models = False  # of the similar records, only the victim's are read
        return super()._score_records(reader, records, target)

    def _by_reading(self, values):
        first = self.n_queries * np.arange(len(self.readings))
        rows = zip(self.readings, first, strict=True)
        return {what: values[start : start + self.n_queries] for what, start in rows}

    def _get_around(self, values):
        first = self.n_queries * len(self.readings)
        return list(values[first : first + len(self.around or [])])

    def score(self, target, shadows, inside, outside):
        around = self._get_around(target)
        target, shadows = self._by_reading(target), self._by_reading(shadows)
        features = [
            part.score(target[part.reads], shadows[part.reads], inside, outside)
            for part in self.parts.values()
        ] + around
        return self.stack.log_odds(np.column_stack(features))

    def _leave_out(self, reader, models):
        stack = copy.copy(self)
        rest = {
            name: part._leave_out(PoolReader(reader.answers, part, name), models)
            for name, part in self.parts.items()
            if name not in _SHOWN
        }
        stack.parts = rest | _show_lira_priors(rest["lira"])
        return stack

    def _collect_left_out(self, shadows, inside, models, others, judged):
        """Return features with models treated as the victim, of shape (n_chosen, n, n_features)."""
        around = self._get_around(shadows[:, models])
        shadows = self._by_reading(shadows)
        features = [
            score_in_place(part, shadows[part.reads], inside, models, others, judged)
            for part in self.parts.values()
        ] + around
        return np.stack(features, axis=-1)

    def _score_left_out(self, shadows, inside, models, others):
        folds = _get_folds(shadows, models)
        judged = np.ones(folds.shape, dtype=bool)
        features = self._collect_left_out(shadows, inside, models, others, judged)
        return self.stack.log_odds(features[judged], folds.ravel()).reshape(folds.shape)

    def _aim_at(self, rate, n_models):
        # What is learned with two models less flags more non-members with all of them, the more the
        # farther out the threshold lies: at a rate of 0.01, simulations gave 0.0118, 0.0120, 0.0104
        # and 0.0100 with 8, 16, 32 and 64 models (standard errors below 0.0005), at 0.05 a twelfth
        # too many with 8. So it aims lower by two models at 0.1, and by three at 0.01.
        return rate * (1 - (1 - np.log10(rate)) / n_models)


class StackedAttack(PosteriorMixin, PoolAttack):
    r"""Stack of the scores of several attacks, learned on the models of the pool.

    The features of a record are its scores under :class:`LiRA` in three forms (four for models that
    vote), :class:`RMIA` at each temperature of the pool and :class:`CalibratedAttack` with both
    means; the log-likelihood of the label; the level, IN-OUT gap and spread that LiRA estimates;
    and for classifiers a feature of the outputs for similar records. Up to 16 shadow models are
    treated as the victim in turn. Because their training sets are known, a logistic regression and
    boosted trees can be trained on their features to separate members and non-members. The
    membership of the victim's records is not used. The candidates for the final score are each
    single score, the logistic regression, and its sum with the trees. The candidate with the
    largest AUC on the shadow models is used, unless a candidate that also uses the scores of
    similar records is ahead of it by two standard errors. The score is the log odds of membership.

    Parameters
    ----------
    victim : fitted estimator, default=None
        Model under attack. If None, the predictions stored by :meth:`skmia.Records.with_outputs`
        are used.
    shadows : ShadowPool or int
        A pool of at least 4 models, fitted or not; an unfitted one is fitted once on the table from
        which the records given to ``fit`` were taken. An int is the number of clones of the victim
        to train.
    boosted : bool, default=True
        Whether the sum of the log odds of the logistic regression and of boosted trees is tried. It
        is a candidate if the trees raise the AUC by more than 0.001 on a first fold.
        Without it, the attack takes a fraction of the time and is a little weaker.
    prior : float, default=0.5
        Share of members assumed in :meth:`predict_proba` and in the threshold.
    target_fpr : float, default=None
        Without ``membership``, the threshold is set so that this share of non-members is flagged,
        as measured on shadow models treated as the victim; at least 8 models are required. The rate
        holds only if the victim was trained like the shadow models and on as many records
        (``max_samples`` of the pool); ``fit`` warns if it was not.
    random_state : int, RandomState instance or None, default=None
        Controls the draw of at most 10,000 rows on which the trees are trained, and a pool that is
        trained.

    Attributes
    ----------
    feature_names_ : list of str
        Names of the features.
    chosen_ : str
        Parts of the score: ``"logistic regression"``, ``"logistic regression + trees"``,
        ``"joint"`` or the name of a feature.
    power_ : DataFrame
        Power of all candidates on the shadow models, with standard errors, as of
        :func:`skmia.model_selection.choose_by_power`. The power of the chosen candidate is the
        largest of several, and therefore slightly too high if they differ by chance. The power of
        ``"joint"`` is also too high if near copies are members of the same models.
    offset_ : float
        Threshold of the score; by default the log odds of a non-member, 0 for ``prior=0.5``.
    pool_ : ShadowPool
        The fitted pool.
    classes_ : ndarray of shape (2,)
        ``[0, 1]``.

    Raises
    ------
    ValueError
        If the pool has fewer than 4 models, or fewer than 8 and ``target_fpr`` is set, or no record
        has both IN and OUT models, or a record is not in the pool.

    See Also
    --------
    LiRA : One of the parts, at a fraction of the time.
    RMIA : One of the parts, often the strongest if a model hardly leaks.

    Notes
    -----
    A model that is treated as the victim is removed from the pool together with its complementary
    model, or in a balanced design with another model of its block. Otherwise the number of
    remaining IN models would reveal its members.

    Logistic regression and trees are added because the trees have few distinct values, so that one
    non-member among the highest scores costs all low rates. They are learned five times: on all
    records, and without each of four folds of them. The scores of a fold by the models without it
    measure the power, set the threshold, and give the slope and the intercept with which the sum
    becomes log odds; scores of rows that the models have seen would be too good. Folds are of
    records, because the rows of one record with different models treated as the victim depend on
    each other: each of these models is among those that the others are compared with.
    Trees take a third of the time and often add nothing: they are fitted without a first fold
    alone, and are a candidate only if they raise the AUC by more than 0.001 there.

    If a model hardly leaks, the classifiers learn mostly noise, and a single score such as that of
    RMIA is stronger. With fewer than 8 models, a learned candidate must be ahead of it by a
    standard error of the difference.

    What is learned with the models that remain is used with all of them, and their scores reach a
    little farther. The threshold for `target_fpr` therefore aims at a rate that is lower by the
    share of two models at a rate of 0.1, of three at 0.01 and so on, as simulations with 8 to 64
    models called for. With 8 and 16 models and four kinds of pools, a rate of 0.01 was then 0.005
    to 0.011.

    The signal of a record also depends on which similar records of its class the model was trained
    on. ``similar_records`` is the mean, over the 64 most similar records of the class, of the
    signal minus its level, weighted by the cosine of standardized features; the membership of these
    records is not used. They are searched among at most 8192 of the records given to ``fit``, which
    need a victim or its stored outputs; otherwise this feature is left out.

    With 8 models or more and this feature, ``"joint"`` is a candidate as well: a logistic
    regression on the log odds of the first one and on how likely similar records are to be members
    of the same model, plus the log odds of the trees. It reads the means of these probabilities,
    which the first one gives, over the 4 and the 64 most similar records. If neighbors are members,
    they explain a high score of the record; if copies of a record are members together, they add to
    it. ``"joint"`` is chosen if it is ahead by two standard errors.

    A record without an IN model, or without an OUT model, has the neutral score, just below 0, see
    :meth:`can_judge`.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from skmia import ShadowPool
    >>> from skmia.attacks import StackedAttack
    >>> from skmia.datasets import make_membership_problem
    >>> records, membership = make_membership_problem(300, random_state=0)
    >>> members = records[membership == 1]
    >>> model = RandomForestClassifier(10, random_state=0).fit(members.X, members.y)
    >>> pool = ShadowPool(model, n_estimators=8, random_state=0).fit(records)
    >>> attack = StackedAttack(model, pool, random_state=0).fit(records)
    >>> bool(attack.score(records, membership) > 0.5)
    True
    """

    _learns_in_place = True
    _compares = COMPARED_JOINTLY
    _parameter_constraints = {
        **PoolAttack._parameter_constraints,
        "boosted": ["boolean"],
        "prior": [Interval(Real, 0, 1, closed="neither")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        victim: BaseEstimator | None = None,
        shadows: ShadowPool | Frozen | int | None = None,
        *,
        boosted: bool = True,
        prior: float = 0.5,
        target_fpr: float | None = None,
        random_state: Seed = None,
    ) -> None:
        self.victim = victim
        self.shadows = shadows
        self.boosted = boosted
        self.prior = prior
        self.target_fpr = target_fpr
        self.random_state = random_state

    def _needs(self):
        return replace(super()._needs(), uses=RMIA().needs().uses)

    def expect_cost(self, X: Records) -> Cost:
        """Estimate the memory and the time of the attack with a fitted pool.

        Parameters
        ----------
        X : Records of n records
            Labeled records that :meth:`fit` and :meth:`score_samples` would get.

        Returns
        -------
        cost : Cost
            Memory in bytes, and seconds on one core. Most of them go into the search for similar
            records, which grows with the number of records.

        Examples
        --------
        >>> from skmia.attacks import StackedAttack
        >>> from skmia.datasets import make_membership_problem
        >>> records, membership = make_membership_problem(random_state=0)
        >>> StackedAttack().expect_cost(records).what
        'similar records of 1,000 records of 20 columns'
        """
        n, n_columns = len(X), int(np.prod(np.shape(X.X)[1:], dtype=np.int64))
        what = f"similar records of {n:,} records of {n_columns:,} columns"
        return Cost(_BYTES_OF_RECORD * n, _expect_seconds(X), what)

    def _fit(self, records, membership):
        check_pool_size(unwrap(self.shadows), self.target_fpr if membership is None else None)
        super()._fit(records, membership)

    def _compare(self, records):
        comparison = StackedComparison(self.pool_, self.victim, records, self.prior)
        rng = check_random_state(self.random_state)
        comparison.learn(self.pool_, records, self.boosted, rng)
        self.feature_names_ = comparison.feature_names
        self.chosen_, self.power_ = comparison.stack.chosen, comparison.stack.power
        return comparison
