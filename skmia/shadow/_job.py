"""The job of a pool: its training sets, its seeds, and what is kept of each model."""

from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np

from .._core.kinds import is_classifier, is_regressor
from .._core.numbers import refuse_first, show
from .._core.outputs import ProbabilityResolution
from .._core.query import CHUNK, check_tags, unwrap
from .._core.randomness import draw_integers
from .._core.records import Records, change_table, has_column
from .._core.sample_weights import weights_for
from .._core.splits import BlockDraws, PairDraws, compute_strata
from .._core.validation import check_records
from .._training.frozen import make_recipe
from .._training.identity import identify_values
from .._training.job import Job, JobData, KeptResults, settle_targets, warn_of_weights
from ..signals import AnswerSignal, ScaledLogit, auto_of, get_signal
from ..victims import is_trainable, keep_known_columns, say_left_out


def augmented(records, augment):
    """Return the records followed by their augmentations."""
    if augment is None:
        return [records]
    further = augment(records)
    further = [further] if hasattr(further, "fingerprint") else list(further)
    for changed in further:
        check_records(changed, targets=True)
        if len(changed) != len(records):
            raise ValueError(
                f"augment must keep the number of records; it returned {len(changed)} of "
                f"{len(records)}."
            )
    return [records, *further]


def check_temperatures(temperatures):
    """Check that temperatures are one or more different positive numbers."""
    numbers = [
        isinstance(temperature, Real) and not isinstance(temperature, bool)
        for temperature in temperatures
    ]
    if not (
        numbers and all(numbers) and all(0 < temperature < np.inf for temperature in temperatures)
    ):
        raise ValueError(
            f"temperatures must be one or more positive numbers; got {show(temperatures)}."
        )
    if len({float(temperature) for temperature in temperatures}) < len(temperatures):
        raise ValueError(f"temperatures must be different numbers; got {show(temperatures)}.")


def further_signals(signals):
    """Return the signals that are stored in addition to ``"auto"``."""
    if not any(isinstance(signal, str) and signal == "auto" for signal in signals):
        raise ValueError(
            'signals must hold "auto", which audits and thresholds read, and may hold further '
            f"signals; got {show(signals)}."
        )
    return [
        get_signal(signal) for signal in signals if not isinstance(signal, str) or signal != "auto"
    ]


def signals_of(kind, signals, temperatures):
    """Return all signals that a pool stores, the log odds at each temperature first."""
    auto = auto_of(kind)
    # Log odds cannot be converted to another temperature.
    is_tempered = auto == ScaledLogit() and kind != "log_odds"
    stored = [ScaledLogit(one) for one in temperatures] if is_tempered else [auto]
    return list(dict.fromkeys([*stored, *further_signals(signals)]))


def check_outputs_store(store, kind):
    """Refuse to keep the class probabilities of models that return labels."""
    if store == "outputs" and kind == "label":
        raise ValueError(
            'store="outputs" keeps class probabilities or decision values, and the models of this '
            'pool return labels alone; use store="signals" or store="models".'
        )


