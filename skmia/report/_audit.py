"""The audit: four values in a row, from a case to its report."""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Any, Literal, ParamSpec

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics import r2_score
from sklearn.pipeline import Pipeline

from .._core.brief import NamedScores
from .._core.guesses import check_keywords
from .._core.kinds import is_regressor
from .._core.numbers import to_array
from .._core.outputs import PREDICTIONS
from .._core.progress import show_stages
from .._core.provenance import PartClock, list_versions, tell_time
from .._core.query import unwrap
from .._core.records import Records
from .._core.threads import all_on_one_thread
from .._core.types import ArrayLike, Frozen, Rows, Seed
from ..defenses import PrivacyLedger
from ..shadow import ShadowPool
from ..signals import Confidence
from ..victims import CallableVictim
from ._case import SIDES, choose_records, is_light, list_shares, make_plan, open_case
from ._choice import rank_attacks_on_models
from ._examine import examine, withhold
from ._file import attack_file, examine_audited_file, list_unread_files
from ._left_out import digest_audited
from ._pace import tell_pace
from ._report import AuditReport
from ._run import make_empty_run, repeat_attack, run_attacks
from ._surrogate import describe_reference, with_stand_in
from .agreement import with_agreement

_P = ParamSpec("_P")

# Where an object is in memory differs between two runs of the same audit.
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+(?=>)")
# A path in quotes; only its last name is kept, because the folders are private.
_FULL_PATH = re.compile(r"""(['"])(?:/|[A-Za-z]:[/\\])[^'"]*?([^'"/\\]+)[/\\]*\1""")


def describe_circumstances(case, run, clock, n_before):
    """Return the circumstances of an audit."""
    notes = [*case.notes, *run.notes, *_name_other_victims(run.attacks, case.victim)]
    notes += [*_add_up_private_fits(case), *_name_declared_weights(case)]
    notes += getattr(run.pool, "notes_", [])
    notes += list_unread_files(case)
    n_records, n_members = len(case.membership), int(case.membership.sum())
    sizes = {"n_members": n_members, "n_nonmembers": n_records - n_members}
    if n_before is not None:
        sizes["n_queries"] = _count_service_queries(case.victim) - n_before
    if case.left_out is not None:
        sizes |= case.left_out.counts
    return {
        "victim": _show_on_one_line(case.victim),
        "victim_name": _name_victim(case.victim),
        "task": "regression" if is_regressor(case.victim) else "classification",
        "data": {"n_records": n_records, **sizes},
        "performance": _measure_performance(case),
        "settings": _list_audit_settings(case, run.pool),
        "seeds": case.seeds,
        "seconds": clock.read(),
        "versions": list_versions(),
        "created": tell_time(),
        "notes": [" ".join(note.split()) for note in notes],  # of other packages, several lines
    }


def _add_up_private_fits(case):
    """Say what private fits cost together, if the model writes them into a ledger."""
    for model in (case.request.estimator, case.victim):
        values = model.get_params().values() if hasattr(model, "get_params") else ()
        for ledger in values:
            if isinstance(ledger, PrivacyLedger):
                delta = getattr(case.victim, "delta_", 0.1 / max(1, int(case.membership.sum())))
                try:
                    epsilon = ledger.epsilon(delta)
                except (ValueError, OSError) as error:  # no reason to lose the audit
                    return [f"What all private fits cost together is not known. {error}"]
                return [
                    f"The ledger holds {len(ledger.read()):,} private fits, those of shadow models "
                    f"included. What all of them release together has epsilon {epsilon:.3g} at "
                    f"delta {delta:.3g}; the model alone has its own epsilon."
                ]
    return []


def _name_declared_weights(case):
    """Say that a private net relies on weights that were declared to be public."""
    for model in (case.request.estimator, unwrap(case.victim)):
        values = model.get_params(deep=True) if hasattr(model, "get_params") else {}
        declared = [values[name] for name in values if name.split("__")[-1] == "public_weights"]
        if any(value is True for value in declared):
            return [
                "The private net began with weights that are declared not to depend on private "
                "rows (public_weights=True); its epsilon relies on that."
            ]
    return []


