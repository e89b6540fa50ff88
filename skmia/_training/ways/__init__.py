"""How models are trained: one by one, or many of them in one program."""