@dataclass(frozen=True)
class PoolKeeper:
    """Signals of the records and of each augmentation."""

    signals: tuple
    temperatures: tuple
    resolution: object
    store: str
    output_kind: str = "auto"

    @property
    def keeps_models(self):
        """Whether the models are kept, as pickles if there is a folder."""
        return self.store == "models"

    def __call__(self, trained):
        """Compute the signals of a trained model."""
        if self._suits_blocks(trained):
            raw, facts, classes = self._evaluate_blocks(trained)
            arrays = {"raw": raw}
        else:
            answers = [self._reduce(outputs) for outputs in trained.answers]
            first = answers[0]
            check_outputs_store(self.store, first.kind)
            step = first.compute_resolution() if self.resolution == "auto" else self.resolution
            stored = signals_of(first.kind, self.signals, self.temperatures)
            raw = [
                np.concatenate(
                    [_evaluate_signal(signal, trained, q, step, answers) for signal in stored]
                )
                for q in range(len(answers))
            ]
            # Targets have a row for each residual: (n_parts of all signals, n_queries, n).
            arrays = {"raw": np.stack(raw, axis=1).astype(np.float32, copy=False)}
            facts, classes = _describe_pool_part(stored, step, first), first.classes
        if classes is not None:
            arrays["classes"] = np.asarray(classes)
        if self.store == "outputs":
            arrays["outputs"] = first.values.astype(np.float32)
        return KeptResults(facts, arrays, trained.model if self.keeps_models else None)

    def _reduce(self, outputs):
        return outputs.as_labels() if self.output_kind == "label" else outputs

    def _suits_blocks(self, trained):
        """Whether signals can be computed block by block, without the outputs for all records."""
        return (
            len(trained.data.y) > CHUNK
            and not trained.is_asked
            and self.store != "outputs"
            and all(isinstance(signal, AnswerSignal) for signal in further_signals(self.signals))
        )

    def _evaluate_blocks(self, trained):
        """Return the signals of all records, facts and classes, with outputs of one block only."""
        y, resolution, raw = trained.data.y, ProbabilityResolution(), None
        step = 0.0 if self.resolution == "auto" else self.resolution
        for number, rows, full in trained.ask_in_blocks():
            outputs = self._reduce(full)
            if raw is None:
                stored = signals_of(outputs.kind, self.signals, self.temperatures)
                # The residuals of several targets come first, in as many rows.
                n_parts = outputs.shape[1] if outputs.kind == "values" else 1
                shape = (n_parts - 1 + len(stored), len(trained.data.tables), len(y))
                raw, first = np.empty(shape, np.float32), [0, *range(n_parts, shape[0] + 1)]
            if self.resolution == "auto" and number == 0 and outputs.kind == "proba":
                resolution.add(outputs.values)
            for place, signal in enumerate(stored):
                if not resolution.compute() or signal == ScaledLogit():
                    parts = slice(first[place], first[place + 1])
                    raw[parts, number, rows] = signal.raw_parts(outputs, y[rows], step)
        # Only the log odds without a temperature do not depend on the step of all blocks.
        again = [place for place, signal in enumerate(stored) if signal != ScaledLogit()]
        if resolution.compute():
            step = resolution.compute()
            for number, rows, full in trained.ask_in_blocks() if again else ():
                outputs = self._reduce(full)
                for place in again:
                    raw[place, number, rows] = stored[place].raw(outputs, y[rows], step)
        return raw, _describe_pool_part(stored, step, outputs), outputs.classes

    def describe(self):
        """Describe what else the signals depend on, for the identity of a checkpoint."""
        further = {repr(signal): signal for signal in further_signals(self.signals)}
        reduced = {} if self.output_kind == "auto" else {"output_kind": self.output_kind}
        return reduced | {
            "signals": identify_values(further),
            "residuals": "signed",
            "temperatures": [float(temperature) for temperature in self.temperatures],
            "resolution": self.resolution,
            "store": self.store,
        }

    def check(self, arrays, n_records):
        """Refuse arrays that cannot come from a model of this pool."""
        if arrays["raw"].ndim != 3 or arrays["raw"].shape[2] != n_records:
            raise ValueError(f"its signals have the shape {arrays['raw'].shape}")
        if ("outputs" in arrays) != (self.store == "outputs"):
            raise ValueError("it holds outputs where none were asked for, or lacks them")


def make_keeper(pool):
    """Return what keeps results of a model with the settings of a pool."""
    settings = tuple(pool.signals), tuple(pool.temperatures), pool.resolution, pool.store
    return PoolKeeper(*settings, pool.output_kind)


def _describe_pool_part(stored, step, outputs):
    """Return what the models of a pool have in common, and the step of this one."""
    return {
        "signal": stored[0].name,
        "step": float(step),
        "dtype": outputs.values.dtype.str,
        "kind": outputs.kind,
    }


def _evaluate_signal(signal, trained, query, step, answers):
    """Compute raw parts of a signal on the records, or on one of their augmentations."""
    if isinstance(signal, AnswerSignal):
        return signal.raw_parts(answers[query], trained.data.y, step)
    return signal.of(trained.model, Records(trained.data.tables[query], trained.data.y))[None]


# Models of a block of a balanced design. The gap between IN and OUT models has 8/7 of the variance
# that independent draws would give it (pairs: twice), and a pool can grow by 8 models.
BLOCK = 8

# Number of standard errors by which a variance must fall short of independent draws.
_N_ERRORS = 5


class SubsetDesign(NamedTuple):
    """Design of the training sets: how they depend on each other.

    Attributes
    ----------
    partners : ndarray of shape (n_estimators,)
        Model with the complementary training set, drawn together with this one; -1 for none.
    n_in, n_out : float
        Fixed numbers of IN and OUT models per record in each block of models; infinite if each
        training set was drawn independently.
    blocks : ndarray of shape (n_estimators,)
        Number of the block of each model. Blocks were drawn independently of each other.
    """

    partners: np.ndarray
    n_in: float
    n_out: float
    blocks: np.ndarray

    def first(self, n_estimators):
        """Return the design of the first models."""
        partners = self.partners[:n_estimators]
        return self._replace(
            partners=np.where(partners < n_estimators, partners, -1),
            blocks=self.blocks[:n_estimators],
        )


