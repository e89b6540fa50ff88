"""The command line: ``skmia audit``, ``table`` and others; ``--help`` explains each.

* **Commands**: ``_audit.py``, ``_table.py``, ``_inspect.py``, and ``_documents.py`` of those that
  read results. ``_main.py`` turns errors into exit codes, ``_parser.py`` lists the options, and
  ``_options.py`` checks them.
* **Tables**: ``_reading.py`` reads a file, whose separator and encoding ``_dialect.py`` recognizes;
  ``_columns.py`` decides what a column holds, ``_numbers.py`` what a number is, and
  ``_core/missing_marks.py`` which texts are a missing one.
  ``_features_and_target.py`` and ``_inputs.py`` make records and membership of it, ``_labels.py``
  matches labels with the classes of a model, and ``_answers.py`` reads the answers of one.
* **Models**: ``_model.py`` makes or loads one; ``_other_files.py`` and ``_other_objects.py`` say
  what else a file is; ``_damaged_models.py`` checks the numbers of a loaded one;
  ``_model_input.py`` gives it the columns that it knows.
* **Results**: ``_output.py`` prints and writes them, ``_gate.py`` compares them with limits.
"""

from ._main import main as main
