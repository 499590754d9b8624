"""Each error code is really raised somewhere, and a test provokes it.

A code that is added without a line in `PROVOKED` fails here, and so does a line whose test is gone
or does not name the code or its exception.
"""

import ast
import functools
import pathlib
import re

import pytest

from rpent_ros import errors
from rpent_ros.errors import ErrorCode, RpentError

ROOT = pathlib.Path(__file__).resolve().parents[2]
CODES = [code for code in ErrorCode if code != ErrorCode.OK]

# The test that provokes a code: file below test/, then the test's name.
PROVOKED = {
    ErrorCode.UNKNOWN: 'unit/test_agent.py::test_a_crash_leaves_valid_files',
    ErrorCode.INVALID_REQUEST: 'unit/test_fake_robot.py::test_unknown_names_list_the_known_ones',
    ErrorCode.TIMEOUT: 'nodes/test_client.py::test_a_server_that_never_answers',
    ErrorCode.UNAVAILABLE: 'nodes/test_client.py::test_a_server_that_is_not_there',
    ErrorCode.PEER_DIED:
        'nodes/test_agent_process.py::test_a_driver_that_is_killed_fails_the_run',
    ErrorCode.CANCELED:
        'unit/test_driver.py::test_cancel_ends_a_motion_at_the_next_step_and_holds',
    ErrorCode.BUSY:
        'nodes/test_vla_node.py::test_busy_while_inferring_and_describe_stays_live',
    ErrorCode.NOT_RESET: 'unit/test_driver.py::test_nothing_moves_before_the_first_reset',
    ErrorCode.EPISODE_OVER: 'unit/test_driver.py::test_the_end_of_an_episode_ends_motion',
    ErrorCode.STOPPED: 'unit/test_driver.py::test_stop_is_sticky_and_thread_safe',
    ErrorCode.BAD_ACTION: 'unit/test_driver.py::test_nonsense_never_reaches_the_robot',
    ErrorCode.OUT_OF_WORKSPACE:
        'unit/test_driver.py::test_a_target_outside_is_refused_before_moving',
    ErrorCode.NOT_REACHED:
        'unit/test_driver.py::test_something_in_the_way_is_reported_with_the_distance',
    ErrorCode.UNKNOWN_TASK: 'unit/test_fake_robot.py::test_unknown_names_list_the_known_ones',
    ErrorCode.UNKNOWN_CAMERA: 'unit/test_fake_robot.py::test_unknown_names_list_the_known_ones',
    ErrorCode.RENDER_FAILED: 'libero/test_process.py::test_without_opengl_only_images_fail',
    ErrorCode.ROBOT_FAILED:
        'unit/test_driver.py::test_a_failing_robot_is_held_and_needs_a_reset',
    ErrorCode.NAME_TAKEN:
        'nodes/test_node_name.py::test_a_name_is_held_until_it_is_given_back',
    ErrorCode.OUT_OF_REACH:
        'unit/test_motion.py::test_a_target_out_of_reach_is_refused_before_anything_moves',
    ErrorCode.SEGMENTATION_FAILED:
        'unit/test_segmentation.py::test_a_segmenter_that_is_gone_does_not_end_the_run',
    ErrorCode.NOT_FOUND: 'unit/test_segmentation.py::test_nothing_found_says_what_to_do',
    ErrorCode.MODEL_NOT_LOADED:
        'nodes/test_vla_node.py::test_a_policy_that_cannot_be_loaded_says_why',
    ErrorCode.BAD_OBSERVATION: 'unit/test_oracle.py::test_refuses_what_it_cannot_do',
    ErrorCode.BAD_INSTRUCTION: 'unit/test_instruction.py::test_what_it_cannot_understand',
    ErrorCode.CONTRACT_MISMATCH:
        'unit/test_compatibility.py::test_a_mismatch_prints_both_sides',
    ErrorCode.INFERENCE_FAILED: 'nodes/test_vla_node.py::test_unusable_answers_are_refused',
    ErrorCode.NO_PRIVILEGED_SCENE:
        'nodes/test_vla_node.py::test_a_missing_scene_names_the_cure',
    ErrorCode.NO_PLAN: 'unit/test_grasp.py::test_no_grasp_is_said_in_a_sentence',
    ErrorCode.UNKNOWN_TOOL:
        'unit/test_toolkit.py::test_without_a_policy_the_learned_tools_are_not_offered',
    ErrorCode.BAD_ARGUMENTS: 'unit/test_schema.py::test_refusals',
    ErrorCode.TOOL_BUSY:
        'unit/test_toolkit.py::test_one_motion_at_a_time_and_readers_beside_it',
    ErrorCode.NOT_GRASPED: 'unit/test_toolkit.py::test_scripted_grasp_of_nothing',
    ErrorCode.NO_SUCH_STEP:
        'unit/test_states.py::test_a_run_that_was_killed_before_its_first_dump',
    ErrorCode.BAD_PIXEL: 'unit/test_projection.py::test_pixel_outside',
    ErrorCode.TURN_LIMIT: 'unit/test_agent.py::test_tool_call_limit',
    ErrorCode.TIME_LIMIT: 'unit/test_agent.py::test_time_limit_cancels_the_running_tool',
    ErrorCode.BAD_RECIPE: 'unit/test_recipe.py::test_bad_lines',
    ErrorCode.RUN_ACTIVE:
        'nodes/test_agent_node.py::test_one_run_at_a_time_and_no_tools_by_hand_meanwhile',
    ErrorCode.BAD_OUTPUT_DIR:
        'unit/test_full_disk.py::test_a_state_dump_that_does_not_fit_ends_the_run',
    ErrorCode.NOT_ACHIEVED: 'unit/test_agent.py::test_a_pick_that_never_works_ends_in_failure',
    ErrorCode.BAD_PATH:
        'unit/test_perception.py::test_read_image_shows_colour_pictures_of_this_run_only',
    ErrorCode.BAG_FAILED: 'unit/test_bag.py::test_verify_refuses_a_flipped_bit',
    ErrorCode.NOT_RECORDING: 'nodes/test_recorder.py::test_refusals',
    ErrorCode.TOKEN_LIMIT: 'unit/test_budget.py::test_a_limit_of_the_model_ends_the_run',
    ErrorCode.COST_LIMIT: 'unit/test_budget.py::test_a_limit_of_the_model_ends_the_run',
    ErrorCode.NO_PROGRESS:
        'unit/test_progress.py::test_the_planner_is_told_and_then_the_run_ends',
    ErrorCode.LLM_NO_KEY: 'unit/test_check_llm.py::test_no_key',
    ErrorCode.LLM_BAD_KEY: 'unit/test_api_faults.py::test_a_key_that_is_not_accepted',
    ErrorCode.LLM_UNKNOWN_MODEL: 'unit/test_api_faults.py::test_a_model_that_does_not_exist',
    ErrorCode.LLM_UNREACHABLE: 'unit/test_api_faults.py::test_nobody_at_the_address',
    ErrorCode.LLM_FAILED:
        'unit/test_api_faults.py::test_what_does_not_pass_ends_in_one_sentence',
    ErrorCode.LLM_REFUSED: 'unit/test_api_runs.py::test_a_refusal',
    ErrorCode.LLM_NO_TOOLS: 'unit/test_check_llm.py::test_what_a_model_cannot_do',
    ErrorCode.LLM_NO_VISION: 'unit/test_api_runs.py::test_pictures_that_are_refused',
    ErrorCode.LLM_CONTEXT_FULL:
        'unit/test_api_runs.py::test_a_conversation_that_is_too_long_without_them',
    ErrorCode.LLM_NOT_INSTALLED: 'unit/test_api_ids.py::test_a_library_that_is_missing',
}  # fmt: skip


