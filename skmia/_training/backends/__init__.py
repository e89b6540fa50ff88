"""Ways to train the models of a job: one by one, or many together."""