def _count_service_queries(victim):
    """Return rows that a service was asked for so far; None for other victims."""
    return getattr(unwrap(victim), "n_queries_", None)


def _measure_performance(case):
    """Fit of the victim on members and non-members, computed from its stored outputs.

    A classifier is assumed to predict the class of its largest probability or decision value; if
    only log odds of the labels are known, their mean probability is taken. R2 needs two records and
    is NaN for fewer.
    """
    outputs, y = case.request.outputs, case.records.y
    sides = {"members": case.membership, "nonmembers": ~case.membership}
    if outputs.kind in PREDICTIONS:
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
    """Yield notes on attacks with their own victim.

    Their numbers do not describe the audited model.
    """
    for name, attack in attacks.items():
        settings = attack.get_params().items()
        held = [unwrap(model) for key, model in settings if key.split("__")[-1] == "victim"]
        others = [
            model for model in held if model is not None and not _is_same_victim(model, victim)
        ]
        if others:
            yield (
                f"{name} attacks a model that it holds itself, {_show_on_one_line(others[0])}, "
                f"and not the "
                "audited one; its numbers describe that model."
            )


def _is_same_victim(model, other):
    if isinstance(model, CallableVictim) and isinstance(other, CallableVictim):
        return model.function is other.function  # its clones query the same model
    return model is other


def _list_audit_settings(case, pool):
    return {
        "attacks": {name: _show_on_one_line(attack) for name, attack in case.attacks.items()},
        "n_shadows": 0 if pool is None else len(pool.membership_),
        "shadow_estimator": None if pool is None else _show_on_one_line(pool.estimator),
        "group": case.group,
        "fprs": case.fprs,
        "confidence_level": case.level,
    }


def _name_victim(model):
    """Return the class of what predicts, and what it is in."""
    where = ""
    while isinstance(model, Pipeline) or hasattr(model, "best_estimator_"):
        inner = isinstance(model, Pipeline)
        where = f" in a {'Pipeline' if inner else 'search'}{where}"
        model = unwrap(model[-1] if inner else model.best_estimator_)
    return f"{type(model).__name__}{where}"


# XGBoost shows its many parameters that were not set as well.
_MOST_CHARACTERS = 10_000
_UNSET = re.compile(r"\w+=(?:None|nan), |, \w+=(?:None|nan)|, \.\.\.")


def _show_on_one_line(estimator):
    """Return representation on one line, without addresses, and with paths cut to their name."""
    text = repr(estimator)
    if "XGB" in text and isinstance(estimator, BaseEstimator):
        text = estimator.__repr__(N_CHAR_MAX=_MOST_CHARACTERS)
    text = _ADDRESS.sub("", _FULL_PATH.sub(r"\1\2\1", " ".join(text.split())))
    return _UNSET.sub(
        lambda found: re.sub(r"\w+=(?:None|nan), |, \w+=(?:None|nan)", "", found[0]), text
    )


# Parameters of an audit that are its model and its records.
OF_DATA = "victim", "records", "membership", "train", "held_out"


def _names_the_forms(function: Callable[_P, AuditReport]) -> Callable[_P, AuditReport]:
    """Say how an audit is written if it is called with other arguments than it has."""
    names = tuple(signature(function).parameters)

    @wraps(function)
    def checked(*args: _P.args, **kwargs: _P.kwargs) -> AuditReport:
        check_keywords("audit", kwargs, names)
        if len(args) > 3:
            raise TypeError(f"audit got {len(args)} arguments by position. Write {SIDES}.")
        return function(*args, **kwargs)

    return checked


