"""What an audit of the command line attacks: a victim, its records and their membership."""

import argparse
import re
import shlex
import time
import warnings
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils.validation import has_fit_parameter

from .._core.containers import take_rows
from .._core.copies import is_fitted
from .._core.kinds import has_classes_of_several, is_classifier, is_regressor
from .._core.label_maps import match_labels, sort_by_value
from .._core.records import Records, has_column
from .._core.sample_weights import WEIGHTS, fit_weighted, name_parameter, weights_for
from .._core.splits import compute_strata
from .._core.targets import shape_targets
from .._training.job import Job, JobData, keep_model
from .._training.plan import plan_training
from ..datasets import load_sklearn
from ..report import (
    CLASS_NAME,
    LARGEST_SHARE,
    StoredAnswers,
    describe_draw,
    draw_members,
    find_shared_rows,
    join_names,
)
from ..victims import is_xgboost
from ._answers import read_answers
from ._features_and_target import (
    as_features,
    check_option_column,
    infer_task,
    name_other_value,
    read_halves,
    read_members,
    read_target,
)
from ._labels import can_be_numbered, check_known_labels, list_texts, map_labels, split_pairs
from ._model import load_model, make_estimator, needs_numbered_labels
from ._model_input import as_model_input, know_columns, match_features
from ._options import ONNX, CommandError, is_toy, lacks_a_recipe
from ._other_objects import describe_kind
from ._reading import make_reading, read_table

_MOST_NAMED = 8
_RESERVED_FIELDS = frozenset({"overall", "X", "y", "fields", "group_by", "outputs", WEIGHTS})
_RESERVED_FIELDS |= {CLASS_NAME}
# Words of classes, above which a target may hold numbers.
_MOST_WORDS = 100


class CommandProblem(NamedTuple):
    """A fitted victim, or the recipe of the model that gave stored answers if it is named.

    recipe is the estimator of shadow models, if they are not trained like the victim.
    """

    victim: object
    records: Records
    membership: np.ndarray
    notes: list
    groups: dict = {}
    recipe: object = None
    seconds: float | None = None  # that the victim took to be trained here
    fit_params: dict | None = None
    other_value: str | None = None  # of a column of members, for records that are not


def make_problem(arguments):
    """Read the files that the command line names; train the model if it names none."""
    if not is_toy(arguments):
        return _make_table(arguments)
    records = load_sklearn("digits")
    membership = _draw_members(records, True, arguments.seed)
    members = records[membership]
    start = time.perf_counter()
    victim = RandomForestClassifier(random_state=arguments.seed).fit(members.X, members.y)
    took = time.perf_counter() - start
    notes = ["The data are the digits that come with scikit-learn, and a random half are members."]
    return CommandProblem(victim, records, membership, notes, seconds=took)


def _draw_members(records, is_classification, seed):
    try:
        strata = compute_strata(records.y, is_classification)
        return draw_members(records, strata, np.random.default_rng(seed))
    except ValueError as error:
        raise CommandError(str(error)) from error


def _make_table(arguments):
    """Read model and tables, and make records, membership and what is said of them."""
    victim, known, read = None, None, read_command_tables
    if arguments.model is not None:  # opened first, as it says how columns are read
        trusted, classes = arguments.trust_pickle, arguments.classes or None
        victim = load_model(arguments.model, trust_pickle=trusted, classes=classes)
        known, read = know_columns(victim), partial(read, classes=list_texts(victim))
    frame, membership, notes = read(arguments, known)
    if victim is not None and arguments.target is None:
        arguments = _guess_target(arguments, frame, victim)
        guessed = f"The target is the column {arguments.target!r} (--target overrides)."
        notes.append(guessed)
    _check_named_columns(arguments, frame)
    features = _list_feature_columns(arguments, frame)
    if victim is not None and know_columns(victim, features).keys() != known.keys():
        # A model without names knows columns by their place among those that it is given.
        frame, membership, notes = read(arguments, know_columns(victim, features))
    fields, groups = _read_record_fields(frame, arguments)
    if arguments.members is not None:
        membership = read_members(frame, arguments.members, arguments.member_value)
    make = _train_victim if victim is None else partial(_take_victim, victim)
    if arguments.answers is not None:
        make = _take_answers
    problem = make(arguments, frame, features, fields, membership)
    _refuse_shared_rows(problem, arguments)
    if arguments.validation is not None:
        fit_params, told = _read_validation(arguments, features, victim)
        problem = problem._replace(fit_params=fit_params)
        notes += told
    problem = problem._replace(records=_keep_words(problem.records, frame[arguments.target]))
    if arguments.members is not None:
        given = arguments.members, arguments.member_value, problem.membership
        problem = problem._replace(other_value=name_other_value(frame, *given))
    return problem._replace(groups=groups, notes=[*notes, *problem.notes])


