"""Each numbered promise of the guide, and the tests that keep it."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GUIDE = ROOT / "doc" / "user_guide"

# By the number on a page: files below tests/ and names of tests in them.
GUARANTEE, PAIRS = "defenses/test_dp_sgd_guarantee.py", "defenses/test_planted_pairs.py"
COINS, SCHEMA = "defenses/test_coin_flips.py", "defenses/test_schema.py"
ACCIDENTS = "defenses/test_ledger_accidents.py"
PRIVACY = {
    "P1": [
        (PAIRS, "test_mechanisms"),
        ("defenses/test_mechanisms.py", "test_low_bits_of_the_noise_tell_nothing"),
    ],
    "P2": [
        (GUARANTEE, "test_low_bits_of_a_step_do_not_tell_whether_there_was_a_gradient"),
        ("defenses/test_exact_noise.py", "test_rounded_normal_numbers_have_the_law_of_rounding"),
        ("defenses/test_exact_noise.py", "test_the_tail_has_no_end"),
        (PAIRS, "test_private_training"),
        (PAIRS, "test_private_generator"),
    ],
    "P3": [
        (GUARANTEE, "test_a_row_changes_the_sum_by_no_more_than_the_limit"),
        (GUARANTEE, "test_a_row_beyond_single_precision_leaves_finite_weights"),
        (PAIRS, "test_no_row_moves_the_sum_of_a_step_by_more_than_its_limit"),
    ],
    "P4": [(GUARANTEE, "test_a_row_with_an_unknown_label_contributes_nothing")],
    "P5": [
        (GUARANTEE, "test_torch_s_seed_does_not_make_the_noise"),
        (GUARANTEE, "test_dropout_is_not_drawn_from_a_stream_that_can_be_known"),
        (GUARANTEE, "test_augmentations_draw_from_states_that_no_seed_gives"),
        (GUARANTEE, "test_a_generator_pairs_rows_with_draws_from_states_that_no_seed_gives"),
        ("defenses/test_exact_noise.py", "test_no_state_is_made_of_a_seed"),
    ],
    "P6": [
        ("defenses/test_dp_sgd.py", "test_an_empty_step_is_shown_and_is_noise"),
        (GUARANTEE, "test_steps_that_were_not_planned_are_an_error"),
    ],
    "P7": [
        (GUARANTEE, "test_nothing_but_the_weights_differs_between_neighbors"),
        (GUARANTEE, "test_nothing_but_the_weights_of_a_generator_differs_between_neighbors"),
        (GUARANTEE, "test_what_a_module_keeps_of_rows_goes_with_the_copy_that_was_trained"),
    ],
    "P8": [
        ("defenses/test_ledger.py", "test_a_search_is_written_down_in_all_processes"),
        ("defenses/test_ledger.py", "test_a_fit_that_fails_counts"),
        ("defenses/test_ledger.py", "test_all_fits_cost_more_than_one_and_less_than_their_sum"),
        ("defenses/test_ledger.py", "test_no_step_is_made_on_a_full_disk"),
        ("defenses/test_ledger.py", "test_mechanisms_nets_and_generators_have_one_sum"),
    ],
    "P9": [
        (ACCIDENTS, "test_accidents"),
        (ACCIDENTS, "test_the_file_is_cut_at_any_byte"),
        (ACCIDENTS, "test_any_byte_is_changed"),
        (ACCIDENTS, "test_accidents_one_after_the_other"),
        (ACCIDENTS, "test_a_disk_that_stays_full"),
        (ACCIDENTS, "test_a_process_ends_at_any_call"),
        (ACCIDENTS, "test_many_processes_write_at_once"),
    ],
    "P10": [("defenses/test_ledger.py", "test_a_limit_refuses_the_fit_that_would_exceed_it")],
    "P11": [
        (COINS, "test_no_way_to_make_it_knows_more_than_its_epsilon_allows"),
        (COINS, "test_usual_layers_are_drawn_anew"),
        (COINS, "test_a_module_of_the_user_is_never_changed"),
        (
            COINS,
            "test_weights_that_are_declared_to_be_public_are_kept_and_their_module_stays_as_it_is",
        ),
        ("core/test_copies.py", "test_nets_that_were_trained_before_are_refused_at_every_door"),
    ],
    "P12": [
        (SCHEMA, "test_no_cell_changes_what_other_cells_say"),
        (SCHEMA, "test_a_cell_of_any_kind_changes_nothing_but_numbers"),
        (SCHEMA, "test_a_label_of_any_kind_changes_nothing_but_weights"),
        (SCHEMA, "test_a_row_that_does_not_fit_contributes_nothing"),
    ],
    "P13": [
        ("defenses/test_private_search.py", "test_the_best_of_sixteen_costs_little_more_than_two"),
        (
            "defenses/test_private_search.py",
            "test_the_exact_divergence_of_the_best_of_normal_numbers_is_below_the_bound",
        ),
        ("defenses/test_private_search.py", "test_a_search_costs_a_third_of_what_its_fits_would"),
        ("defenses/test_private_search.py", "test_a_ledger_counts_a_search_once"),
        (
            "defenses/test_private_search.py",
            "test_poisson_trials_are_scipys_quantiles_of_their_law",
        ),
        (
            "defenses/test_private_search.py",
            "test_trials_of_a_law_that_rises_first_are_scipys_quantiles",
        ),
        (
            "defenses/test_private_search.py",
            "test_trials_of_every_allowed_mean_and_shape_have_a_law",
        ),
    ],
    "P14": [
        ("defenses/test_repeated_fits.py", "test_a_search_says_once_what_it_cost"),
        (
            "defenses/test_repeated_fits.py",
            "test_fits_in_other_processes_are_taken_for_like_this_one",
        ),
    ],
    "P15": [
        ("test_transactions.py", "test_an_interruption_leaves_the_fit_before"),
        ("test_transactions.py", "test_an_interrupted_first_fit_leaves_nothing"),
        (
            "defenses/test_private_transactions.py",
            "test_a_refit_that_fails_leaves_epsilon_and_weights_of_the_fit_before",
        ),
    ],
    "A1": [
        (GUARANTEE, "test_what_training_would_have_to_call_is_refused"),
        (GUARANTEE, "test_settings_that_would_not_be_followed_are_refused"),
    ],
    "A2": [(GUARANTEE, "test_what_training_would_have_to_call_is_refused")],
    "A3": [
        (GUARANTEE, "test_layers_that_mix_rows_see_one_row_at_a_time"),
        (GUARANTEE, "test_loaders_that_mix_rows_get_one_row_at_a_time"),
        (GUARANTEE, "test_modules_that_torch_cannot_vectorize_get_their_rows_one_by_one"),
        (GUARANTEE, "test_rows_that_go_alone_have_the_gradients_of_batches"),
    ],
    "A4": [
        (GUARANTEE, "test_modules_that_remember_rows_are_refused"),
        (GUARANTEE, "test_buffers_that_change_with_the_rows_are_refused"),
        ("defenses/test_dp_sgd.py", "test_what_would_not_be_private_is_refused"),
    ],
    "A5": [
        (GUARANTEE, "test_callbacks_that_could_see_losses_are_refused"),
        (GUARANTEE, "test_callbacks_of_progress_are_taken"),
        (GUARANTEE, "test_schedules_that_are_fixed_beforehand_pass"),
    ],
}
SECURITY = {
    "T1": [
        ("core/test_escaping.py", "test_every_text_is_one_line_that_can_be_written"),
        ("report/test_foreign_text.py", "test_the_summary_has_no_line_that_a_table_wrote"),
        ("report/test_foreign_text.py", "test_other_summaries"),
        ("report/test_foreign_text.py", "test_messages"),
        ("cli/test_cli_files.py", "test_names_of_a_table_are_seen_in_what_is_printed"),
        ("cli/test_cli_files.py", "test_messages_show_names_as_they_are"),
    ],
    "T2": [
        ("report/test_page.py", "test_text_of_the_user_stays_text"),
        ("report/test_foreign_text.py", "test_the_page_isolates_them"),
        ("report/test_browser.py", "test_names_of_others_run_nothing_and_turn_nothing"),
    ],
    "T3": [
        ("report/test_foreign_text.py", "test_an_audit_with_such_names_is_written_and_read_again"),
    ],
    "T4": [
        ("cli/test_cli_input.py", "test_file_that_is_no_table"),
        ("cli/test_cli_input.py", "test_table_that_cannot_be_used"),
        ("cli/test_cli_input.py", "test_members_file_that_cannot_be_used"),
        ("cli/test_forged_files.py", "test_forged_files"),
    ],
    "T5": [
        ("core/test_records_fingerprint.py", "test_sums_cannot_be_forged"),
        (
            "core/test_records_fingerprint.py",
            "test_records_made_to_have_one_fingerprint_are_refused",
        ),
    ],
    "T6": [
        ("core/test_matrix.py", "test_records_hide_nothing"),
    ],
    "T7": [
        ("cli/test_cli.py", "test_values_are_on_the_page_only_when_asked_for"),
        (
            "report/test_page.py",
            "test_values_of_exposed_records_are_shown_only_when_they_are_given",
        ),
    ],
    "T8": [
        ("fuzzing/test_fuzz_records.py", "test_construction_and_fingerprint"),
        ("fuzzing/test_fuzz_pool.py", "test_fit"),
        ("fuzzing/test_fuzz_attacks.py", "test_attacks"),
        ("fuzzing/test_fuzz_audit.py", "test_audit_and_its_page"),
        ("fuzzing/test_fuzz_cli.py", "test_tables_and_arguments"),
        ("test_sentences.py", "test_it_is_one_sentence"),
    ],
    "M1": [
        ("cli/test_cli_model.py", "test_pickle_without_trust_is_not_opened"),
        ("cli/test_cli_inspect.py", "test_a_pickle_without_trust_is_not_opened"),
    ],
    "M2": [
        ("cli/test_cli_model.py", "test_skops_model_with_code_of_its_own_is_refused"),
        ("cli/test_cli_model.py", "test_unsafe_version_of_skops_is_refused"),
    ],
    "M3": [
        ("cli/test_damaged_models.py", "test_caches_are_taken_away"),
        ("core/test_caches.py", "test_no_door_uses_the_cache_of_a_model"),
        ("core/test_caches.py", "test_no_cache_at_any_depth_is_used_by_shadow_models"),
        ("cli/test_cli_model.py", "test_a_cache_that_a_model_names_is_neither_read_nor_written"),
    ],
    "M4": [("cli/test_damaged_models.py", "test_vectorizers_that_open_files_are_refused")],
    "M5": [
        ("cli/test_damaged_models.py", "test_forged_nodes_are_refused"),
        (
            "cli/test_damaged_models.py",
            "test_a_tree_that_reads_more_columns_than_its_forest_is_refused",
        ),
        ("cli/test_damaged_models.py", "test_forged_nodes_of_boosting_are_refused"),
        ("cli/test_damaged_models.py", "test_forged_support_vectors_are_refused"),
        ("cli/test_damaged_models.py", "test_forged_sparse_indices_are_refused"),
        ("cli/test_damaged_models.py", "test_forged_neighbors_are_refused"),
        ("cli/test_forged_files.py", "test_forged_models"),
        ("cli/test_forged_files.py", "test_honest_models_are_taken"),
    ],
    "M6": [
        (
            "cli/test_damaged_models.py",
            "test_an_ensemble_that_asks_for_ten_million_trees_is_refused",
        )
    ],
    "M7": [
        ("cli/test_cli_model.py", "test_model_file_that_cannot_be_used"),
        ("cli/test_forged_files.py", "test_forged_files"),
        ("cli/test_forged_files.py", "test_mutated_files"),
    ],
    "M8": [
        ("cli/test_forged_files.py", "test_forged_models"),
        ("cli/test_forged_files.py", "test_forged_files"),
        ("cli/test_forged_files.py", "test_a_crash_is_one_sentence"),
        ("cli/test_forged_files.py", "test_a_crash_of_an_inspection_is_one_sentence"),
        ("cli/test_cli_model.py", "test_the_process_of_a_model_changes_no_byte"),
        ("core/test_sandbox.py", "test_its_end_is_one_sentence"),
        ("core/test_sandbox.py", "test_only_a_question_that_is_limited_ends"),
    ],
    "M9": [
        ("cli/test_forged_files.py", "test_what_a_model_tries_during_an_audit_fails"),
        ("cli/test_forged_files.py", "test_a_forged_reply_is_refused"),
        ("core/test_sandbox.py", "test_it_writes_no_file"),
        ("core/test_sandbox.py", "test_it_writes_into_a_folder_that_it_was_given"),
        ("core/test_sandbox.py", "test_it_starts_no_program"),
        ("core/test_sandbox.py", "test_it_has_no_network"),
        ("core/test_sandbox.py", "test_what_it_started_ends_with_it"),
        ("core/test_sandbox.py", "test_a_pickle_is_not_read"),
        ("core/test_sandbox.py", "test_other_replies_are_refused"),
        ("core/test_sandbox.py", "test_what_it_says_cannot_move_the_terminal"),
        ("core/test_sandbox.py", "test_doors_are_closed"),
        ("core/test_sandbox.py", "test_a_process_cannot_leave_its_session"),
    ],
    "M10": [
        ("cli/test_forged_files.py", "test_the_program_itself_opens_nothing_in_an_audit"),
        ("cli/test_forged_files.py", "test_the_program_itself_opens_nothing_in_an_inspection"),
    ],
    "M11": [
        ("core/test_sandbox.py", "test_one_that_makes_too_much_is_ended"),
        ("core/test_sandbox.py", "test_replies_of_many_values_are_not_built"),
        ("core/test_sandbox.py", "test_what_it_says_without_end_is_left_out"),
    ],
    "M12": [
        ("core/test_sandbox.py", "test_a_wall_that_is_missing_is_told"),
        ("core/test_sandbox.py", "test_elsewhere_everything_is_open"),
        ("cli/test_sandbox.py", "test_each_command_says_what_is_open"),
        ("cli/test_sandbox.py", "test_the_document_and_the_sheet_say_it"),
        ("cli/test_sandbox.py", "test_a_sandbox_can_be_required"),
    ],
    "C1": [
        ("training/test_checkpoint_files.py", "test_no_pickle_is_read_unless_models_are_stored")
    ],
    "C2": [
        ("training/test_checkpoint_files.py", "test_a_model_that_was_exchanged_is_not_run"),
        (
            "training/test_checkpoint_files.py",
            "test_a_model_that_does_not_belong_to_its_signals_is_trained_again",
        ),
    ],
    "C3": [("training/test_checkpoint_files.py", "test_an_edited_file_is_set_aside")],
    "C4": [
        ("training/test_checkpoint_files.py", "test_an_edited_file_is_set_aside"),
        (
            "training/test_checkpoint_files.py",
            "test_a_moment_in_which_files_cannot_be_read_costs_no_model",
        ),
        ("training/test_checkpoint_files.py", "test_want_of_memory_is_no_damage"),
        ("training/test_checkpoint_files.py", "test_a_folder_in_the_place_of_a_file_is_named"),
    ],
    "C5": [
        ("training/test_checkpoint.py", "test_folder_of_another_pool_is_refused"),
        ("training/test_checkpoint.py", "test_folder_of_other_records_is_refused"),
        ("training/test_identity.py", "test_what_was_edited_is_named"),
    ],
    "C6": [("fuzzing/test_fuzz_folders.py", "test_damaged_folders")],
    "C7": [
        (
            "training/test_checkpoint.py",
            "test_killed_twice_it_ends_with_the_numbers_of_an_undisturbed_fit",
        ),
        (
            "training/test_states.py",
            "test_killed_inside_a_joint_training_it_goes_on_and_ends_with_the_same_bits",
        ),
        (
            "fuzzing/test_fuzz_folders.py",
            "test_killed_fits_of_stored_models_go_on",
        ),
        (
            "fuzzing/test_fuzz_folders.py",
            "test_a_full_disk_is_one_sentence_and_costs_no_model",
        ),
        (
            "fuzzing/test_fuzz_folders.py",
            "test_a_limit_of_the_system_costs_no_model",
        ),
    ],
    "C8": [("training/test_checkpoint_files.py", "test_folder_and_files_are_the_users_own")],
    "C9": [
        ("shadow/test_on_disk.py", "test_files_that_are_not_those_of_the_fit_are_refused"),
    ],
    "R1": [
        ("cli/test_cli_damages.py", "test_every_field"),
        ("cli/test_cli_damages.py", "test_what_is_not_json"),
        ("synthetic/test_table_report.py", "test_every_field"),
        ("cli/test_cli_damages.py", "test_contradictions_end_in_one_sentence"),
    ],
    "R2": [
        ("cli/test_cli_damages.py", "test_a_forged_verdict_is_not_shown"),
        ("synthetic/test_table_report.py", "test_damages_are_found"),
        ("cli/test_cli_damages.py", "test_contradictions_end_in_one_sentence"),
    ],
    "R3": [
        ("cli/test_cli_damages.py", "test_a_document_that_would_take_minutes_is_refused"),
        ("cli/test_cli_damages.py", "test_a_file_without_an_end_is_read_to_a_limit"),
    ],
    "R4": [("cli/test_cli_damages.py", "test_text_of_a_result_gives_no_orders")],
    "R5": [
        ("report/test_page.py", "test_it_needs_no_other_file"),
        ("report/test_foreign_text.py", "test_the_page_lets_nothing_in_but_its_own_style"),
        (
            "report/test_browser.py",
            "test_a_page_answers_first_and_is_read_at_each_width_in_each_color",
        ),
        ("report/test_browser.py", "test_a_script_that_got_onto_the_page_would_not_run"),
    ],
    "R6": [
        ("report/test_foreign_text.py", "test_the_frame_in_a_notebook_is_a_sandbox"),
        ("report/test_browser.py", "test_the_page_works_in_the_sandbox_of_a_notebook"),
    ],
    "R7": [
        ("cli/test_cli_damages.py", "test_a_page_is_not_written_over_its_source"),
        ("cli/test_cli_damages.py", "test_a_page_of_two_audits_is_not_written_over_either"),
    ],
    "R8": [
        ("report/test_round_trips.py", "test_documents_of_audits"),
        ("report/test_round_trips.py", "test_documents_of_tables"),
        ("report/test_round_trips.py", "test_a_mean_that_is_rounded_above_one_is_written_as_one"),
    ],
    "W1": [
        (
            "cli/test_cli_files.py",
            "test_only_the_user_can_read_them_and_the_umask_is_left_alone",
        )
    ],
    "W2": [
        ("cli/test_cli_files.py", "test_they_name_no_folder"),
        ("cli/test_cli_files.py", "test_a_model_is_named_without_its_folder"),
        ("report/test_audit_report.py", "test_folders_of_parameters_are_nobody_elses_business"),
    ],
    "W3": [
        ("report/test_audit_report.py", "test_interrupted_write_leaves_the_old_file"),
        ("cli/test_cli_files.py", "test_a_planted_link_is_replaced_and_what_it_names_stays"),
    ],
    "W4": [("cli/test_cli_files.py", "test_what_could_not_be_made_is_said_and_in_the_exit_code")],
    "I1": [
        (
            "cli/test_cli_interrupted.py",
            "test_a_full_disk_costs_the_files_and_not_the_audit",
        )
    ],
    "I2": [
        (
            "training/test_checkpoint.py",
            "test_killed_twice_it_ends_with_the_numbers_of_an_undisturbed_fit",
        ),
        (
            "training/test_states.py",
            "test_killed_inside_a_joint_training_it_goes_on_and_ends_with_the_same_bits",
        ),
        ("cli/test_cli_interrupted.py", "test_an_interrupted_audit_says_what_is_kept_and_goes_on"),
        ("report/test_audit_checkpoint.py", "test_an_interrupted_audit_goes_on"),
    ],
    "I3": [
        ("training/test_checkpoint_files.py", "test_a_full_disk_is_told_with_the_folder"),
    ],
    "I4": [
        (
            "core/test_tasks.py",
            "test_workers_outlive_a_thread_and_a_killed_fit_leaves_neither_them_nor_records",
        ),
        ("cli/test_cli_interrupted.py", "test_a_signal_ends_the_process_of_a_model"),
    ],
    "I5": [
        ("cli/test_cli_interrupted.py", "test_a_full_terminal_costs_a_line_and_not_the_files"),
        ("cli/test_cli_interrupted.py", "test_a_device_that_is_full"),
    ],
    "I6": [
        ("cli/test_cli_interrupted.py", "test_signals_that_end_it_say_what_is_kept"),
        ("cli/test_cli_interrupted.py", "test_a_signal_ends_workers_and_keeps_models"),
        ("cli/test_cli_interrupted.py", "test_a_signal_ends_the_process_of_a_model"),
        ("cli/test_cli_interrupted.py", "test_a_signal_that_is_ignored_stays_so"),
    ],
    "I7": [
        ("cli/test_closed_streams.py", "test_an_audit_writes_its_files"),
        ("cli/test_closed_streams.py", "test_documents_are_read_and_written"),
        ("cli/test_closed_streams.py", "test_a_table_is_audited"),
        ("core/test_progress.py", "test_a_standard_error_that_is_missing_costs_no_result"),
    ],
    "D1": [
        ("datasets/test_datasets_fetch.py", "test_a_download_with_another_checksum_is_not_kept"),
        (
            "datasets/test_datasets_fetch.py",
            "test_a_second_download_is_held_to_the_record_of_the_first",
        ),
    ],
    "D2": [
        ("datasets/test_datasets_fetch.py", "test_members_are_never_written_to_disk"),
        ("datasets/test_datasets_fetch.py", "test_links_in_an_archive_are_not_followed"),
    ],
}


PAGES = {"security.md": SECURITY, "privacy_limits.md": PRIVACY}


@pytest.mark.parametrize("page", PAGES)
def test_every_promise_has_a_number_of_its_own_and_a_test(page):
    text = (GUIDE / page).read_text(encoding="utf-8")
    numbers = re.findall(r"^\| ([A-Z]\d+) \|", text, re.MULTILINE)
    assert numbers == list(PAGES[page]) and all(PAGES[page].values())


@cache
def read_functions(file):
    """Return whether each function of a file of tests is slow, by its name."""
    tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    decorators = {one.name: map(ast.unparse, one.decorator_list) for one in functions}
    return {name: "pytest.mark.slow" in texts for name, texts in decorators.items()}


@pytest.mark.parametrize(
    "page, number", [(page, number) for page in PAGES for number in PAGES[page]]
)
def test_the_tests_of_a_promise_exist_and_run_each_time(page, number):
    for file, name in PAGES[page][number]:
        assert name in read_functions(file), f"{file}::{name}"
    assert any(not read_functions(file)[name] for file, name in PAGES[page][number])


@pytest.mark.parametrize("page", PAGES)
def test_tables_of_promises_hold_promises_alone(page):
    text = (GUIDE / page).read_text(encoding="utf-8")
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        rows = table.splitlines()
        if rows[0].startswith("| no. |"):
            assert all(re.match(r"\| [A-Z]\d+ \| .+\. \|$", row) for row in rows[2:])