@_names_the_forms
def audit(
    victim: BaseEstimator | None,
    records: Records | None = None,
    membership: ArrayLike | None = None,
    *,
    train: tuple[Rows, ArrayLike] | Records | None = None,
    held_out: tuple[Rows, ArrayLike] | Records | None = None,
    attacks: Literal["default"] | Mapping[str, BaseEstimator] = "default",
    shadows: Literal["auto"] | int | ShadowPool | Frozen = "auto",
    time_budget: float | None = None,
    max_bytes: float | Literal["auto"] = "auto",
    estimator: BaseEstimator | None = None,
    group: str | Sequence[str] | None = None,
    fprs: Sequence[float] = (0.01, 0.001),
    confidence_level: float = 0.95,
    controls: bool = False,
    file: bool = True,
    fit_params: Mapping[str, Any] | Callable[..., Mapping[str, Any]] | None = None,
    batched: Literal["auto"] | bool = "auto",
    checkpoint: str | Path | None = None,
    n_jobs: int | None = None,
    random_state: Seed = None,
    verbose: int = 0,
) -> AuditReport:
    """Attack a victim in several ways and measure how well its members are identified.

    The victim is queried once, and the shadow models are trained once. No attack knows which of the
    records that it scores are members: its threshold is its own or comes from other records, so the
    advantage of its guesses is not biased.
    Before the first shadow model, the audit asks whether the model knows the records, see
    :func:`skmia.report.agreement.check_agreement`; if it does not, the audit ends without numbers
    and without a verdict, and says what cures it.
    Records with a label that the victim does not know are left out, counted in ``data`` and said in
    ``notes``, and so are then members of classes that no non-member has; if more than a tenth of a
    side has such a label and chance does not explain it, the audit is refused. Records with a
    sample weight of 0, on which the model was not trained, are left out however many they are.
    The audit also checks whether the numbers can be trusted: whether members and non-members come
    from one population, whether records have copies on the other side (with a warning above 10%),
    and whether the attacks do better than under permuted membership.

    Parameters
    ----------
    victim : estimator or None
        Classifier or regressor. It may be fitted; if it is unfitted, a clone of it is trained on
        the members. It is not changed. If it is unfitted and the records hold stored predictions (a
        field ``outputs``), these are attacked instead, and the estimator is only used to train
        shadow models; ``membership`` is then required. None for stored predictions of a model whose
        recipe is not known.
    records : Records of n records, default=None
        Labeled records, members and non-members mixed. Records with the same value of a field
        ``group_by`` stay together in the training sets of the shadow models. If None, `train` and
        `held_out` are required.
    membership : array-like of shape (n,), default=None
        1 for the records that the victim was trained on, 0 for others. If None, an unfitted victim
        is trained on a random half of the records.
    train, held_out : tuple (X, y) or Records, default=None
        In place of `records` and `membership`: the data that the victim was trained on, and data
        of the same population that it was not trained on, as features and task labels. See
        :meth:`Records.from_sides`; positions of records in the report count from the first record
        of `train`.
    attacks : "default" or mapping of str to attack, default="default"
        Unfitted attacks by name: attacks on membership, or classifiers that combine them or
        :class:`~skmia.signals.Signals`, such as a Pipeline, a stack or a search. ``victim`` and
        ``shadows`` parameters that are None are set; stored outputs are read if they suffice.
        Attacks that learn from known members are cross-fitted in five folds: each record is scored
        by an attack that has learned from the other folds, and its score is its rank within its
        fold. Their intervals are computed for half as many records, because folds that are similar
        by chance count twice. The needs of each attack are compared with what is available before a
        shadow model is trained, see :class:`skmia.base.Needs`; an attack that cannot run, or fails,
        is left out and named in ``notes``. For each number, one attack is reported first, the
        strongest on shadow models treated as the victim; without them the first one of the mapping.
        "default": a threshold on the loss, :class:`~skmia.attacks.LiRA` and
        :class:`~skmia.attacks.RMIA`, from 4 shadow models on :class:`~skmia.attacks.StackedAttack`,
        and :class:`~skmia.attacks.AnalyticLiRA` for linear models; with a fifth as many
        coefficients as members or more, :class:`~skmia.attacks.recovered.RecoveredModelAttack` for
        linear models and :class:`~skmia.attacks.recovered.JointAnswersAttack` for naive Bayes and
        discriminant analysis.
    shadows : "auto", int or ShadowPool, default="auto"
        Number of shadow models to train, even, or a pool of them fitted on the records, of which
        the victim must be none. "auto" trains 8 models and doubles them, up to 64, as long as the
        next doubling is expected to bring more than models differ by. Both are measured on shadow
        models treated as the victim, so the numbers of the audit need no correction for the choice:
        by the TPR of the strongest attack at the lowest of `fprs` from 0.01 on, or by its AUC if
        the records do not resolve that rate. ``growth`` of the report says what each doubling
        brought, and what the next one would cost and bring. The result is the same as for that
        number of models, unless `checkpoint` holds linear models of a larger pool: those agree with
        it to the tolerance of their solver.
    time_budget : float, default=None
        Seconds after the start of the audit within which "auto" must have trained its shadow
        models. No doubling begins that would take longer by the time that models took so far.
        Growth then begins with 4 models, which are trained in any case. The checks that follow have
        no limit.
    max_bytes : float or "auto", default="auto"
        Memory that each attack without shadow models, the attack on the file, and each check may
        use in addition to the table: what would hold more reads a part of the file, or a random
        sample of the records, or is left out with a note. "auto" allows 500 MB, or ten times the
        table if that is more, and an attack on the file 1 GB at most.
    estimator : estimator, default=None
        Estimator that is cloned for each shadow model and for the check of drift. If None, the
        victim is cloned. A function, and stored predictions alone, cannot be trained: a stand-in is
        then chosen among logistic regression, naive Bayes, a tree of depth 3, neighbors, a forest,
        a forest with leaves of 5 and boosting (for numbers ridge regression and the others but
        naive Bayes), the one whose answers are nearest to the victim's for non-members that it was
        not trained on. That takes 14 fits; for images, tokens and texts there is none.
    group : str or list of str, default=None
        Fields of the records; the numbers are also reported for each of their values. For a
        classifier of up to twenty classes, they are always reported by ``class``.
    fprs : sequence of float, default=(0.01, 0.001)
        False positive rates, as fractions in (0, 1], at which the true positive rate is reported;
        at least one.
    confidence_level : float, default=0.95
        Confidence level of each interval; one minus it is the significance level of the verdict.
        At most 0.9999, which takes 99,999 permutations of membership.
    controls : bool, default=False
        Whether to also attack a victim that must be detected and one that must not be, see
        :func:`positive_control` and :func:`negative_control`. This takes the training of 16 trees
        and of one more victim.
    file : bool, default=True
        Whether to attack the file of the victim as well, by
        :class:`~skmia.attacks.ReleasedModelAttack`: what someone learns who is handed the model
        instead of its answers. Its numbers and its verdict are apart, in ``report.file``. A service
        and stored predictions have no file.
    fit_params : dict or callable, default=None
        Further parameters of ``fit`` for every model like the victim that is trained here, as in
        :class:`~skmia.ShadowPool`: validation rows for early stopping, for example. Sample weights
        are the field ``sample_weight`` of the records; records of weight 0 are left out, with a
        note.
    batched : "auto" or bool, default="auto"
        Whether many shadow models are trained at once, as in :class:`~skmia.ShadowPool`.
    checkpoint : str or Path, default=None
        Folder that keeps every finished shadow model, as in :class:`~skmia.ShadowPool`: an audit
        that was interrupted continues from there if it is run again with the same records, model
        and ``random_state``. The controls, and pools that attacks train themselves, are not kept.
    n_jobs : int, default=None
        Number of shadow models trained in parallel. The results do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Controls the training of the shadow models and all other randomness. Pass an int for
        reproducible results.
    verbose : int, default=0
        1 shows one progress bar over all stages, and how much time is left: it follows from one fit
        and one answer of a clone. While "auto" may train more shadow models, the most is named,
        too.

    Returns
    -------
    report : AuditReport
        Numbers and checks; its ``notes`` say what was left out and why.

    Raises
    ------
    TypeError, ValueError, NotFittedError
        If the victim cannot predict for the records, is frozen and not fitted, or is fitted and no
        membership is given; if a parameter is out of range; if membership does not hold 0 or 1
        for each record, and both of them; if neither or both of the two forms of data are given; or
        if many records have labels that the victim does not know.

    See Also
    --------
    skmia.ShadowPool : Trains the shadow models.
    skmia.report.agreement.check_agreement : Asks whether a model knows a table.
    blind_baseline, drift_test, permutation_test, find_duplicates :
        Run these checks without an audit.
    positive_control, negative_control : Run the controls without an audit.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skmia import Records, audit
    >>> from skmia.attacks import LiRA
    >>> X, y = make_classification(200, flip_y=0.2, random_state=0)
    >>> X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
    >>> victim = DecisionTreeClassifier(random_state=0).fit(X_train, y_train)
    >>> report = audit(
    ...     victim, train=(X_train, y_train), held_out=(X_test, y_test), random_state=0
    ... )
    >>> report.evidence
    'leak'
    >>> report.settings["n_shadows"]
    8
    >>> report.file.evidence
    'leak'

    The same with records, which can have fields such as groups:

    >>> records, membership = Records.from_sides((X_train, y_train), (X_test, y_test))
    >>> settings = {"attacks": {"LiRA": LiRA()}, "file": False}
    >>> report = audit(victim, records, membership, random_state=0, **settings)
    >>> frame = report.to_frame()
    >>> auc = frame.query("attack == 'LiRA' and metric == 'auc' and scope == 'overall'")
    >>> bool(auc["estimate"].item() > 0.6)
    True
    """
    settings = {name: value for name, value in locals().items() if name not in OF_DATA}
    with show_stages(list_shares(file), verbose), ExitStack() as limits:
        clock, n_before = PartClock(), _count_service_queries(victim)
        records, membership = choose_records(records, membership, train, held_out)
        case = open_case(victim, records, membership, clock, **settings)
        limits.enter_context(all_on_one_thread(is_light(case)))
        case = with_agreement(case, clock)
        if case.agreement.is_stop:
            of_file, run, findings = None, make_empty_run(), withhold(case)
        else:
            case = with_stand_in(case, clock)
            plan = make_plan(case.attacks, case.request, case.records)
            of_file = attack_file(case, clock)  # first, so that a time budget includes it
            run = run_attacks(case, plan, clock)
            tell_pace(case, case.agreement.pace, clock.read())
            run = rank_attacks_on_models(case, repeat_attack(case, run, clock), clock)
            run = replace(run, file_scores=None if of_file is None else of_file.scores)
            findings = examine(case, run, clock)
        positions, names = records._list_positions(), records.fields.get("record_id")
        if case.left_out is not None:
            positions = case.left_out.kept
            names = None if names is None else names[positions]
            records = records[positions]
        return AuditReport(
            findings=findings,
            file=examine_audited_file(case, of_file, findings),
            growth=run.growth,
            reference=describe_reference(case, run),
            scores=NamedScores(run.scores),
            judged=run.judged,
            membership=case.membership,
            record_ids=positions if names is None else to_array(names, "record_id"),
            positions=positions,
            people=case.people,
            attacks="default" if case.are_default else case.attacks,
            records_digest=digest_audited(records),
            **describe_circumstances(case, run, clock, n_before),
        )


audit.__module__ = "skmia"  # from where it is imported
