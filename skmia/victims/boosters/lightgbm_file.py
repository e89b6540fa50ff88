"""Models of LightGBM that were loaded from their text."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from .lightgbm_text import load_lightgbm


class LightGBMFile(BaseEstimator):
    """Booster of LightGBM that was loaded from a file, as an estimator that cannot be trained.

    Parameters
    ----------
    booster : lightgbm.Booster
    """

    def __init__(self, booster):
        self.booster = booster

    @property
    def booster_(self):
        """The booster, under the name that it has in models of LightGBM."""
        return self.booster

    @property
    def n_features_in_(self):
        """Number of columns."""
        return self.booster.num_feature()

    @property
    def feature_names_in_(self):
        """Names of the columns, unless LightGBM made them up."""
        names = self.booster.feature_name()
        if names == [f"Column_{k}" for k in range(len(names))]:
            raise AttributeError("The columns have no names.")
        return np.array(names, dtype=object)

    def __sklearn_is_fitted__(self):
        return True

    def fit(self, X, y=None):
        """Refuse to train: the text of a booster is not a recipe."""
        raise TypeError("A model that was loaded from the text of LightGBM cannot be trained.")


class LightGBMFileRegressor(RegressorMixin, LightGBMFile):
    """Regressor that was loaded from the text of LightGBM."""

    def predict(self, X):
        """Predict the targets."""
        return self.booster.predict(X)


class LightGBMFileClassifier(ClassifierMixin, LightGBMFile):
    """Classifier that was loaded from the text of LightGBM, with labels 0, 1, 2, ..."""

    @property
    def classes_(self):
        """Numbers of the classes; the text does not store their names."""
        return np.arange(max(2, int(load_lightgbm(self).header["num_class"])))

    def predict_proba(self, X):
        """Predict the probabilities of the classes."""
        found = self.booster.predict(X)
        return found if found.ndim == 2 else np.column_stack([1 - found, found])

    def predict(self, X):
        """Predict the class of each record."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]
