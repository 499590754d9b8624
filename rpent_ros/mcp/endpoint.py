"""Where a running MCP server is, in a file that only its user can read.

One file per server, in `$XDG_RUNTIME_DIR/rpent-<uid>/` or else the machine's folder for temporary
files.  A file whose process is gone is ignored and removed.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import pathlib
import stat
import tempfile
from collections.abc import Iterator

from rpent_ros import files
from rpent_ros.errors import BadPath, InvalidRequest, Unavailable


@dataclasses.dataclass(frozen=True)
class Endpoint:
    """One MCP server.

    Attributes:
      url: where it listens.
      token: what it expects as bearer token.
      kind: run, the tools of one run; graph, tools by hand while no run is active.
      robot: the robot; '' if the server was not told.
      namespace: ROS namespace of the graph, without the leading slash; '' likewise.
      domain: ROS domain id; '' if it is not set.
      pid: process that serves.
      born: when that process began, as the kernel counts; process ids are used again.
    """

    url: str
    token: str = dataclasses.field(repr=False)
    _: dataclasses.KW_ONLY
    kind: str = 'run'
    robot: str = ''
    namespace: str = ''
    domain: str = ''
    pid: int = dataclasses.field(default_factory=os.getpid)
    born: int = dataclasses.field(default_factory=lambda: _born(os.getpid()))

    @property
    def label(self) -> str:
        """Names the graph for people."""
        return self.namespace or self.robot or 'rpent'

    @property
    def alive(self) -> bool:
        """True while the process that wrote the file runs."""
        return _born(self.pid) == self.born

    def descends_from(self, ancestor: int) -> bool:
        """True if the process is `ancestor` or was started below it."""
        pid = self.pid
        while pid > 1 and pid != ancestor:
            pid = _parent(pid)
        return pid == ancestor

    def __str__(self) -> str:
        domain = f', domain {self.domain}' if self.domain else ''
        return f'{self.label} ({self.kind}, {self.url}, process {self.pid}{domain})'


def folder() -> pathlib.Path:
    """The folder of this user's endpoint files; made if it does not exist.

    Raises:
      BadPath: somebody else made it, or can look into it.
    """
    own = os.environ.get('XDG_RUNTIME_DIR', '')
    base = own if own and pathlib.Path(own).is_dir() else tempfile.gettempdir()
    path = pathlib.Path(base) / f'rpent-{os.getuid()}'
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        found = path.lstat()
    except OSError as error:
        raise BadPath(f'{path}: cannot be made: {error.strerror or error}') from None
    # In a folder for everybody, another user may have been there first.
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise BadPath(
            f'{path}: expected a folder of user {os.getuid()} that nobody else can open; remove it'
        )
    return path


@contextlib.contextmanager
def published(endpoint: Endpoint) -> Iterator[pathlib.Path]:
    """Have a server found while the block runs.

    Raises:
      BadPath: the file cannot be written.
    """
    path = folder() / f'{endpoint.label.replace("/", "-")}-{endpoint.kind}-{endpoint.pid}.json'
    data = json.dumps(dataclasses.asdict(endpoint), indent=1).encode()
    previous = os.umask(0o077)
    try:
        files.write_bytes(path, data)
    except OSError as error:
        raise BadPath(f'{path}: cannot be written: {error.strerror or error}') from None
    finally:
        os.umask(previous)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def running() -> list[Endpoint]:
    """The servers of this user that run, by label.

    Raises:
      BadPath: their folder cannot be trusted.
    """
    out = []
    for path in folder().glob('*.json'):
        try:
            endpoint = Endpoint(**json.loads(path.read_text()))
        except (OSError, ValueError, TypeError):
            # Gone meanwhile, or of another version.
            continue
        if endpoint.alive:
            out.append(endpoint)
        else:
            path.unlink(missing_ok=True)
    return sorted(out, key=lambda e: (e.label, e.pid, e.kind))


def choose(namespace: str = '', url: str = '') -> Endpoint:
    """The one server that runs, or the one of that namespace or URL.

    Raises:
      Unavailable: none runs.
      InvalidRequest: several run, or none of them fits.
      BadPath: the folder of the files cannot be trusted.
    """
    found = running()
    if not found:
        raise Unavailable(
            'no robot is served over MCP on this machine; start one with: rpent run --cerebrum mcp'
        )
    wanted = namespace.strip('/')
    fitting = [
        endpoint for endpoint in found
        if (not wanted or wanted in (endpoint.namespace, endpoint.label))
        and (not url or url == endpoint.url)
    ]  # fmt: skip
    # While a run is served, the same graph refuses tools by hand.
    runs = {endpoint.pid for endpoint in fitting if endpoint.kind == 'run'}
    fitting = [e for e in fitting if e.kind == 'run' or e.pid not in runs]
    if len(fitting) == 1:
        return fitting[0]
    shown = '; '.join(str(endpoint) for endpoint in fitting or found)
    if not fitting:
        raise InvalidRequest(f'no MCP server fits --namespace or --url; running: {shown}')
    raise InvalidRequest(f'several MCP servers run; choose with --namespace or --url: {shown}')


def _born(pid: int) -> int:
    """Start of a process in clock ticks since boot; 0 if there is no such process."""
    fields = _stat(pid)
    return int(fields[19]) if fields and fields[0] != 'Z' else 0


def _parent(pid: int) -> int:
    fields = _stat(pid)
    return int(fields[1]) if fields else 0


def _stat(pid: int) -> list[str]:
    """Fields of /proc/<pid>/stat from the state on; [] if there is no such process."""
    try:
        text = pathlib.Path(f'/proc/{pid}/stat').read_text()
    except OSError:
        return []
    # The second field is the program's name in brackets, which may hold spaces.
    return text.rpartition(')')[2].split()
