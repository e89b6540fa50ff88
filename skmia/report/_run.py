"""The attacks on a victim, the best of them on shadow models: the second value of an audit."""

import warnings
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from .._core.budget import describe_lack, is_of_memory
from .._core.progress import StageStep, enter_stage, expect_stages
from .._core.pseudo_victims import count_pseudo_victims
from .._core.splits import draw_rows
from .._training.checkpoint import FolderCheckpoint
from ..base import (
    assign_folds,
    connect,
    cross_fit,
    get_pool,
    is_open,
    judge_records,
    learns,
    list_repeatable,
    measure_models,
    needs_of,
    parts_of,
)
from ..disparity import play_pool
from ..exceptions import CheckpointError
from ..metrics import check_resolution as is_resolved
from ..model_selection import power_curve
from ..shadow import UNLIKE_POOL
from ._budget import leave_out_costly, with_memory
from ._case import ALONE, ATTACKS, CHECKS, SHADOWS, make_pool, prepare_attack
from ._measure import OVERALL, rank_attacks
from ._pool_size import (
    ENOUGH,
    MEMORY,
    MOST,
    SIZES,
    TIME,
    UNMEASURED,
    foresee_size,
    is_enough,
)
from ._words import describe_with_class

# Attacks are repeated on up to 32 shadow models, and groups are compared over all of them.
MOST_REPEATED = 200_000

ALL = slice(None)


