"""The circumstances of an audit: data, fit of the victim, versions, time spent."""

import re

import numpy as np
from sklearn.base import is_regressor
from sklearn.metrics import r2_score
from sklearn.pipeline import Pipeline

from .._core.asking import unwrap
from .._core.circumstances import list_versions, tell_time
from ..defenses import PrivacyLedger
from ..signals import Confidence
from ..victims import CallableVictim

# A path in quotes; only its last name is kept, because the folders are private.
# Where an object is in memory differs between two runs of the same audit.
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+(?=>)")

_FULL_PATH = re.compile(r"""(['"])(?:/|[A-Za-z]:[/\\])[^'"]*?([^'"/\\]+)[/\\]*\1""")


def describe(case, run, clock):
    """The circumstances of an audit.

    Parameters
    ----------
    case : Case
    run : Run
    clock : Clock

    Returns
    -------
    circumstances : dict
        Attributes of an :class:`AuditReport`.
    """
    return {
        "victim": _show(case.victim),
        "victim_name": _name(case.victim),
        "task": "regression" if is_regressor(case.victim) else "classification",
        "data": _describe_data(case.membership),
        "performance": _measure_performance(case),
        "settings": _describe_settings(case, run.pool),
        "seeds": case.seeds,
        "seconds": clock.read(),
        "versions": list_versions(),
        "created": tell_time(),
        "notes": _join_lines(
            *case.notes,
            *run.notes,
            *_name_other_victims(run.attacks, case.victim),
            *_add_up_private_fits(case),
            *getattr(run.pool, "notes_", []),
        ),
    }


def _add_up_private_fits(case):
    """Say what private fits cost together, if the model writes them into a ledger."""
    for model in (case.request.estimator, case.victim):
        values = model.get_params().values() if hasattr(model, "get_params") else ()
        for ledger in values:
            if isinstance(ledger, PrivacyLedger):
                delta = getattr(case.victim, "delta_", 0.1 / max(1, int(case.membership.sum())))
                epsilon = ledger.epsilon(delta)
                return [
                    f"The ledger holds {len(ledger.read()):,} private fits, those of shadow models "
                    f"included. What all of them release together has epsilon {epsilon:.3g} at "
                    f"delta {delta:.3g}; the model alone has its own epsilon."
                ]
    return []


def _join_lines(*notes):
    """Put each note on one line; messages of other packages may have several."""
    return [" ".join(note.split()) for note in notes]


def _describe_data(membership):
    n_members = int(membership.sum())
    return {
        "n_records": len(membership),
        "n_members": n_members,
        "n_nonmembers": len(membership) - n_members,
    }


def _measure_performance(case):
    """Fit of the victim on members and non-members, computed from its stored outputs.

    A classifier is assumed to predict the class of its largest probability or decision value; if
    only log odds of the labels are known, their mean probability is taken. R2 needs two records and
    is NaN for fewer.
    """
    outputs, y = case.request.outputs, case.records.y
    sides = {"members": case.membership, "nonmembers": ~case.membership}
    if outputs.kind == "value":
        fit = {
            side: float(r2_score(y[rows], outputs.values[rows])) if rows.sum() > 1 else np.nan
            for side, rows in sides.items()
        }
        metric = "r2"
    else:
        is_told = outputs.classes is not None  # log odds do not tell the predicted class
        values = outputs.is_correct(y) if is_told else Confidence()(outputs, y)
        fit = {side: float(values[rows].mean()) for side, rows in sides.items()}
        metric = "accuracy" if is_told else "confidence"
    return {"metric": metric, **fit, "gap": fit["members"] - fit["nonmembers"]}


def _name_other_victims(attacks, victim):
    """Notes on attacks with their own victim: their numbers do not describe the audited model."""
    notes = []
    for name, attack in attacks.items():
        settings = attack.get_params().items()
        held = [unwrap(model) for key, model in settings if key.split("__")[-1] == "victim"]
        others = [model for model in held if model is not None and not _is_same(model, victim)]
        if others:
            notes.append(
                f"{name} attacks a model that it holds itself, {_show(others[0])}, and not the "
                "audited one; its numbers describe that model."
            )
    return notes


def _is_same(model, other):
    if isinstance(model, CallableVictim) and isinstance(other, CallableVictim):
        return model.function is other.function  # its clones query the same model
    return model is other


def _describe_settings(case, pool):
    return {
        "attacks": {name: _show(attack) for name, attack in case.attacks.items()},
        "n_shadows": 0 if pool is None else len(pool.membership_),
        "shadow_estimator": None if pool is None else _show(pool.estimator),
        "group": case.group,
        "fprs": case.fprs,
        "confidence_level": case.level,
    }


def _name(model):
    if not isinstance(model, Pipeline):
        return _show(model)
    *steps, last = (unwrap(step) for _, step in model.steps)
    return f"Pipeline({', '.join([*(type(step).__name__ for step in steps), _show(last)])})"


def _show(estimator):
    """The representation on one line, without addresses, and with paths cut to their name."""
    return _ADDRESS.sub("", _FULL_PATH.sub(r"\1\2\1", " ".join(repr(estimator).split())))
