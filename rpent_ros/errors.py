"""The one error vocabulary: a number, an exception class, and one sentence per failure.

Every response and result that crosses a process border carries the number and the sentence, so the
language model, the log and the caller read the same words.  Blocks of 100 belong to one node each.
A sentence says what was expected, what came, where, and what to do about it.
"""

from __future__ import annotations

import enum


class ErrorCode(enum.IntEnum):
    """Numbers carried in `error_code` fields."""

    OK = 0
    # Common to all nodes.
    UNKNOWN = 1
    INVALID_REQUEST = 2
    TIMEOUT = 3
    UNAVAILABLE = 4
    PEER_DIED = 5
    CANCELED = 6
    BUSY = 7
    # Driver.
    NOT_RESET = 101
    EPISODE_OVER = 102
    STOPPED = 103
    BAD_ACTION = 104
    OUT_OF_WORKSPACE = 105
    NOT_REACHED = 106
    UNKNOWN_TASK = 107
    UNKNOWN_CAMERA = 108
    RENDER_FAILED = 109
    ROBOT_FAILED = 110
    NAME_TAKEN = 111
    OUT_OF_REACH = 112
    # Vla node.
    MODEL_NOT_LOADED = 201
    BAD_OBSERVATION = 202
    BAD_INSTRUCTION = 203
    CONTRACT_MISMATCH = 204
    INFERENCE_FAILED = 205
    NO_PRIVILEGED_SCENE = 206
    NO_PLAN = 207
    # Agent.
    UNKNOWN_TOOL = 301
    BAD_ARGUMENTS = 302
    TOOL_BUSY = 303
    NOT_GRASPED = 304
    NO_SUCH_STEP = 305
    BAD_PIXEL = 306
    TURN_LIMIT = 307
    TIME_LIMIT = 308
    BAD_RECIPE = 309
    RUN_ACTIVE = 310
    BAD_OUTPUT_DIR = 311
    NOT_ACHIEVED = 312
    BAD_PATH = 313
    TOKEN_LIMIT = 314
    COST_LIMIT = 315
    NO_PROGRESS = 316
    # Recorder.
    BAG_FAILED = 401
    NOT_RECORDING = 402
    # Segmenter.
    SEGMENTATION_FAILED = 501
    NOT_FOUND = 502
    # Language models.
    LLM_NO_KEY = 601
    LLM_BAD_KEY = 602
    LLM_UNKNOWN_MODEL = 603
    LLM_UNREACHABLE = 604
    LLM_FAILED = 605
    LLM_REFUSED = 606
    LLM_NO_TOOLS = 607
    LLM_NO_VISION = 608
    LLM_CONTEXT_FULL = 609
    LLM_NOT_INSTALLED = 610


class RpentError(Exception):
    """Base of every failure that has a number; `str(error)` is the sentence."""

    code = ErrorCode.UNKNOWN


class InvalidRequest(RpentError):
    """Raised when a request or a value is malformed in a way that no finer class covers."""

    code = ErrorCode.INVALID_REQUEST


class DeadlineExceeded(RpentError):
    """Raised when an answer did not come within its deadline."""

    code = ErrorCode.TIMEOUT


class Unavailable(RpentError):
    """Raised when nobody serves the name that is called."""

    code = ErrorCode.UNAVAILABLE


class PeerDied(RpentError):
    """Raised when the server disappeared while a call to it was in flight."""

    code = ErrorCode.PEER_DIED


class Canceled(RpentError):
    """Raised when the caller cancelled the work."""

    code = ErrorCode.CANCELED


class Busy(RpentError):
    """Raised when a server already does something that excludes the request."""

    code = ErrorCode.BUSY


class NotReset(RpentError):
    """Raised when motion is asked for before the first reset."""

    code = ErrorCode.NOT_RESET


class EpisodeOver(RpentError):
    """Raised when motion is asked for after the episode terminated or was truncated."""

    code = ErrorCode.EPISODE_OVER


class Stopped(RpentError):
    """Raised when motion is asked for, or under way, while the stop is set."""

    code = ErrorCode.STOPPED


class BadAction(RpentError):
    """Raised when an action has the wrong shape or a value that is not finite."""

    code = ErrorCode.BAD_ACTION


class OutOfWorkspace(RpentError):
    """Raised when a target lies outside the driver's workspace box, or the tool has left it."""

    code = ErrorCode.OUT_OF_WORKSPACE


class NotReached(RpentError):
    """Reported when a motion ended short of its target."""

    code = ErrorCode.NOT_REACHED


class UnknownTask(RpentError):
    """Raised when a suite or a task index does not exist."""

    code = ErrorCode.UNKNOWN_TASK


class UnknownCamera(RpentError):
    """Raised when a camera name does not exist."""

    code = ErrorCode.UNKNOWN_CAMERA


class RenderFailed(RpentError):
    """Raised when an image could not be rendered."""

    code = ErrorCode.RENDER_FAILED


class RobotFailed(RpentError):
    """Raised when the simulator or the hardware failed."""

    code = ErrorCode.ROBOT_FAILED


class OutOfReach(RpentError):
    """Raised when the arm's joints cannot bring the tool to a target."""

    code = ErrorCode.OUT_OF_REACH


class NameTaken(RpentError):
    """Raised when another node already uses this node's name."""

    code = ErrorCode.NAME_TAKEN


class ModelNotLoaded(RpentError):
    """Raised when the policy cannot be loaded or has not been loaded."""

    code = ErrorCode.MODEL_NOT_LOADED


