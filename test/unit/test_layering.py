"""Who may import what: the architecture, enforced."""

import ast
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROS_PACKAGES = ('rclpy', 'tf2_ros', 'cv_bridge', 'launch', 'launch_ros', 'std_srvs')
SOURCES = sorted(
    path for folder in ('rpent_ros', 'robots') for path in (ROOT / folder).rglob('*.py')
)

# Imported in a fresh interpreter in which the blocked packages do not exist.
BLOCKED_IMPORT = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split('.')[0] in {blocked!r}:
            raise ImportError('blocked: ' + name)

sys.meta_path.insert(0, Blocker())
import importlib
for module in {modules!r}:
    importlib.import_module(module)
"""


def imported_packages(path: pathlib.Path) -> set[str]:
    """Top-level names of every package that a file imports, lazily or not."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name.split('.')[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module.split('.')[0])
    return names


def is_ros(package: str) -> bool:
    """True for rclpy and its kin and for interface packages."""
    return package in ROS_PACKAGES or package.endswith(('_msgs', '_interfaces'))


@pytest.mark.parametrize('path', SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_only_nodes_import_ros(path: pathlib.Path) -> None:
    if (ROOT / 'rpent_ros' / 'nodes') in path.parents:
        return
    assert {p for p in imported_packages(path) if is_ros(p)} == set()


def modules_below(folder: str, *, skip: tuple[str, ...] = ()) -> list[str]:
    """Dotted names of all modules below a folder of the repository."""
    out = []
    for path in sorted((ROOT / folder).rglob('*.py')):
        name = '.'.join(path.relative_to(ROOT).with_suffix('').parts).removesuffix('.__init__')
        if not name.startswith(skip):
            out.append(name)
    return out


def import_with_blocked(modules: list[str], blocked: set[str]) -> None:
    """Import modules in a fresh interpreter that cannot import the blocked packages."""
    code = BLOCKED_IMPORT.format(blocked=blocked, modules=modules)
    done = subprocess.run(
        [sys.executable, '-c', code], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


def test_core_imports_without_ros() -> None:
    blocked = {'rclpy', 'rpent_msgs', 'sensor_msgs', 'geometry_msgs', 'std_msgs', 'std_srvs'}
    import_with_blocked(modules_below('rpent_ros', skip=('rpent_ros.nodes',)), blocked)


def test_policies_import_without_a_simulator() -> None:
    import_with_blocked(modules_below('rpent_ros/policies'), {'mujoco', 'robosuite', 'libero'})


@pytest.mark.parametrize('robot', ['fake', 'libero'])
def test_agent_side_imports_neither_torch_nor_a_simulator(robot: str) -> None:
    modules = [
        'rpent_ros.agent',
        *modules_below('rpent_ros/tools'),
        *modules_below('rpent_ros/primitives'),
        *modules_below('rpent_ros/cerebrums'),
        f'robots.{robot}',
        f'robots.{robot}.toolkit',
        f'robots.{robot}.prompt_bundle',
    ]
    import_with_blocked(modules, {'torch', 'mujoco', 'robosuite', 'libero'})
