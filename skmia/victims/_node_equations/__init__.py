"""Linear equations that a file of trees states about the membership of its training rows.

``read.py`` chooses the reader of a model, and each reader says next to it which models it refuses:
``cart.py`` of trees and forests, ``boosting.py`` of the gradient boosting of scikit-learn,
``boosters.py`` of XGBoost, LightGBM and CatBoost. ``equations.py`` collects what they read.
"""
