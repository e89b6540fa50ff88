"""Whether the model is as good on its training rows as clones are on rows new to them."""

from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline

from ..._core.escaping import visible
from ..._core.features import list_chosen_places
from ..._core.query import unwrap
from .._words import join_names
from ._base import AgreementQuestion
from ._clones import train_and_ask
from ._skill import is_far_below, is_surely_below

_CURE = "Give the columns as they were in training: the same order, scaling and types"
_OF_STORED = "and the answers in the order of the rows"


class ConstantQuestion(AgreementQuestion):
    """Whether the model gives one answer to all rows, and clones do not."""

    name = "constant answers"
    needs_clones = True

    def ask(self, met, references):
        if not met.scores.are_constant or "Dummy" in type(unwrap(met.case.victim)).__name__:
            return None
        text = "The model gives the same answer to all rows."
        # Settings may leave a model nothing to learn from few rows.
        if references and all(is_far_below(met.fit(), met.fit_of(one)) for one in references):
            return self.stop(text, f"{_CURE}.")
        return self.warn(text)


class SkillQuestion(AgreementQuestion):
    """Whether the answers fit the labels of members much less than those of clones.

    Much less is surely below half, by AUC or rank correlation and by kappa or absolute error. The
    excuses in ``_ask.py`` warn in place of stopping, such as where members are few.
    """

    name = "skill"
    needs_clones = is_of_noise = True

    def ask(self, met, references):
        own = met.fit()
        fresh = [met.fit_of(one) for one in references]
        below = [is_far_below(own, one) for one in fresh]
        is_known = len(references) > 1 or any(one.is_own for one in references)
        if below and all(below) and is_known:
            cure = f"{_CURE}{'.' if met.model is not None else f', {_OF_STORED}.'}"
            return self.stop("The model does not know these rows.", cure)
        # Clones of the model have not seen what they answer, so that the model should be better.
        shares = [0.8 if one.is_own else 0.5 for one in references]
        if any(below) or any(
            is_surely_below(own.decision, one.decision, share)
            for one, share in zip(fresh, shares, strict=True)
        ):
            return self.warn(
                "The answers fit the labels less well than those of other models, which have not "
                "seen these rows."
            )
        seen = [met.measure(one.seen, one.is_seen) for one in references if one.is_own]
        if any(_is_little(own, one) for one in seen):
            return self.warn(
                "The answers fit the labels much less well than clones of the model fit their own "
                "training rows."
            )
        return None


def _is_little(own, seen):
    pairs = (own.rank, seen.rank), (own.decision, seen.decision)
    return all(is_surely_below(one, other, 0.15) for one, other in pairs)


class UnitsQuestion(AgreementQuestion):
    """Whether a regressor answers in other units than those of the targets."""

    name = "units"
    needs_clones = True

    def ask(self, met, references):
        if not met.is_value or not met.fit().decision.high < -0.5 or not references:
            return None
        if not all(met.fit_of(one).decision.low > 0 for one in references):
            return None
        return self.stop(
            "The answers are not in the units of the targets, or they belong to other columns.",
            "Give targets and answers in the same units, and the columns as they were in training.",
        )


class RecipeQuestion(AgreementQuestion):
    """Whether clones learn what the model has learned."""

    name = "recipe"
    needs_clones = True

    def ask(self, met, references):
        own = next((one for one in references if one.is_own), None)
        if own is None:
            return None
        for model in own.models:
            lost = list_other_columns(met.case.victim, model)
            if lost:
                return self.stop(
                    f"Clones of the model do not select the same columns of this table as the "
                    f"model: {lost}. So they do not learn what the model has learned.",
                    "Give the columns with the types that they had in training.",
                )
        if not self._learn_less(met, met.measure(own.seen, own.is_seen)):
            return None
        # A half of the members may be too few for some settings.
        _, whole = train_and_ask(met, own.recipe, met.inside, met.case.seeds["agreement"])
        if not self._learn_less(met, met.measure(whole, met.inside)):
            return None
        return self.stop(
            "A clone of the model that is trained on the same rows is not better on them than a "
            "constant answer, so clones do not learn what the model has learned.",
            "Pass what fit received (fit_params, the shape of the targets), or pass the recipe of "
            "the model as estimator.",
        )

    def _learn_less(self, met, clone):
        """Return whether the model is surely better than chance, and clones surely much less so."""
        own = met.fit()
        # Numbers around a constant can still have the right order. Of classes, a clone in the right
        # order decides between them at another point, as strongly regularized models do.
        is_ordered = not met.is_value and clone.rank.high >= 0.5 * own.rank.low
        limit = max(0.1, 0.25 * own.decision.low)
        return own.decision.low > 0.2 and clone.decision.high < limit and not is_ordered


def list_other_columns(model, clone):
    """Name the columns that a clone of a model selects and the model does not, and the reverse.

    The recipe of a model of which there are answers alone is not fitted, and selects nothing yet.
    """
    for first, second in zip(_list_model_steps(model), _list_model_steps(clone), strict=False):
        if not all(
            isinstance(one, ColumnTransformer) and hasattr(one, "transformers_")
            for one in (first, second)
        ):
            continue
        for ours, theirs in zip(first.transformers_, second.transformers_, strict=False):
            one, other = (
                _list_chosen(part, chosen)
                for part, (_, _, chosen) in ((first, ours), (second, theirs))
            )
            if one != other and ours[1] != "drop":
                missing = [name for name in one if name not in other]
                added = [name for name in other if name not in one]
                told = [f"{ours[0]} lacks {_join_shown_names(missing)}"] if missing else []
                told += [f"{ours[0]} also takes {_join_shown_names(added)}"] if added else []
                if told:
                    return " and ".join(told)
    return ""


def _join_shown_names(names):
    return join_names([visible(repr(name)) for name in names], 5)


def _list_model_steps(model):
    """Yield the model and the steps and transformers inside it, in their order."""
    model = unwrap(model)
    yield model
    if isinstance(model, Pipeline):
        inner = [step for _, step in model.steps]
    elif isinstance(model, FeatureUnion):
        inner = [part for _, part in model.transformer_list]
    elif isinstance(model, ColumnTransformer):
        inner = [part[1] for part in getattr(model, "transformers_", ())]
    else:
        names = "best_estimator_", "regressor_", "estimator_"
        inner = [getattr(model, name) for name in names if hasattr(model, name)]
    for part in inner:
        if hasattr(part, "get_params"):
            yield from _list_model_steps(part)


def _list_chosen(part, chosen):
    """Return the columns that a part selects, by their names or positions."""
    names = [str(name) for name in getattr(part, "feature_names_in_", ())]
    places = list_chosen_places(chosen, names, len(names) or part.n_features_in_)
    return [names[place] for place in places] if names else places
