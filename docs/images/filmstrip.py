"""Put a run's state dumps side by side: the picture in the README.

./rpent exec python docs/images/filmstrip.py RUN_DIR docs/images/demo.png
"""

from __future__ import annotations

import pathlib
import sys

from PIL import Image

HEIGHT = 256


def main(run_dir: str, target: str) -> None:
    """Agentview above, wrist camera below, one column per dump."""
    folder = pathlib.Path(run_dir) / 'images'
    rows = [sorted(folder.glob(f'*_{camera}_high.png')) for camera in ('agentview', 'wrist')]
    strip = Image.new('RGB', (HEIGHT * len(rows[0]), HEIGHT * len(rows)))
    for y, files in enumerate(rows):
        for x, file in enumerate(files):
            picture = Image.open(file).resize((HEIGHT, HEIGHT), Image.Resampling.LANCZOS)
            strip.paste(picture, (x * HEIGHT, y * HEIGHT))
    strip.quantize(128, dither=Image.Dither.FLOYDSTEINBERG).save(target, optimize=True)


if __name__ == '__main__':
    main(*sys.argv[1:])