def _keep_words(records, column):
    """Keep the words of the table for the labels that the model has other names for.

    Results and limits name the classes by them: ``_name_classes`` in ``report/_measure.py``.
    """
    words = column.astype(str).to_numpy(dtype=object)
    labels = pd.Series(records.y).astype(str).to_numpy(dtype=object)
    if (labels == words).all():
        return records
    # A target of numbers, whose values are as many as its rows, has no classes.
    n_pairs = len({*zip(labels, words, strict=True)})
    is_number = n_pairs > _MOST_WORDS and n_pairs > len(records) // 2
    return records if is_number else records.with_fields(**{CLASS_NAME: words})


def _list_feature_columns(arguments, frame):
    """Return columns that no option names as something else."""
    leaving = {arguments.target, arguments.members, arguments.group_by, *arguments.drop}
    return [name for name in frame.columns if name not in {*leaving, arguments.weights}]


def _refuse_shared_rows(problem, arguments):
    """Refuse two files, or two sides of a table, that are made of the same rows."""
    shared = find_shared_rows(problem.records.fingerprint, problem.membership)
    if shared is None:
        return
    if arguments.train is None:
        raise CommandError(
            f"--members: {shared.describe('the members', 'the other rows')}; the other rows must "
            "be of the same population and unknown to the model"
        )
    told = shared.describe(arguments.train.name, arguments.held_out.name)
    raise CommandError(
        f"--train, --held-out: {told}; give as --held-out rows of the same population that the "
        "model was not trained on"
    )


def _check_weights_option(arguments, model):
    if arguments.weights is not None and name_parameter(model) is None:
        raise CommandError(f"--weights: fit of {type(model).__name__} takes no sample weights")


def _read_validation(arguments, features, victim):
    """Parameters of fit that let a booster stop early by the rows of a file, and notes on it."""
    if not has_fit_parameter(victim, "eval_set"):
        raise CommandError(f"--validation: fit of {type(victim).__name__} takes no eval_set")
    reading = make_reading(arguments, list_texts(victim))
    known = know_columns(victim, features)
    frame, notes = read_table(arguments.validation, "--validation", reading, known)
    names = match_features(victim, [*frame.columns]) or features
    for name in (arguments.target, *names):
        check_option_column(frame, name, "--validation")
    try:
        y, _ = _read_target_labels(arguments, frame, _name_task(victim), victim, fewest=1)
    except CommandError as error:
        raise CommandError(f"--validation: {error}") from error
    others = frame.drop(columns=arguments.target)
    X, told = as_model_input(victim, others, features, "--validation")
    # XGBoost prints a line for each round unless it is told.
    quiet = {"verbose": False} if is_xgboost(victim) else {}
    return {"eval_set": [(X, y)]} | quiet, [f"--validation: {note}" for note in (*notes, *told)]


def read_command_tables(arguments, known=None, classes=()):
    """Return table of the command line, membership if it comes as two files, and notes on files.

    known: what the model knows of each column, by its name; classes: its texts for the target.
    """
    reading = make_reading(arguments, classes)
    if arguments.train is not None:
        return read_halves(arguments.train, arguments.held_out, reading, known)
    frame, notes = read_table(arguments.data, reading=reading, known=known)
    return frame, None, notes


def _check_named_columns(arguments, frame):
    for option in ("target", "group_by", "weights"):
        name = getattr(arguments, option)
        if name is not None:
            check_option_column(frame, name, f"--{option.replace('_', '-')}")
    for option in ("drop", "group"):
        for name in getattr(arguments, option):
            check_option_column(frame, name, f"--{option}")
    if arguments.target in arguments.drop:
        raise CommandError(
            f"--drop: column {arguments.target!r} is the target and never a feature; name "
            "another column as --target, or leave it out of --drop"
        )


def _read_record_fields(frame, arguments):
    """Return fields of the records; of those to report by the name of each column as a field."""
    fields, groups = {}, {}
    if arguments.group_by is not None:
        column = frame[arguments.group_by]
        if column.isna().any():
            where = f"has no value in {column.isna().sum()} rows"
            raise CommandError(f"--group-by: column {arguments.group_by!r} {where}")
        fields["group_by"] = column.astype(str).to_numpy(dtype=object)
    if arguments.weights is not None:
        weights = pd.to_numeric(frame[arguments.weights], errors="coerce")
        if not (np.isfinite(weights) & (weights >= 0)).all():
            raise CommandError(
                f"--weights: column {arguments.weights!r} must hold a finite number of 0 or more "
                "in each row"
            )
        fields[WEIGHTS] = weights.to_numpy()
    for column in dict.fromkeys(arguments.group):
        if frame[column].isna().all():
            raise CommandError(f"--group: column {column!r} has no value in any row")
        name = re.sub(r"\W|^(?=\d)", "_", column)
        while name in _RESERVED_FIELDS or name in fields:
            name += "_"
        fields[name] = frame[column].to_numpy(dtype=object)
        groups[column] = name
    return fields, groups