def draw_sample(n_records, subsets, most, seed, units=None):
    """Draw records at random, all of a unit together, so that no group is short of records.

    About most records are drawn, and further ones of small groups, half as many at most.

    Return rows of shape (k,): positions in order; slice(None) for all records.
    """
    if n_records <= most:
        return ALL
    groups = (mask for scope, _, mask in subsets if scope != OVERALL)
    return draw_rows(n_records, most, seed, groups, most // (2 * len(subsets)), units)


def take_sampled_records(records, rows):
    """Return the records of a sample; all of them as they are, for a selection would read X."""
    return records if isinstance(rows, slice) and rows == ALL else records[rows]


# Number of models treated as the victim, for each number of shadow models.
_N_TARGETS = 8


def measure_power(attack, records):
    """Return the AUC of an attack by the number of its shadow models."""
    repeated = clone(attack).set_params(shadows=attack.pool_)
    curve = power_curve(repeated, records, n_targets=_N_TARGETS, max_fprs=())
    rows = curve["auc"].groupby("n_estimators").agg(["mean", "std", "count"])
    return [
        {
            "n_shadows": int(size) - 2,
            "auc": row["mean"],
            "sd": row["std"],
            "n_models": int(row["count"]),
        }
        for size, row in rows.iterrows()
    ]


_MOST_ROUNDS = 32


class ControlRounds(NamedTuple):
    """Guesses about the records of each model, and its training set, of shape (n_rounds, k).

    Both are those of GroupGuesses, for the records at rows.
    """

    guesses: np.ndarray
    membership: np.ndarray
    rows: np.ndarray | slice = ALL


class AttackRepetitions(NamedTuple):
    """An attack on shadow models that are treated as the victim, or why there is none."""

    attack: str | None = None  # its name
    rounds: ControlRounds | None = None  # on one model of each pair
    power: list | None = None  # as returned by measure_power
    obstacle: str | None = None  # why there is none
    is_failure: bool = False  # whether they would have been possible, had memory sufficed


def repeat_attack(case, run, clock):
    """Treat shadow models as the victim of the best attack that can attack them."""
    n_records = len(case.records)
    rows = draw_sample(n_records, case.subsets, MOST_REPEATED, case.seeds["checks"])
    enter_stage(CHECKS)
    with clock("repetitions"):
        repetitions = _repeat_attacks(case, run, rows)
    notes, n_drawn = list(run.notes), n_records if isinstance(rows, slice) else len(rows)
    if repetitions.obstacle is None and n_drawn < n_records:
        drawn = f"{n_drawn:,} of {n_records:,} records, drawn at random"
        notes.append(f"Shadow models were treated as the victim on {drawn}.")
    return replace(run, repetitions=repetitions, notes=notes)


def _repeat_attacks(case, run, rows):
    ranked = rank_attacks(run.scores, case.membership, run.judged)
    able = list_repeatable({name: run.fitted[name] for name in ranked if name in run.fitted})
    if run.lack is not None:
        return AttackRepetitions(obstacle=run.lack, is_failure=True)
    if not able:
        return AttackRepetitions(obstacle="No attack compares the victim with shadow models.")
    name, attack = next(iter(able.items()))
    records = take_sampled_records(case.records, rows)
    try:
        rounds = ControlRounds(*play_pool(attack, records, _MOST_ROUNDS), rows)
        return AttackRepetitions(name, rounds, measure_power(attack, records))
    except Exception as error:
        if is_of_memory(error):
            return AttackRepetitions(
                obstacle=_UNREPEATED.format(describe_lack(error)), is_failure=True
            )
        if not isinstance(error, ValueError):
            raise  # a pool may have too few models in, or out, for some records
        return AttackRepetitions(obstacle=f"Shadow models cannot be treated as the victim: {error}")


_UNREPEATED = "Shadow models were not treated as the victim: {}; audit fewer records."


# Number of shadow models if no attack can be repeated on them.
_SIZE_UNMEASURED = 16

# Lower rates vary so much between models that the power at this one says as much about them.
_LOWEST_RATE = 0.01


class GrowingPool:
    """A pool whose models are kept while it grows, and the seconds that they take."""

    def __init__(self, pool, records):
        self.pool, self._records, self.size = pool, records, 0
        self._folder = None if pool.checkpoint is None else FolderCheckpoint(pool.checkpoint)
        self._n_trained, self._seconds = 0, 0.0

    @property
    def seconds_per_model(self):
        """Mean over the models that were trained here; None if none was."""
        return self._seconds / self._n_trained if self._n_trained else None

    def grow(self, size):
        """Train the further models. If all are in the checkpoint, the pool may also shrink."""
        n_missing, start = self._count_missing(size), perf_counter()
        try:
            self._fit(size)
        except CheckpointError:
            if self._folder is not None or not self.size:
                raise
            # Models that cannot be identified cannot be kept, so all are trained again.
            self.pool.set_params(warm_start=False)
            n_missing = size
            self._fit(size)
        self.size = size
        if n_missing > 0:
            self._n_trained += n_missing
            self._seconds += perf_counter() - start

    def fits(self, size, seconds):
        """Return whether the further models are expected to take at most so many seconds."""
        start = perf_counter()
        if self._n_trained == 0 and self._count_missing(size) > 0:
            # All models so far come from a checkpoint: the next ones show how long one takes.
            before = self.size
            some = range(before + 2, size + 1, 2)
            self.grow(next(k for k in some if self._count_missing(k) > 0))
            self.grow(before)
        n_missing = self._count_missing(size)
        left = seconds - (perf_counter() - start)
        return n_missing <= 0 or n_missing * self.seconds_per_model <= left

    def _count_missing(self, size):
        if self._folder is not None:
            return size - self._folder.count_kept(size)
        return size - (self.size if self.pool.warm_start else 0)

    def _fit(self, size):
        try:
            self.pool.set_params(n_estimators=size).fit(self._records)
        except KeyboardInterrupt as error:
            if self._folder is None:  # its note would say what is kept in memory until the end
                vars(error).pop("__notes__", None)
            raise


def grow_pool(case, plan, clock):
    """Train shadow models until further ones would hardly change what the audit finds.

    After each doubling, the attacks are repeated on the pool's own models, whose training sets are
    known. The victim, its outputs and its membership play no part, so that the numbers of the audit
    need no correction for the choice.
    """
    growing = GrowingPool(make_pool(case.request, plan.keeps), case.records)
    meter = _PowerMeter(case, plan)
    growing.grow(SIZES[1] if case.time_budget is None else SIZES[0])
    powers, reason = {}, None
    while reason is None:
        for size in SIZES[: SIZES.index(growing.size) + 1]:
            if size not in powers:
                powers[size] = meter.measure(growing.pool.first(size))
        steps = _list_growth_steps(powers, meter.choose_figure(powers))
        reason = _why_stop(steps, growing.size)
        if reason is None and case.time_budget is not None:
            left = case.time_budget - clock.elapsed()
            reason = None if growing.fits(2 * growing.size, left) else TIME
        if reason is None:
            _tell_growth(growing, steps)
            reason = None if _grow_if_memory(growing) else MEMORY
    # Results of single models, which are kept for growing, take as much memory as the pool.
    return growing.pool.first(growing.size), {
        "n_shadows": growing.size,
        "reason": reason,
        **meter.choose_figure(powers),
        "steps": steps,
        "seconds_per_model": growing.seconds_per_model,
        "time_budget": case.time_budget,
    }


def _tell_growth(growing, steps):
    """Say how long the models take that will probably be trained, if the stages are shown."""
    if growing.seconds_per_model is not None:
        size = foresee_size(steps, growing.size)
        expected = StageStep(size * growing.seconds_per_model, n_parts=size, most_parts=SIZES[-1])
        expect_stages({SHADOWS: expected})


def _grow_if_memory(growing):
    """Train until there are twice as many models; return whether memory sufficed.

    If it did not, the models that there were stay.
    """
    try:
        growing.grow(2 * growing.size)
    except Exception as error:
        if not is_of_memory(error):
            raise
        return False
    return True


_AUC = {"metric": "auc", "max_fpr": None}


class _PowerMeter:
    """The power of the attacks of an audit on the models of its pool."""

    def __init__(self, case, plan):
        self._request = case.request
        attacks = list_repeatable(plan.attacks)
        self._attacks = {name: one for name, one in attacks.items() if is_open(one, "shadows")}
        records = case.records
        # What the victim answered is of no use here, and no attack can read it by accident.
        self._records = records._without("outputs") if "outputs" in records.fields else records
        n_nonmembers = len(records) // 2
        usual = [rate for rate in case.fprs if rate >= _LOWEST_RATE] or [_LOWEST_RATE]
        resolved = [rate for rate in usual if is_resolved(n_nonmembers, rate, "ignore")]
        self._rate = min(resolved, default=None)

    def choose_figure(self, powers):
        """The TPR at the lowest rate that was asked for, unless it cannot be measured or is 0."""
        found = [values[:, 1].any() for power in powers.values() for values in power.values()]
        is_rate = self._rate is not None and any(found)
        return {"metric": "tpr", "max_fpr": self._rate} if is_rate else _AUC

    def measure(self, pool):
        """Measure AUC and TPR, of shape (n_models, 2), of each attack that can be repeated."""
        n_wanted = count_pseudo_victims(len(self._records))
        # The first models are also those of a larger pool. Both models of a pair are among them.
        models = np.arange(min(n_wanted // 2 * 2, len(pool.membership_)))
        found = {}
        for name, attack in self._attacks.items():
            attack = prepare_attack(attack, self._request)
            attack.set_params(victim=None, shadows=pool)
            try:
                found[name] = measure_models(
                    attack, self._records, models, self._rate or _LOWEST_RATE
                )
            except Exception as error:
                # A pool may have too few models in, or out, for some records.
                if not isinstance(error, ValueError) and not is_of_memory(error):
                    raise
        return {name: values for name, values in found.items() if not np.isnan(values).any()}


def _list_growth_steps(powers, figure):
    """Return what each number of models brought to the strongest attack, where it was measured."""
    steps, before = [], None
    for size, power in powers.items():
        if not power:
            continue
        column = int(figure["metric"] == "tpr")
        values = {name: found[:, column] for name, found in power.items()}
        strongest = max(values, key=lambda name: values[name].mean())
        here = values[strongest]
        steps.append(
            {
                "n_shadows": size,
                "attack": strongest,
                "power": float(here.mean()),
                "sd": float(here.std(ddof=1)),
                "n_models": len(here),
                **_compare_growth(here, before),
            }
        )
        before = here
    return steps


def _why_stop(steps, size):
    """Return why no further models are needed, or None."""
    if size >= SIZES[-1]:
        return MOST
    if not steps or steps[-1]["n_shadows"] < size:
        return UNMEASURED if size >= _SIZE_UNMEASURED else None
    return ENOUGH if is_enough(steps) else None


def _compare_growth(here, before):
    """Return the mean growth over the models that were attacked before, and its standard error."""
    if before is None:
        return {"gain": None, "gain_standard_error": None}
    n_common = min(len(here), len(before))
    gains = (here[:n_common] - before[:n_common]).reshape(-1, 2).mean(axis=1)  # by pair
    error = gains.std(ddof=1) / np.sqrt(len(gains))
    return {"gain": float(gains.mean()), "gain_standard_error": float(error)}


@dataclass(frozen=True, eq=False)
class Run:
    """Scores and guesses of the attacks, their shadow models, and what was left out.

    Attributes
    ----------
    attacks : dict of str to attack
        Attacks that ran, in their unfitted state.
    fitted : dict of str to attack
        The same attacks fitted, without those that are cross-fitted.
    scores, guesses : dict of str to ndarray of shape (n,)
    judged : dict of str to ndarray of shape (n,), dtype bool
        Records that the attack can judge.
    tested : dict of str to ndarray of shape (n,), dtype bool
        Records on which the attack is compared with chance.
    pool : ShadowPool or None
    notes : list of str
        Sentences on what was left out and why.
    left_out : list of str
        A sentence on each attack that did not run.
    growth : dict or None
        How the audit chose the number of shadow models, see :func:`grow_pool`.
    repetitions : AttackRepetitions or None
        The best attack on shadow models, once :func:`repeat_attack` has run it.
    orders : dict
        By metric and false positive rate, the attacks from the strongest on shadow models on.
    file_scores : ndarray of shape (n,) or None
        Scores of the attack on the file, which share the checks of the records.
    lack : str or None
        Why there are no shadow models, if memory did not suffice for them.
    """

    attacks: dict
    fitted: dict
    scores: dict
    guesses: dict
    judged: dict
    tested: dict
    pool: Any
    notes: list
    growth: dict | None = None
    left_out: list = ()
    repetitions: AttackRepetitions | None = None
    orders: dict = field(default_factory=dict)
    file_scores: np.ndarray | None = None
    lack: str | None = None


def make_empty_run():
    """Return the run of an audit that ended before its first attack."""
    return Run({}, {}, {}, {}, {}, {}, None, [])


def run_attacks(case, plan, clock):
    """Attack a victim in several ways with one pool of shadow models.

    Attacks without shadow models run first. An attack that fails is left out. Attacks that learn
    from known members learn from other records than those that they score.
    """
    plan = leave_out_costly(case, plan)
    pooled, found, failures = _run_all(plan, case, clock)
    notes = [*plan.notes, *pooled.notes, *failures]
    if not found:
        raise ValueError(f"No attack could run on this victim. {' '.join(notes)}")
    names = [name for name in plan.attacks if name in found]
    scores, guesses, judged = ({name: found[name][1][k] for name in names} for k in range(3))
    return Run(
        attacks={name: plan.attacks[name] for name in names},
        fitted={name: found[name][0] for name in names if found[name][0] is not None},
        scores=scores,
        guesses=guesses,
        judged=judged,
        tested={name: _choose_tested(case, *found[name]) for name in names},
        pool=pooled.pool,
        growth=pooled.growth,
        lack=pooled.lack,
        left_out=[*plan.notes, *failures],
        notes=notes + [note for name in names for note in _count_unjudged(name, judged[name])],
    )


def _run_all(plan, case, clock):
    """Return shadow models, the result of each attack that ran, a sentence on each that failed."""
    with_pool = {name: bool(needs_of(attack).keeps) for name, attack in plan.attacks.items()}
    pooled, found, failures = None, {}, []
    enter_stage(ALONE)
    for name in sorted(plan.attacks, key=with_pool.get):
        attack = plan.attacks[name]
        if with_pool[name] and pooled is None:
            enter_stage(SHADOWS)
            with clock(SHADOWS):
                pooled = _get_pool(plan, case, clock)
            enter_stage(ATTACKS)
        if with_pool[name] and pooled.lack is not None and _is_open(attack):
            failures.append(f"{name} was left out: {pooled.lack}")
            continue
        try:
            with clock(name):
                attack, pool = prepare_attack(attack, case.request), pooled and pooled.pool
                attack = connect(attack, case.request.victim, pool, stored=True)
                found[name] = _judge_victim(case, with_memory(attack, case))
        except Exception as error:  # whatever it is, the other attacks can still run
            why = _say_undeclared(error, case.request.victim) or describe_with_class(error)
            failures.append(f"{name} was left out: {why}")
    return pooled or SharedPool(), found, failures


def _is_open(attack):
    return any(is_open(part, "shadows") for part in parts_of(attack))


def _say_undeclared(error, victim):
    """Return what cures an attack that queries its victim and does not say so.

    None for other errors.

    An attack without access to the victim gets stored outputs, and None for the victim.
    """
    name = getattr(error, "name", None)
    if getattr(error, "obj", error) is not None or not hasattr(victim, name or ""):
        return None
    return (
        f"it calls victim.{name} without declaring it. Read the stored outputs with "
        "skmia.base.query(self.victim, records), or return a Needs with "
        "access=frozenset({'queries'}) from _needs."
    )


class SharedPool(NamedTuple):
    """The shadow models that the attacks share."""

    pool: Any = None
    growth: dict | None = None
    notes: tuple = ()
    lack: str | None = None  # why there are none, if memory did not suffice


def _get_pool(plan, case, clock):
    """Return the fitted pool that the attacks share, and how it grew; nothing without a pool."""
    request = case.request
    if not plan.keeps:
        return SharedPool()
    if not request.trains_pool:
        pool = get_pool(request, case.records)
        _refuse_own_pool(case, pool.to_answers())
        return SharedPool(pool)
    try:
        if request.chooses_size:
            return SharedPool(*grow_pool(case, plan, clock))
        return SharedPool(make_pool(request, plan.keeps).fit(case.records))
    except Exception as error:
        if not is_of_memory(error):
            raise
        return _train_fewer(case, plan, error)


def _refuse_own_pool(case, answers):
    """Refuse a given pool with the victim in it, which would be compared with itself."""
    if answers.signals.shape[1] > 1:  # of augmentations no outputs are stored, and attacks warn
        return
    k = answers.find_victim(answers.victim_values(None, case.queried), case.queried)
    if k is not None:
        raise ValueError(
            f"shadows: shadow model {k} of the pool is the model to audit, which answers exactly "
            "as it does and would be compared with itself. Make the pool of the other models, "
            "such as by ShadowPool.from_models or a pool with another seed."
        )


def _train_fewer(case, plan, error):
    """The fewest shadow models that attacks take, one after the other, after memory was short."""
    fewest = SIZES[0]
    request = case.request._replace(shadows=fewest, n_jobs=1)
    if request.checkpoint is None:  # of a folder, the way of training is settled
        request = request._replace(batched=False)
    try:
        pool = make_pool(request, plan.keeps).fit(case.records)
    except Exception as again:
        if not is_of_memory(again):
            raise
        why = describe_lack(again)
        return SharedPool(lack=f"No shadow models could be trained: {why}; audit fewer records.")
    note = (
        f"{fewest} shadow models were trained, one after the other: for more at once, "
        f"{describe_lack(error)}."
    )
    return SharedPool(pool, notes=(note,))


def _judge_victim(case, attack):
    """Return the fitted attack, or None if it is cross-fitted, and its judgment of the records."""
    queried, seed = case.queried, case.request.attack_seed
    if learns(attack):
        fitted, judged = None, cross_fit(attack, queried, case.membership, seed)
    else:
        fitted = attack.fit(queried)
        with warnings.catch_warnings():
            # The checks of the model and of its shadow models tell of it, for all attacks at once.
            warnings.filterwarnings("ignore", UNLIKE_POOL)
            judged = judge_records(fitted, queried)
    if not np.isfinite(judged.scores).all():
        raise ValueError(
            f"{np.sum(~np.isfinite(judged.scores))} of {len(queried)} scores are not finite."
        )
    return fitted, judged


def _choose_tested(case, fitted, judged):
    """Return records whose scores do not depend on how membership was assigned to them.

    Attacks that learn from known members are cross-fitted: the scores of one fold depend on the
    membership of the others, so the scores of all folds vary by more than permutations show. The
    scores of a single fold come from one attack that has not seen the membership of its records.
    """
    if fitted is not None:
        return judged.judged
    folds = assign_folds(case.queried, case.membership, case.request.attack_seed)
    return judged.judged & (folds == 0)


def _count_unjudged(name, judged):
    n_left_out = int((~judged).sum())
    if not n_left_out:
        return []
    records = "1 record" if n_left_out == 1 else f"{n_left_out:,} records"
    return [
        f"{records} cannot be judged by {name}, for lack of IN or OUT shadow models, and "
        f"{'is' if n_left_out == 1 else 'are'} left out of its numbers."
    ]
