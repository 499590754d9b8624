"""Loads what a node serves, a policy or a segmenter, with the words that such nodes share."""

from __future__ import annotations

import time
import traceback
from typing import Any, Protocol

from rpent_ros.errors import ModelNotLoaded, RpentError


class Spec(Protocol):
    """What a model says about itself."""

    @property
    def name(self) -> str:
        """How it is chosen."""

    @property
    def privileged(self) -> bool:
        """It reads the state of a simulator."""


class Model(Protocol):
    """Something that is loaded before it is served."""

    @property
    def spec(self) -> Spec:
        """What it is; loading may change it."""

    def load(self) -> None:
        """Load weights, if there are any."""


def load_model(logger: Any, kind: str, model: Model) -> None:
    """Load a model and tell how long it took, and whether it is privileged.

    Args:
      logger: of the node.
      kind: what it is, for messages, e.g. policy.
      model: what is loaded.

    Raises:
      ModelNotLoaded: it cannot be loaded.
    """
    started = time.monotonic()
    name = model.spec.name
    try:
        model.load()
    except RpentError:
        raise
    except Exception as error:  # Libraries that load weights raise whatever they like.
        logger.error(traceback.format_exc())
        raise ModelNotLoaded(
            f'{kind} {name} cannot be loaded ({type(error).__name__}: {error}); install or '
            f'download what is missing, or choose another {kind}'
        ) from error
    spec = model.spec
    logger.info(f'{kind} {spec.name} loaded in {time.monotonic() - started:.1f} s')
    if spec.privileged:
        logger.warning(
            f'{kind} {spec.name} is PRIVILEGED: it reads the state of the simulator, which no '
            'real robot offers; results made with it say so'
        )
