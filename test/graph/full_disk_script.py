"""Runs on a small disk, see test_full_disk.py: starts a run, then takes all but LEAVE bytes."""

import contextlib
import pathlib
import subprocess
import sys
import time

folder, leave, parameters = pathlib.Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
run = subprocess.Popen([
    sys.executable, '-m', 'rpent_ros.cli.main', 'run', '--env', 'fake', '--suite', 'fake_pick',
    '--task', '1', '--no-video', '--output-dir', str(folder / 'run'),
    '--params-file', parameters,
])  # fmt: skip
# In the middle of the second motion.
while not (folder / 'run' / 'images' / '01_wrist.png').exists() and run.poll() is None:
    time.sleep(0.02)
time.sleep(0.2)
with open(folder / 'filler', 'ab', buffering=0) as file, contextlib.suppress(OSError):
    while file.write(bytes(4096)) == 4096:
        pass
with open(folder / 'filler', 'r+b') as file:
    file.truncate(max(0, (folder / 'filler').stat().st_size - leave))
sys.exit(run.wait())