class ModelRecipe(NamedTuple):
    """An unfitted model with its features, targets, task, and labels by their names."""

    estimator: object
    X: object
    y: np.ndarray
    task: str
    labels: dict


def _make_recipe(arguments, frame, features):
    task = arguments.task or infer_task(frame[arguments.target])
    y = read_target(frame, arguments.target, task)
    X = as_features(frame[features])
    name, classes = arguments.estimator or "random-forest", np.empty(0)
    labels = {str(label): label for label in np.unique(y)} if task == "classification" else {}
    if needs_numbered_labels(name, task):
        classes, y = np.unique(y, return_inverse=True)
        labels = {str(label): number for number, label in enumerate(classes)}
    estimator = make_estimator(name, X, task, arguments.seed, n_classes=len(classes))
    _check_weights_option(arguments, estimator)
    return ModelRecipe(estimator, X, y, task, labels)


def _describe_task(recipe, arguments):
    return f"Task: {recipe.task} of {arguments.target!r} (--task overrides)."


def _train_victim(arguments, frame, features, fields, membership):
    recipe = _make_recipe(arguments, frame, features)
    estimator, task, records = recipe.estimator, recipe.task, Records(recipe.X, recipe.y, **fields)
    notes = [_describe_task(recipe, arguments)]
    if membership is None:
        membership = _draw_members(records, task == "classification", arguments.seed)
        drawn = describe_draw(membership, "rows")
        notes.append(f"The members are {drawn} (--members names others).")
    if needs_numbered_labels(arguments.estimator, task):
        net = _train_net(estimator, records, membership, arguments)
        return CommandProblem(net, records, membership, notes)
    members, start = records[membership], time.perf_counter()
    y = shape_targets(estimator, members.X, members.y, has_column(members))
    victim = fit_weighted(estimator, members.X, y, weights_for(estimator, members))
    took = time.perf_counter() - start
    return CommandProblem(victim, records, membership, notes, seconds=took)


def _train_net(estimator, records, membership, arguments):
    """Return a net, which has no random_state, trained as its shadow models are.

    Batched, or not.
    """
    seeds = np.random.SeedSequence(arguments.seed).spawn(2)
    subsets, data = (
        np.array([membership, membership]),
        JobData([records.X], records.y, column=has_column(records)),
    )
    job = Job(estimator, data, subsets, seeds, keep_model, n_jobs=1)
    plan = plan_training(job, False if arguments.no_batching else "auto")  # tried on two models
    ((_, kept),) = plan.run(job._replace(subsets=subsets[:1], seeds=seeds[:1]))
    return kept.model


def _guess_target(arguments, frame, victim):
    """Return same options with the one column as the target that the model can have predicted."""
    features = match_features(victim, [*frame.columns]) or ()
    taken = {*map(str, features), arguments.members, arguments.group_by, *arguments.drop}
    taken.add(arguments.weights)
    free = [name for name in frame.columns if name not in taken]
    if has_classes_of_several(victim):
        raise CommandError(
            f"--model: {type(victim).__name__} has several outputs for each record; audit one of "
            "them in Python, by skmia.victims.OneOutput(model, k), or its answers, by --answers"
        )
    if _name_task(victim) == "regression":
        free = free if len(features) else []
        found = [name for name in free if infer_task(frame[name]) == "regression"]
        # Counts of few different values.
        found = found or [name for name in free if _holds_numbers(frame[name])]
    else:
        classes = {str(label) for label in victim.classes_}
        found = [name for name in free if set(frame[name].astype(str)) <= classes]
        # Labels that are written in another way, and those that were numbered: see propose_map.
        found = found or [name for name in free if _are_classes(frame[name], victim)]
        found = found or [name for name in free if _can_be_numbered(frame[name], victim)]
    if len(found) != 1:
        which = f"{len(found)} columns can be" if found else "no column is"
        named = [f"--target {shlex.quote(name)}" for name in found]
        listed = f": {' or '.join(named[:_MOST_NAMED])}" if found else ""
        if not found and _name_task(victim) == "classification":
            shown = join_names([repr(str(name)) for name in victim.classes_], _MOST_NAMED)
            listed = f": none holds its classes {shown}"
        raise CommandError(f"--target is needed, as {which} what the model predicts{listed}")
    return argparse.Namespace(**vars(arguments) | {"target": found[0]})


def _holds_numbers(column):
    is_bool = pd.api.types.is_bool_dtype(column.dtype)
    return pd.api.types.is_numeric_dtype(column.dtype) and not is_bool


