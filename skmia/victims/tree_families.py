"""Models of trees that are read in the same way."""

from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)

FORESTS = (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
BAGS = (BaggingClassifier, BaggingRegressor)
HISTOGRAMS = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)
BOOSTED = (GradientBoostingClassifier, GradientBoostingRegressor)
# Trees that are grown one after the other, on weighted rows or on samples drawn by weights.
REWEIGHTED = (AdaBoostClassifier,)
REDRAWN = (AdaBoostRegressor,)
# Trees that are grown on targets drawn at random, and know nothing of labels.
UNLABELED = (IsolationForest,)
