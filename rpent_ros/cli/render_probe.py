"""Render one picture without a display; used by `rpent doctor`.

    python -m rpent_ros.cli.render_probe        prints one JSON object

It is a process of its own because a broken OpenGL driver may end the one that uses it.
"""

from __future__ import annotations

import json
import os
import sys
import time

SCENE = """
<mujoco>
  <worldbody>
    <light pos="0 0 2"/>
    <camera name="view" pos="0 0 1"/>
    <geom type="sphere" size="0.2" rgba="1 0 0 1"/>
  </worldbody>
</mujoco>
"""
SIZE = 256


def main() -> int:
    """Render twice, the first one warms up; 0 if there is something to see."""
    import mujoco

    renderer = mujoco.Renderer(mujoco.MjModel.from_xml_string(SCENE), SIZE, SIZE)
    try:
        data = mujoco.MjData(renderer.model)
        mujoco.mj_forward(renderer.model, data)
        renderer.update_scene(data, 'view')
        renderer.render()
        # Only importable once the backend is chosen, and only current once there is a context.
        from OpenGL import GL

        started = time.perf_counter()
        image = renderer.render()
        milliseconds = 1e3 * (time.perf_counter() - started)
        centre = image[SIZE // 2, SIZE // 2].tolist()
        print(
            json.dumps(
                {
                    'backend': os.environ.get('MUJOCO_GL', ''),
                    'renderer': GL.glGetString(GL.GL_RENDERER).decode(),
                    'render_ms': round(milliseconds, 1),
                }
            )
        )
    finally:
        renderer.close()
    if not centre[0] > centre[1]:
        print(f'expected a red sphere in the middle, got RGB {centre}', file=sys.stderr)
        return 3
    return 0


if __name__ == '__main__':
    sys.exit(main())