def _are_classes(column, victim):
    labels = column.unique().tolist()
    if len(labels) <= len(victim.classes_) and match_labels(labels, victim.classes_) is not None:
        return True
    # Labels of a few rows may be unknown.
    known = [label for label in labels if match_labels([label], victim.classes_) is not None]
    return len(known) > 1 and column.isin(known).mean() >= 1 - LARGEST_SHARE


def _can_be_numbered(column, victim):
    return infer_task(column) == "classification" and can_be_numbered(column, victim.classes_)


_MOST_TRIED = 2_000  # rows


def _ask_some(victim, X, membership):
    """Return some of the rows that a model was trained on, and its labels for them.

    None if it fails.
    """
    rows = np.arange(len(X)) if membership is None else np.flatnonzero(membership)
    rows = np.sort(np.random.default_rng(0).permutation(rows)[:_MOST_TRIED])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return rows, np.asarray(victim.predict(take_rows(X, rows))).ravel()
    except Exception:  # what is wrong with the rows is said when the model is asked for all
        return None


def _check_target_option(arguments, victim):
    """Refuse a target that is one of the features that a model was trained on."""
    if arguments.target in map(str, getattr(victim, "feature_names_in_", ())):
        raise CommandError(
            f"--target: column {arguments.target!r} is a feature of the model; name the column "
            "that it predicts"
        )


def _take_victim(victim, arguments, frame, features, fields, membership):
    task = _name_task(victim)
    _check_target_option(arguments, victim)
    X, notes = as_model_input(victim, frame.drop(columns=arguments.target), features)
    ask = partial(_ask_some, victim, X, membership)
    y, told = _read_target_labels(arguments, frame, task, victim, ask, membership=membership)
    notes = [*notes, *told]
    if not lacks_a_recipe(arguments.model):
        _check_weights_option(arguments, victim)
        return CommandProblem(victim, Records(X, y, **fields), membership, notes)
    given = pd.DataFrame(X, columns=getattr(X, "columns", features))
    X = encoded = as_features(given)
    # The victim's own categories, where a missing one is missing, reach its stand-in too.
    texts = [name for name in X.columns if isinstance(X[name].dtype, pd.CategoricalDtype)]
    X = X.assign(**{name: given[name].astype("category") for name in texts})
    if needs_numbered_labels(arguments.estimator, task):
        raise CommandError(f"--estimator: {arguments.estimator} has other labels than --model")
    recipe = make_estimator(arguments.estimator, encoded, task, arguments.seed)
    _check_weights_option(arguments, recipe)
    return CommandProblem(victim, Records(X, y, **fields), membership, notes, recipe=recipe)


def _name_task(victim):
    name = type(victim).__name__
    predicts = hasattr(victim, "predict")
    if not predicts or not (is_classifier(victim) or is_regressor(victim)):
        raise CommandError(
            "--model: a classifier or a regressor is needed, and the file holds "
            f"{describe_kind(victim)}"
        )
    if not is_fitted(victim):
        raise CommandError(f"--model: the {name} in the file is not fitted")
    return "classification" if is_classifier(victim) else "regression"


def _read_target_labels(
    arguments, frame, task, victim, ask=lambda: None, fewest=2, membership=None
):
    """Return target as the model knows it, with notes on labels that are written in another way."""
    column = frame[arguments.target]
    if arguments.label_map:
        if task == "regression":
            raise CommandError("--label-map goes with a classifier")
        return map_labels(column, dict(arguments.label_map), victim.classes_), []
    if task == "regression" and arguments.model.suffix == ONNX and infer_task(column) != task:
        labels = sort_by_value(column.dropna().unique())
        raise CommandError(
            f"--target: column {arguments.target!r} holds classes, and {arguments.model.name} "
            "answers with one number; if it is the probability of the second class, name both, as "
            f"--classes {shlex.join(map(str, labels))}"
        )
    if task == "classification" and match_labels(column.unique(), victim.classes_) is not None:
        fewest = 1  # of classes that are given
    y = read_target(frame, arguments.target, task, fewest)
    if task == "regression":
        return y, []
    return check_known_labels(arguments, y, victim, ask, membership)


def _take_answers(arguments, frame, features, fields, membership):
    """Return records with the answers that a model gave for them, and a recipe if one is named."""
    if arguments.label_map:
        pairs = split_pairs(dict(arguments.label_map), {*frame[arguments.target].astype(str)})
        column = frame[arguments.target].map(lambda label: pairs.get(str(label), label))
        frame = frame.assign(**{arguments.target: column})
    recipe = _make_recipe(arguments, frame, features)
    reading = make_reading(arguments)
    outputs, notes = read_answers(arguments, recipe.y, recipe.labels, frame, membership, reading)
    records = Records(recipe.X, recipe.y, outputs=outputs, **fields)
    victim = StoredAnswers(outputs.kind) if arguments.estimator is None else recipe.estimator
    return CommandProblem(victim, records, membership, [_describe_task(recipe, arguments), *notes])