class BadObservation(RpentError):
    """Raised when an observation lacks what the policy needs."""

    code = ErrorCode.BAD_OBSERVATION


class BadInstruction(RpentError):
    """Raised when a policy cannot make sense of an instruction."""

    code = ErrorCode.BAD_INSTRUCTION


class ContractMismatch(RpentError):
    """Raised when driver and policy disagree about observations or actions."""

    code = ErrorCode.CONTRACT_MISMATCH


class InferenceFailed(RpentError):
    """Raised when the policy failed or returned unusable actions."""

    code = ErrorCode.INFERENCE_FAILED


class NoPrivilegedScene(RpentError):
    """Raised when a privileged policy gets no scene from the driver."""

    code = ErrorCode.NO_PRIVILEGED_SCENE


class NoPlan(RpentError):
    """Raised when a policy finds no way to carry out the instruction."""

    code = ErrorCode.NO_PLAN


class UnknownTool(RpentError):
    """Raised when a tool name does not exist."""

    code = ErrorCode.UNKNOWN_TOOL


class BadArguments(RpentError):
    """Raised when a tool's arguments do not fit its schema."""

    code = ErrorCode.BAD_ARGUMENTS


class ToolBusy(RpentError):
    """Raised when a tool is called while another one is running."""

    code = ErrorCode.TOOL_BUSY


class NotGrasped(RpentError):
    """Reported when a grasp ended without an object between the fingers."""

    code = ErrorCode.NOT_GRASPED


class NoSuchStep(RpentError):
    """Raised when a state dump that does not exist is asked for."""

    code = ErrorCode.NO_SUCH_STEP


class BadPixel(RpentError):
    """Raised when a pixel lies outside its image or has no valid depth."""

    code = ErrorCode.BAD_PIXEL


class TurnLimit(RpentError):
    """Raised when a run has used up its tool calls or the model its answers."""

    code = ErrorCode.TURN_LIMIT


class TimeLimit(RpentError):
    """Raised when a run has used up its wall-clock time."""

    code = ErrorCode.TIME_LIMIT


class BadRecipe(RpentError):
    """Raised when a recipe file cannot be read or names unknown tools."""

    code = ErrorCode.BAD_RECIPE


class RunActive(RpentError):
    """Raised when a run is asked for while another one is active."""

    code = ErrorCode.RUN_ACTIVE


class BadOutputDir(RpentError):
    """Raised when the output folder cannot be used."""

    code = ErrorCode.BAD_OUTPUT_DIR


class NotAchieved(RpentError):
    """Reported when a run ended without the task's predicate holding."""

    code = ErrorCode.NOT_ACHIEVED


class BadPath(RpentError):
    """Raised when a tool is asked for a file that it may not or cannot read or write."""

    code = ErrorCode.BAD_PATH


class TokenLimit(RpentError):
    """Raised when a run has used up its tokens."""

    code = ErrorCode.TOKEN_LIMIT


class CostLimit(RpentError):
    """Raised when a run has used up its money."""

    code = ErrorCode.COST_LIMIT


class NoProgress(RpentError):
    """Raised when a planner goes round in circles."""

    code = ErrorCode.NO_PROGRESS


class BagFailed(RpentError):
    """Raised when a bag cannot be opened, written, closed or read back."""

    code = ErrorCode.BAG_FAILED


class NotRecording(RpentError):
    """Raised when a recording is to be stopped while none is open."""

    code = ErrorCode.NOT_RECORDING


class SegmentationFailed(RpentError):
    """Raised when the segmenter fails or does not answer."""

    code = ErrorCode.SEGMENTATION_FAILED


class NotFound(RpentError):
    """Raised when nothing in an image fits what is looked for."""

    code = ErrorCode.NOT_FOUND


class LlmNoKey(RpentError):
    """Raised when no key for a language model is set."""

    code = ErrorCode.LLM_NO_KEY


class LlmBadKey(RpentError):
    """Raised when a provider does not accept the key."""

    code = ErrorCode.LLM_BAD_KEY


class LlmUnknownModel(RpentError):
    """Raised when there is no such language model or provider."""

    code = ErrorCode.LLM_UNKNOWN_MODEL


class LlmUnreachable(RpentError):
    """Raised when a provider cannot be reached."""

    code = ErrorCode.LLM_UNREACHABLE


class LlmFailed(RpentError):
    """Raised when a provider fails or answers something that makes no sense."""

    code = ErrorCode.LLM_FAILED


class LlmRefused(RpentError):
    """Raised when a language model refuses to go on."""

    code = ErrorCode.LLM_REFUSED


class LlmNoTools(RpentError):
    """Raised when a language model cannot call tools."""

    code = ErrorCode.LLM_NO_TOOLS


class LlmNoVision(RpentError):
    """Raised when a language model does not take pictures."""

    code = ErrorCode.LLM_NO_VISION


class LlmContextFull(RpentError):
    """Raised when a conversation no longer fits a language model."""

    code = ErrorCode.LLM_CONTEXT_FULL


class LlmNotInstalled(RpentError):
    """Raised when software that a planner needs is not installed."""

    code = ErrorCode.LLM_NOT_INSTALLED


_BY_CODE: dict[int, type[RpentError]] = {
    int(cls.code): cls for cls in RpentError.__subclasses__()
}


def from_code(code: int, message: str) -> RpentError:
    """Return the exception that a peer reported as a number and a sentence.

    Args:
      code: value of an `error_code` field, not 0.
      message: value of the `error_msg` field beside it.
    """
    return _BY_CODE.get(int(code), RpentError)(message)
