"""The attack whose numbers are told, chosen on shadow models."""

# The highest of several numbers is too high by chance, the more the fewer records there are. The
# training sets of shadow models are known, so that all attacks are compared on each of them as on a
# victim. Who is a member of the real victim plays no part in it, and the numbers of the chosen
# attack need no correction for the choice. Another attack replaces it only where its whole interval
# on the victim is above.

import copy
from dataclasses import replace

import numpy as np

from .._core.budget import is_of_memory
from .._core.outputs import Outputs
from .._core.pseudo_victims import count_pseudo_victims
from ..base import (
    measure_pseudo_victims,
    score_pseudo_victims,
    treats_models_as_victims,
)
from ..signals import ScaledLogit
from ._measure import OK
from ._run import draw_sample, take_sampled_records

# More records take longer, and where there are as many the choice matters little.
_MOST_RECORDS = 5_000


def rank_attacks_on_models(case, run, clock):
    """Add to a run which attacks are strongest on shadow models, by the number that is told."""
    if run.pool is None or len(run.scores) < 2:
        return run
    rows = draw_sample(len(case.records), case.subsets, _MOST_RECORDS, case.seeds["checks"])
    records = take_sampled_records(case.records, rows)
    with clock("repetitions"):
        n_models = min(count_pseudo_victims(len(records)), len(run.pool.membership_))
        found, stated = {}, {}
        for name, attack in run.fitted.items():
            if hasattr(attack, "expected_auc_"):
                # It has solved the answers of the victim, and says by them alone what it reaches.
                if attack.expected_auc_ is not None:
                    stated[name] = (attack.expected_auc_,)
                continue
            scored = _score_models(attack, run.pool, records, np.arange(n_models))
            power = () if scored is None else measure_pseudo_victims(scored, case.fprs)
            power = [one for one in power if not np.isnan(one).any()]
            if power:
                found[name] = tuple(np.mean(power, axis=0))
    orders = {("auc", None): _sort_by(stated | found, lambda power: power[0])}
    for place, rate in enumerate(case.fprs, start=1):
        orders["tpr", rate] = _sort_by(found, lambda power, at=place: (power[at], power[0]))
    return replace(run, orders=orders)


def _sort_by(found, figure):
    """Return names of the attacks, the strongest first; of equal ones the first that was named."""
    return sorted(found, key=lambda name: figure(found[name]), reverse=True)


def _score_models(attack, pool, records, models):
    """Return scores, membership and judged records of each model as the victim, or None."""
    try:
        if treats_models_as_victims(attack):
            return score_pseudo_victims(attack, records, models)
        return _score_alone(attack, pool, records, models)
    except Exception as error:
        # A pool may have too few models in, or out, for some records, and an attack may read more
        # of a victim than a pool keeps.
        if isinstance(error, ValueError | TypeError) or is_of_memory(error):
            return None
        raise


def _score_alone(attack, pool, records, models):
    """The same of an attack that compares with no shadow models, by what the pool keeps of them."""
    if pool.signal_ != ScaledLogit.name or attack.needs().access - {"optimum"}:
        return None
    if any(treats_models_as_victims(part) for part in vars(attack).values() if _is_attack(part)):
        return None  # an attack inside would compare a model with itself, and seem the strongest
    attack = copy.copy(attack)
    attack.victim = None  # so that it reads stored answers
    values, inside = pool.values(records)[0], pool.inside(pool.locate(records))
    scores = np.empty((len(models), len(records)))
    for place, k in enumerate(models):
        answers = Outputs(values[k], kind="log_odds")
        scores[place] = attack.score_samples(records.with_fields(outputs=answers))
    return scores, inside[models], np.ones(scores.shape, dtype=bool)


def _is_attack(part):
    return hasattr(part, "needs") and hasattr(part, "score_samples")


def mark_told(rows, orders):
    """Say for each row of the results whether its attack is the one that is told of its number."""
    parts, listed = {}, list(dict.fromkeys(row["attack"] for row in rows))
    for row in rows:
        rate = row["max_fpr"] if row["metric"] == "tpr" else None
        parts.setdefault((row["scope"], row["group"], row["metric"], rate), {})[row["attack"]] = row
    told = set()
    for (_, _, metric, rate), found in parts.items():
        # The guesses of an attack go with its ranks.
        order = orders.get(("auc" if metric == "advantage" else metric, rate), [])
        order = [*order, *(name for name in listed if name not in order)]
        best = _choose_first([found[name] for name in order if name in found])
        if best is not None:
            told.add(id(best))
    return [{**row, "told": id(row) in told} for row in rows]


def _choose_first(rows):
    """Return the first row that was measured, unless another one is above it without doubt.

    Intervals that lie apart are rare where attacks are equally strong, so that an attack that could
    not be compared on shadow models, or is stronger on the victim, is not lost.
    """
    rows = [row for row in rows if row["status"] == OK]
    best = None
    for row in rows:
        if best is None or row["low"] > best["high"]:
            best = row
    return best
