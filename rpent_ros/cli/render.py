"""`rpent render`: episode.mp4, or one picture, from the states that a run logged."""

from __future__ import annotations

import pathlib
import sys
import time
from collections.abc import Sequence

from rpent_ros import exit_codes
from rpent_ros.cli.arguments import Parser, integer, number
from rpent_ros.errors import ErrorCode, RpentError

_PROGRESS_PERIOD_S = 5.0


def main(argv: Sequence[str]) -> int:
    """Render; returns the exit code."""
    options = _parser().parse_args(argv)
    folder = pathlib.Path(options.folder)
    # Imported here: it costs more than the whole command line.
    from rpent_ros.video import VideoOptions, render_run, write_still

    output = pathlib.Path(options.output) if options.output else None
    try:
        if options.still:
            still = write_still(folder, options.still, size=options.size, path=output)
            print(still)
            return 0
        video = render_run(
            folder,
            VideoOptions(tuple(options.camera), size=options.size, fps=options.fps),
            path=output,
            on_frame=_Progress(),
        )
    except OSError as error:
        print(f'rpent render: {output or folder}: {error.strerror or error}', file=sys.stderr)
        return exit_codes.COMPONENT_FAILED
    except RpentError as error:
        print(f'rpent render: {error}', file=sys.stderr)
        is_usage = error.code in (ErrorCode.INVALID_REQUEST, ErrorCode.UNKNOWN_CAMERA)
        return exit_codes.USAGE if is_usage else exit_codes.COMPONENT_FAILED
    print(
        f'{video.path.name}: {video.frames} frames, {video.duration:.1f} s, rendered in '
        f'{video.seconds:.1f} s ({1000 * video.seconds / video.frames:.0f} ms a frame)',
        flush=True,
    )
    return 0


def _parser() -> Parser:
    out = Parser(
        prog='rpent render',
        description="Make episode.mp4 from the simulator states in a run's folder.",
        allow_abbrev=False,
    )
    add = out.add_argument
    add('folder', metavar='RUN_DIR', help='output folder of the run')
    add('--camera', action='append', default=[], metavar='NAME',
        help='camera to show, may be repeated (default: the first two, side by side)')
    add('--size', type=integer, default=256, metavar='PX', help='of each camera (default: 256)')
    add('--fps', type=number, default=10.0, metavar='N',
        help='pictures per second; playback is in real time (default: 10)')
    add('-o', '--output', default='', metavar='FILE',
        help='.mp4 (default: episode.mp4 in RUN_DIR), or .png with --still')
    add('--still', default='', metavar='CAMERA', help='write the last picture of a camera as PNG')
    return out  # fmt: skip


class _Progress:
    """Says now and then how far the rendering is."""

    def __init__(self) -> None:
        self._due = time.monotonic() + _PROGRESS_PERIOD_S

    def __call__(self, done: int, total: int) -> None:
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + _PROGRESS_PERIOD_S
            print(f'rendering video: {done} of {total} frames', flush=True)