def names_of(code: ErrorCode) -> set[str]:
    """The code's name and its exception's."""
    return {code.name, type(errors.from_code(code, '')).__name__} - {RpentError.__name__}


@functools.cache
def source_of_test(reference: str) -> str:
    """The text of a test with its decorators; '' if there is no such test."""
    file, name = reference.split('::')
    path = ROOT / 'test' / file
    if not path.is_file():
        return ''
    text = path.read_text()
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            return '\n'.join(text.splitlines()[first - 1 : node.end_lineno])
    return ''


@functools.cache
def used_in_functions() -> frozenset[str]:
    """Names that occur in the functions of the product, where codes are raised and returned."""
    found = set()
    for path in [*(ROOT / 'rpent_ros').rglob('*.py'), *(ROOT / 'robots').rglob('*.py')]:
        if path.name == 'errors.py':
            continue
        for function in ast.walk(ast.parse(path.read_text())):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                for node in ast.walk(function):
                    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                        found.add(node.func.id)
                    if isinstance(node, ast.Attribute) and ast.unparse(node.value) == 'ErrorCode':
                        found.add(node.attr)
    return frozenset(found)


@pytest.mark.parametrize('code', CODES, ids=lambda code: code.name)
def test_a_test_provokes_the_code(code):
    assert code in PROVOKED, f'{code.name}: name the test that provokes it in PROVOKED'
    source = source_of_test(PROVOKED[code])
    assert source, f'{code.name}: there is no test {PROVOKED[code]}'
    words = '|'.join(sorted(names_of(code)))
    assert re.search(rf'\b({words})\b', source), f'{PROVOKED[code]} does not name {words}'


@pytest.mark.parametrize('code', CODES, ids=lambda code: code.name)
def test_the_code_is_used(code):
    assert names_of(code) & used_in_functions(), f'{code.name} is never raised or returned'


def test_every_test_in_the_table_belongs_to_a_code():
    assert set(PROVOKED) == set(CODES)
