"""Segments with Meta's SAM 3, by words or at a point.  Needs the package, its weights and a GPU.

Written against the package `sam3` 0.1.4: `build_sam3_image_model` makes the model,
`Sam3Processor` finds by words, and `predict_inst` at a point, for which the model must be built
with `enable_inst_interactivity`.
"""

from __future__ import annotations

import contextlib
import importlib
import pathlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from PIL import Image

from rpent_ros.contracts.segmentation import Instance, SegmenterSpec, SegmentRequest
from rpent_ros.errors import InvalidRequest, ModelNotLoaded

VOCABULARY = 'bpe_simple_vocab_16e6.txt.gz'
_FOREGROUND = 1


class Sam3Segmenter:
    """SAM 3 on one GPU.

    Args:
      checkpoint: file of weights, such as sam3.pt; '': downloaded from Hugging Face, where the
        model facebook/sam3 must have been granted to the account that is logged in.
      vocabulary: file bpe_simple_vocab_16e6.txt.gz; '': the one beside the package, if there.
      device: cuda, or another device that the package can use.
    """

    spec = SegmenterSpec('sam3', supports_text=True, supports_point=True)

    def __init__(self, checkpoint: str = '', vocabulary: str = '', device: str = 'cuda') -> None:
        self._checkpoint = checkpoint
        self._vocabulary = vocabulary
        self._device = device
        self._model: Any = None
        self._processor: Any = None

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> Sam3Segmenter:
        """Made from the segmenter node's parameters."""
        return cls(
            **{name: parameters[name] for name in ('checkpoint', 'vocabulary', 'device')}
        )

    def load(self) -> None:
        """Build the model and load its weights.

        Raises:
          ModelNotLoaded: the package, a file, or the GPU is missing.
        """
        for name in ('checkpoint', 'vocabulary'):
            path = getattr(self, f'_{name}')
            if path and not pathlib.Path(path).expanduser().is_file():
                raise ModelNotLoaded(f'segmenter sam3: {name} {path}: no such file')
        try:
            torch = importlib.import_module('torch')
            builder = importlib.import_module('sam3.model_builder')
            processing = importlib.import_module('sam3.model.sam3_image_processor')
        except ImportError as error:
            raise ModelNotLoaded(
                f'segmenter sam3: the package sam3 is not installed ({error}); install it with '
                '"pip install sam3 torch torchvision psutil", or choose another segmenter'
            ) from None
        if self._device.startswith('cuda') and not torch.cuda.is_available():
            raise ModelNotLoaded(
                'segmenter sam3: expected a CUDA device, found none, and the package builds its '
                'model on nothing else; choose another segmenter'
            )
        try:
            self._model = builder.build_sam3_image_model(
                bpe_path=_expanded(self._vocabulary),
                device=self._device,
                checkpoint_path=_expanded(self._checkpoint),
                load_from_HF=not self._checkpoint,
                enable_inst_interactivity=True,
            )
        except FileNotFoundError as error:
            raise ModelNotLoaded(
                f'segmenter sam3: {error.filename or error} is missing; name the file '
                f'{VOCABULARY} with the parameter vocabulary (it is part of the package '
                'open_clip_torch, too)'
            ) from error
        # The threshold belongs to each request.
        self._processor = processing.Sam3Processor(
            self._model, device=self._device, confidence_threshold=0.0
        )

    def segment(self, request: SegmentRequest) -> tuple[Instance, ...]:
        """What fits the text, or the best guess of what is at the point.

        Raises:
          InvalidRequest: neither was given.
          ModelNotLoaded: `load` was not called.
        """
        if self._processor is None:
            raise ModelNotLoaded('segmenter sam3 has not been loaded')
        if not request.text and request.point is None:
            raise InvalidRequest('segment: sam3 looks for a text or a point, got neither')
        image = Image.fromarray(np.asarray(request.frame.rgb))
        with self._precision():
            state = self._processor.set_image(image)
            if request.point is None:
                found = self._processor.set_text_prompt(request.text, state)
                masks, scores = _array(found['masks'])[:, 0], _array(found['scores'])
            else:
                row, column = request.point
                masks, scores, _ = self._model.predict_inst(
                    state,
                    point_coords=np.array([[column, row]], np.float32),
                    point_labels=np.array([_FOREGROUND]),
                    multimask_output=True,
                )
                # One click leaves open how much of a thing is meant: the best of three guesses.
                best = [int(np.argmax(_array(scores)))]
                masks, scores = _array(masks)[best], _array(scores)[best]
        return instances(masks, scores, request)

    def _precision(self) -> contextlib.AbstractContextManager[Any]:
        """The mixed precision that the weights were trained for, on a GPU."""
        if not self._device.startswith('cuda'):
            return contextlib.nullcontext()
        torch = importlib.import_module('torch')
        autocast: contextlib.AbstractContextManager[Any] = torch.autocast(
            'cuda', dtype=torch.bfloat16
        )
        return autocast


def instances(masks: Any, scores: Any, request: SegmentRequest) -> tuple[Instance, ...]:
    """Instances of masks (N, H, W) and scores (N,) that are good enough, best first."""
    return tuple(
        Instance(
            np.asarray(masks[n]) > 0.5,
            label=request.text,
            score=float(min(max(scores[n], 0.0), 1.0)),
        )
        for n in np.argsort(-np.asarray(scores), kind='stable')
        if scores[n] >= request.min_score and (np.asarray(masks[n]) > 0.5).any()
    )


def _array(value: Any) -> Any:
    """A tensor, on whatever device, as an array of float32; arrays as they are."""
    return value.float().cpu().numpy() if hasattr(value, 'cpu') else np.asarray(value)


def _expanded(path: str) -> str | None:
    return str(pathlib.Path(path).expanduser()) if path else None
