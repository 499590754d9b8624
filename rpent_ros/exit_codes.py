"""Exit codes of every command and process of this project."""

ACHIEVED = 0
NOT_ACHIEVED = 1
USAGE = 2
COMPONENT_FAILED = 3
INTERRUPTED = 130