def one_block(partners, n_in=np.inf, n_out=np.inf):
    """Return a design whose models are all in one block."""
    return SubsetDesign(partners, n_in, n_out, np.zeros(len(partners), dtype=int))


def drawn_design(n_estimators, design):
    """Return the design of training sets that were drawn as the parameter of a pool says."""
    models = np.arange(n_estimators)
    if design == "balanced":
        alone = np.full(n_estimators, -1)
        return SubsetDesign(alone, BLOCK / 2, BLOCK / 2, models // BLOCK)
    return one_block(models ^ 1 if design == "paired" else np.full(n_estimators, -1))


def infer_design(membership, fingerprint):
    """Infer the design of training sets that were drawn elsewhere.

    Shapes: membership (n_estimators, n), fingerprint (n,).
    """
    _, place, n_equal = np.unique(fingerprint, return_inverse=True, return_counts=True)
    alone = n_equal[place] == 1
    membership = membership[:, alone] if alone.any() and not alone.all() else membership
    count = membership.sum(axis=0)
    varied = membership[:, (count > 0) & (count < len(membership))]
    if varied.shape[1] == 0:  # no record says who is the partner of whom
        return one_block(np.full(len(membership), -1))
    partners = _find_partners(varied)
    if (partners >= 0).any():
        return one_block(partners)
    n_in = varied.sum(axis=0)
    if varied.shape[1] > 1 and (n_in == n_in[0]).all():
        return one_block(partners, float(n_in[0]), float(len(varied) - n_in[0]))
    return _infer_whole(membership, count, partners)


def _infer_whole(membership, count, partners):
    """Estimate the fixed numbers of the whole design from the variance of the IN count."""
    n_models, n_records = membership.shape
    share = membership.mean(axis=1)
    # The variance of a sum of independent draws is the sum of their variances.
    ratio = count.var() / np.sum(share * (1 - share))
    if ratio >= 1 - _N_ERRORS * np.sqrt(2 / n_records):
        return one_block(partners)
    # If the number of IN models among N models is fixed, a sample of n models has (N - n) / (N - 1)
    # of this variance (sampling without replacement).
    n_whole = round((n_models - ratio) / (1 - ratio))
    n_in = round(n_whole * share.mean())
    return one_block(partners, float(n_in), float(n_whole - n_in))


def _find_partners(membership):
    n_models = len(membership)
    if n_models % 2 == 0 and not (membership[::2] & membership[1::2]).any():
        return np.arange(n_models) ^ 1
    packed = np.packbits(membership, axis=1)
    # The padding bits of the last byte are 0 in both, so they have to be compared as complements
    # too.
    complements = np.packbits(~membership, axis=1)
    place = {row.tobytes(): k for k, row in enumerate(packed)}
    return np.array([place.get(row.tobytes(), -1) for row in complements])


class PackedSets:
    """Training sets as bits, unpacked one at a time: the form in which they travel to workers."""

    def __init__(self, sets):
        self._n_records = len(sets[0])
        self._packed = [np.packbits(members) for members in sets]

    def __len__(self):
        return len(self._packed)

    def __getitem__(self, key):
        if isinstance(key, Integral):
            return np.unpackbits(self._packed[key], count=self._n_records).view(bool)
        return PackedSets([self[int(k)] for k in key])


class DrawnSets:
    """Training sets that are drawn when they are asked for, so that few are in memory at a time."""

    def __init__(self, draw, seeds, n_used):
        self._draw, self._seeds, self._n_used = draw, seeds, n_used
        self._last = None, None

    def __len__(self):
        return len(self._seeds) * self._n_used

    def __getitem__(self, key):
        if isinstance(key, Integral):
            if not 0 <= key < len(self):
                raise IndexError(f"there are {len(self)} training sets, none of number {key}")
            number, place = divmod(int(key), self._n_used)
            if self._last[0] != number:
                sets = self._draw(self._seeds[number])[: self._n_used]
                self._last = number, PackedSets(sets)
            return self._last[1][place]
        return PackedSets([self[int(k)] for k in key])

    def __array__(self, dtype=None, copy=None):
        sets = np.empty((len(self), len(self[0])), dtype=bool)
        for k in range(len(self)):
            sets[k] = self[k]
        return sets.astype(dtype or bool, copy=False)


def check_settings(pool):
    """Check parameters of a pool that are valid one by one."""
    if pool.estimator is not None:
        check_tags(unwrap(pool.estimator), "estimator")
    refuse_first(_list_conflicting_settings(pool))
    check_outputs_store(pool.store, pool._expected_kind())
    check_temperatures(pool.temperatures)
    further_signals(pool.signals)


def _list_conflicting_settings(pool):
    """Yield settings that do not go together, or not with the estimator."""
    n_models, name = pool.n_estimators, type(unwrap(pool.estimator)).__name__
    if pool.estimator is not None and not is_trainable(pool.estimator):
        yield (
            f"estimator must be a model that can be trained; {name} asks one that is fitted. Give "
            "an estimator of the kind that it was trained with, if it is known."
        )
    if pool.design == "paired" and n_models % 2:
        yield (
            "n_estimators must be even because shadow models come in complementary pairs "
            f'(design="independent" draws each by itself); got {n_models}.'
        )
    if pool.design == "balanced" and n_models % BLOCK:
        yield (
            f"n_estimators must be a multiple of {BLOCK} because shadow models come in blocks "
            f'(design="independent" draws each by itself); got {n_models}.'
        )
    if pool.on_disk and pool.checkpoint is None:
        yield "on_disk=True requires a folder for the files; set checkpoint."
    if pool.on_disk and pool.batched is True:
        yield (
            "batched=True trains many models at once, which on_disk=True does not; set "
            'batched="auto".'
        )
    if pool.output_kind == "label" and is_regressor(unwrap(pool.estimator)):
        yield f'output_kind="label" is for classifiers; {name} is a regressor.'


def list_unfit_for_targets(pool, records):
    """Yield settings of a pool, and models, that do not go with several targets."""
    if records.y.ndim > 1 and not is_regressor(unwrap(pool.estimator)):
        yield (
            f"y has {records.y.shape[1]} columns, and {type(unwrap(pool.estimator)).__name__} is "
            "not a regressor. skmia.victims.JointOutputs attacks all outputs of a classifier with "
            "several, and OneOutput one of them, with one task label per record."
        )
    if records.y.ndim > 1 and pool.on_disk:
        yield (
            "on_disk=True keeps one number per model and record, and the residuals of several "
            "targets are joined when all models are trained; set on_disk=False."
        )


def draw_entropy(random_state, checkpoint):
    """Return the entropy of all seeds; the first k models are the same for every total."""
    if random_state is None and checkpoint is not None:
        entropy = checkpoint.read_entropy()
        if entropy is not None:
            return entropy
    return draw_integers(random_state)


def draw_training_sets(pool, records, seeds):
    """Draw the training set of each shadow model.

    Return subsets of shape (n_estimators, n).
    """
    if isinstance(pool.max_samples, Integral):
        n_samples = pool.max_samples
    else:
        n_samples = int(np.ceil(pool.max_samples * len(records)))
    strata = compute_strata(records.y, is_classifier(unwrap(pool.estimator)))
    if pool.design == "balanced":
        if n_samples not in (len(records) // 2, (len(records) + 1) // 2):
            raise ValueError(
                'design="balanced" has each record IN for half of the models, which takes '
                f"max_samples=0.5; got {pool.max_samples}."
            )
        draw, n_used = BlockDraws(records, strata, BLOCK), BLOCK
    else:
        draw, n_used = PairDraws(records, strata, n_samples), 2 if pool.design == "paired" else 1
    sets = DrawnSets(draw, seeds.spawn(pool.n_estimators // n_used), n_used)
    return sets if pool.on_disk else np.asarray(sets)


def make_job(pool, records, entropy):
    """Make the job of training the models of a pool."""
    seeds = np.random.SeedSequence(entropy).spawn(1 + pool.n_estimators)
    subsets = draw_training_sets(pool, records, seeds[0])
    n_rows = int(subsets[0].sum())
    recipe = make_recipe(unwrap(pool.estimator), pool.refit_frozen, pool.fit_params, n_rows)
    estimator = recipe.estimator
    known = partial(keep_known_columns, unwrap(pool.estimator))
    tables = [change_table(copy, known).X for copy in augmented(records, pool.augment)]
    told = say_left_out(records.X, tables[0])
    job = Job(
        estimator=estimator,
        data=JobData(
            tables,
            records.y,
            weights_for(estimator, records),
            recipe.fit_params,
            has_column(records),
        ),
        subsets=subsets,
        seeds=seeds[1:],
        keep=make_keeper(pool),
        n_jobs=pool.n_jobs,
        most_together=_limit_batched(pool.batched),
    )
    job = settle_targets(job)
    return job, (
        *recipe.notes,
        *told,
        *job.data.form.describe(),
        *warn_of_weights(estimator, records),
    )


def _limit_batched(batched):
    return int(batched) if isinstance(batched, Integral) and batched > 1 else None


def describe_sampling(pool):
    """Return the parameters of the sampling, for a checkpoint."""
    return {"max_samples": pool.max_samples, "design": pool.design}
