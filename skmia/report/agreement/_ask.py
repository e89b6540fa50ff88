"""The questions in their order, and who is asked them."""

import numpy as np

from ..._core.outputs import Outputs
from ..._core.query import unwrap
from ..._core.splits import number_units
from ..._core.tokens import hold_tokens
from .._case import is_recipe
from .._run import draw_sample, take_sampled_records
from .._words import describe_with_class
from ..checks._model_and_table import CANNOT_TELL, STOP, WARN
from ._answered_rows import AnsweredRows
from ._clones import is_costly, list_recipes, train_and_ask, train_clones
from ._file_questions import KnownValuesQuestion, OwnNumbersQuestion
from ._repairs import LabelsQuestion, RepairsQuestion
from ._repeats_question import RepeatsQuestion
from ._result import Agreement, conclude_agreement
from ._row_question import RowsQuestion
from ._skill_questions import ConstantQuestion, RecipeQuestion, SkillQuestion, UnitsQuestion

# Of more records a sample is looked at.
_MOST_RECORDS = 20_000

# Of fewer members, stand-ins do not stop an audit of a model that is worse than chance.
_FEWEST_MEMBERS = 50

# In the order of causes: the first that is found is told.
QUESTIONS = (
    KnownValuesQuestion(),
    OwnNumbersQuestion(),
    RepairsQuestion(),
    LabelsQuestion(),
    ConstantQuestion(),
    RowsQuestion(),
    UnitsQuestion(),
    SkillQuestion(),
    RecipeQuestion(),
    RepeatsQuestion(),
)


def meet(case):
    """Ask whether the model of a case knows its table."""
    request = case.request
    if not isinstance(request.outputs, Outputs) or hold_tokens(case.records):
        return Agreement(
            CANNOT_TELL, "Models of texts and tokens are not compared with their table."
        )
    met = _collect(case)
    replies, asked, notes = {}, [], []
    references, n_models = [], 0
    if met.is_told:
        recipes = list_recipes(case)
        costly = is_costly(recipes)
        if costly:
            _ask_all(met, [], replies, asked, notes, first=True)
        if not any(one.status == STOP for one in replies.values()):
            references, n_models = _train_recipes(met, recipes, 1 if costly else 2, notes)
    _ask_all(met, references, replies, asked, notes)
    listed = [replies[one.name] for one in QUESTIONS if one.name in replies]
    for excuse in (_excuse_noise, _excuse_skilled, _excuse_reproduced, _excuse_few):
        listed = excuse(met, references, listed)
    return conclude_agreement(met, references, listed, asked, notes, n_models)


def _collect(case):
    n = len(case.records)
    rows = draw_sample(n, case.subsets, _MOST_RECORDS, case.seeds["agreement"])
    records = take_sampled_records(case.records, rows)
    inside = np.asarray(case.membership[rows], dtype=bool)
    people = records.fields.get("group_by")
    victim = case.request.victim
    return AnsweredRows(
        case=case,
        rows=rows,
        records=records,
        inside=inside,
        units=number_units(records.fingerprint, people),
        outputs=case.request.outputs if isinstance(rows, slice) else case.request.outputs[rows],
        model=None if is_recipe(victim) else unwrap(victim),
    )


def _train_recipes(met, recipes, n_models, notes):
    found = []
    for recipe in recipes:
        try:
            found.append(train_clones(met, recipe, n_models))
        except Exception as error:  # of whatever kind: questions without clones were asked
            why = describe_with_class(error).rstrip(".")
            notes.append(f"No {recipe.name} could be trained on half of the members: {why}.")
    return found, sum(len(one.models) for one in found)


def _ask_all(met, references, replies, asked, notes, first=False):
    """Ask the questions that were not asked yet; at first those that need no clone."""
    for question in QUESTIONS:
        is_early = not question.needs_clones if question.is_early is None else question.is_early
        if question.name in asked or (first and not is_early):
            continue
        if not question.is_of_file and not met.is_told:
            continue
        if question.needs_clones and not references and not first:
            continue
        try:
            reply = question.ask(met, references)
        except Exception as error:  # of whatever kind: the other questions remain
            notes.append(f'The question "{question.name}" failed: {describe_with_class(error)}')
            continue
        asked.append(question.name)
        if reply is not None:
            replies[question.name] = reply


def _excuse_skilled(met, references, replies):
    """Warn in place of stopping where clones show that the model may be sound.

    Of columns, if the model is better on members than any clone. Of labels, if clones are no better
    on their own training rows either, as a calibration of a model that has overfit noise.
    """
    if not references:
        return replies
    own = met.fit()
    fresh = [met.fit_of(one) for one in references]
    knows = all(
        own.rank.low > one.rank.value and own.decision.low > one.decision.value for one in fresh
    )
    learned = any(met.measure(one.seen, one.is_seen).decision.low > 0 for one in references)
    excused = {OwnNumbersQuestion.name: knows, LabelsQuestion.name: not learned}
    return [
        one._replace(status=WARN, cure="") if excused.get(one.question) else one for one in replies
    ]


def _excuse_noise(met, references, replies):
    """Warn in place of stopping where answers differ when the model is asked twice."""
    noisy = {one.name for one in QUESTIONS if one.is_of_noise}
    stops = [one for one in replies if one.status == STOP]
    if not stops or not {one.question for one in stops} <= noisy or met.repeats is not False:
        return replies
    noise = RepeatsQuestion().warn_of_noise(met)
    others = [one for one in replies if one.question != noise.question]
    return [*(one._replace(status=WARN, cure="") for one in others), noise]


def _excuse_reproduced(met, references, replies):
    """Warn in place of stopping where a clone that is trained on all members answers alike.

    Such as a calibration of a model that has learned nothing: its answers can be reversed.
    """
    own = next((one for one in references if one.is_own), None)
    if own is None or not any(one.status == STOP for one in replies):
        return replies
    _, answers = train_and_ask(met, own.recipe, met.inside, met.case.seeds["agreement"])
    if not met.fit_answers_of(answers).decision.low > 0.5:
        return replies
    text = " A clone that is trained on the same rows gives the same answers."
    of_file = {one.name for one in QUESTIONS if one.is_of_file}
    return [
        one._replace(status=WARN, text=one.text + text, cure="")
        if one.status == STOP and one.question not in of_file
        else one
        for one in replies
    ]


def _excuse_few(met, references, replies):
    """Warn in place of stopping where a model is worse than chance on few members.

    As calibrations of models that have learned nothing are; a clone of the model would tell.
    """
    is_told = met.count(True) >= _FEWEST_MEMBERS or any(one.is_own for one in references)
    if is_told or not references or not met.fit().decision.value < 0 or met.is_value:
        return replies
    of_clones = {one.name for one in QUESTIONS if one.needs_clones} | {LabelsQuestion.name}
    return [
        one._replace(status=WARN, cure="") if one.question in of_clones else one for one in replies
    ]
