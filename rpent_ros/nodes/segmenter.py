"""The segmenter node: finds things in images.  Run it with `python -m rpent_ros.nodes.segmenter`.

The segmenter belongs to the process's main thread, which loads it and runs it; callbacks only hand
jobs over and await them, so describe is answered meanwhile.
"""

from __future__ import annotations

import dataclasses
import sys
import time
import traceback
from collections.abc import Sequence
from typing import Any

from rclpy.callback_groups import ReentrantCallbackGroup

from rpent_msgs.srv import DescribeSegmenter, ObserveLabels, Segment
from rpent_ros.contracts.labels import LabelImage
from rpent_ros.contracts.segmentation import Segmentation
from rpent_ros.errors import Busy, ErrorCode, RpentError
from rpent_ros.nodes import convert
from rpent_ros.nodes.client import ServiceCaller
from rpent_ros.nodes.main_thread import MainThread
from rpent_ros.nodes.model import load_model
from rpent_ros.nodes.node import Node
from rpent_ros.nodes.parameters import declare, parameter
from rpent_ros.nodes.process import Shutdown, run_node
from rpent_ros.segmentation.base import Segmenter, UsesLabels
from rpent_ros.segmentation.registry import make_segmenter

_LABELS_TIMEOUT_S = 30.0


@dataclasses.dataclass(frozen=True)
class SegmenterParameters:
    """See config/segmenter.yaml."""

    backend: str = parameter('classical', 'Segmenter to serve.')
    checkpoint: str = parameter('', 'Weights of sam3; empty: from Hugging Face.')
    vocabulary: str = parameter('', 'Vocabulary of sam3; empty: the one beside the package.')
    device: str = parameter('cuda', 'Where sam3 runs.')
    wait_s: float = parameter(
        5.0, 'How long a privileged segmenter waits for the driver to appear [s].', low=0.0
    )


class SegmenterNode(Node):
    """Serves one segmenter.

    Args:
      segmenter: the one to serve; None makes the one that the parameters name.
      **kwargs: passed to `Node`, e.g. context, namespace, parameter_overrides.
    """

    def __init__(self, segmenter: Segmenter | None = None, **kwargs: Any) -> None:
        super().__init__('segmenter', **kwargs)
        p = declare(self, SegmenterParameters)
        self._segmenter = segmenter or make_segmenter(p.backend, dataclasses.asdict(p))
        self._main = MainThread()
        self._busy = False
        # Coroutines that await the segmenter's thread: any number may be under way at once.
        group = ReentrantCallbackGroup()
        if isinstance(self._segmenter, UsesLabels):
            self._segmenter.connect(self._labels)
            self._observe_labels = ServiceCaller(
                self, ObserveLabels, 'privileged/observe_labels', wait_s=p.wait_s,
                callback_group=group,
            )  # fmt: skip
        self.create_service(Segment, 'segmenter/segment', self._on_segment, callback_group=group)
        self.create_service(
            DescribeSegmenter, 'segmenter/describe', self._on_describe, callback_group=group
        )

    @property
    def main(self) -> MainThread:
        """The queue of the segmenter's thread."""
        return self._main

    def main_loop(self, shutdown: Shutdown) -> None:
        """Own the segmenter on this thread until the process is to end."""
        shutdown.on_request(self._main.wake)
        self.load()
        self._main.run(should_stop=shutdown.requested)

    def load(self) -> None:
        """Load the segmenter; on the thread that then runs it.

        Raises:
          ModelNotLoaded: it cannot be loaded.
        """
        load_model(self.get_logger(), 'segmenter', self._segmenter)

    def destroy_node(self) -> None:
        """Take no more requests."""
        self._main.close()
        super().destroy_node()

    async def _on_describe(
        self, request: DescribeSegmenter.Request, response: DescribeSegmenter.Response
    ) -> DescribeSegmenter.Response:
        response.spec = convert.segmenter_spec_to_msg(self._segmenter.spec)
        return response

    async def _on_segment(
        self, request: Segment.Request, response: Segment.Response
    ) -> Segment.Response:
        try:
            answer = await self._alone(request)
            return convert.segmentation_to_msg(answer, request.frame.image.header)
        except RpentError as error:
            response.error_code, response.error_msg = int(error.code), str(error)
        except Exception as error:  # The edge: a failure becomes a code and a sentence.
            self.get_logger().error(traceback.format_exc())
            response.error_code = int(ErrorCode.SEGMENTATION_FAILED)
            response.error_msg = (
                f"segment: {type(error).__name__}: {error}; see the segmenter node's log"
            )
        return response

    async def _alone(self, request: Segment.Request) -> Segmentation:
        if self._busy:
            raise Busy('segment: the segmenter is busy with an earlier request; wait for its end')
        self._busy = True
        try:
            answer: Segmentation = await self._main.awaited(
                lambda: self._segment(request), self.executor
            )
            return answer
        finally:
            self._busy = False

    def _labels(self, camera: str, width: int, height: int) -> LabelImage:
        """The driver's labels of its present state; on the segmenter's thread."""
        answer = self._observe_labels.call(
            ObserveLabels.Request(camera=camera, width=width, height=height),
            timeout_s=_LABELS_TIMEOUT_S,
        )
        return convert.label_image_from_msg(answer, camera)

    def _segment(self, request: Segment.Request) -> Segmentation:
        """Look for what is asked; on the segmenter's thread."""
        started = time.monotonic()
        found = self._segmenter.segment(convert.segment_request_from_msg(request))
        return Segmentation(
            tuple(found),
            privileged=self._segmenter.spec.privileged,
            infer_ms=1000 * (time.monotonic() - started),
        )


def main(argv: Sequence[str] | None = None) -> int:
    """Serve a segmenter until SIGINT or SIGTERM."""
    return run_node('segmenter', SegmenterNode, argv, main_loop=SegmenterNode.main_loop)


if __name__ == '__main__':
    sys.exit(main())
