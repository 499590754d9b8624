"""The simulator's view of the scene, for a policy that waits for that of one control step."""

from __future__ import annotations

import threading

from rpent_msgs.msg import Scene as SceneMsg
from rpent_ros.contracts.scene import Scene
from rpent_ros.errors import NoPrivilegedScene
from rpent_ros.nodes import convert


class SceneWaiter:
    """Keeps the newest scene.

    Args:
      timeout_s: how long `at` waits [s].
      driver: name of the driver node, for messages.
    """

    def __init__(self, timeout_s: float, driver: str) -> None:
        self._timeout_s = timeout_s
        self._driver = driver
        self._changed = threading.Condition()
        self._newest: SceneMsg | None = None

    def put(self, message: SceneMsg) -> None:
        """Take in a scene; on the executor's thread."""
        with self._changed:
            self._newest = message
            self._changed.notify_all()

    def at(self, episode: int, step: int) -> Scene:
        """The scene of that episode and step; on the policy's thread.

        Raises:
          NoPrivilegedScene: it did not come in time.
        """

        def there() -> bool:
            scene = self._newest
            return scene is not None and (scene.episode, scene.step) == (episode, step)

        with self._changed:
            if self._changed.wait_for(there, self._timeout_s):
                return convert.scene_from_msg(self._newest)
            newest = self._newest
        if newest is None:
            got = 'none'
            cure = f'start the driver {self._driver!r} with privileged:=true'
        else:
            got = f'episode {newest.episode} step {newest.step}'
            cure = 'infer from an observation of the present state'
        raise NoPrivilegedScene(
            f'expected the privileged scene of episode {episode} step {step} within '
            f'{self._timeout_s:g} s, got {got}; {cure}'
        )
