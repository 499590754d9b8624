"""setup.py, package.xml and colcon's settings agree with each other and with the code."""

import ast
import pathlib
import runpy
import xml.etree.ElementTree as ET

import pytest
import setuptools
import yaml

import rpent_ros

ROOT = pathlib.Path(__file__).resolve().parents[2]
MANIFEST = ET.parse(ROOT / 'package.xml').getroot()
ROS_SUFFIXES = ('_msgs', '_srvs', '_interfaces')


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> dict:
    """The arguments of setup()."""
    arguments: dict = {}
    monkeypatch.setattr(setuptools, 'setup', arguments.update)
    monkeypatch.chdir(ROOT)
    runpy.run_path(str(ROOT / 'setup.py'))
    return arguments


def test_one_version_everywhere(package: dict) -> None:
    versions = {
        'package.xml': MANIFEST.findtext('version'),
        'rpent_msgs/package.xml': ET.parse(ROOT / 'rpent_msgs/package.xml').findtext('version'),
        'rpent_ros/__init__.py': rpent_ros.__version__,
    }
    assert versions == dict.fromkeys(versions, package['version'])


def test_names_agree(package: dict) -> None:
    name = MANIFEST.findtext('name')
    assert package['name'] == name == 'rpent_ros'
    assert (ROOT / 'resource' / name).is_file()
    assert MANIFEST.findtext('export/build_type') == 'ament_python'
    assert package['license'] == MANIFEST.findtext('license') == 'Apache-2.0'


@pytest.mark.parametrize('top', ['rpent_ros', 'robots'])
def test_every_module_is_in_an_installed_package(top: str, package: dict) -> None:
    folders = {path.parent.relative_to(ROOT) for path in (ROOT / top).rglob('*.py')}
    assert {'.'.join(folder.parts) for folder in folders} - set(package['packages']) == set()


def test_nothing_else_is_installed_as_a_package(package: dict) -> None:
    assert {name.split('.')[0] for name in package['packages']} == {'rpent_ros', 'robots'}


def test_data_beside_modules_is_installed(package: dict) -> None:
    patterns = package['package_data']['']
    for top in ('rpent_ros', 'robots'):
        for path in (ROOT / top).rglob('*'):
            if path.is_file() and path.suffix not in ('.py', '.pyc'):
                assert any(path.match(pattern) for pattern in patterns), path


def test_shared_files_are_installed(package: dict) -> None:
    installed = {file for _, files in package['data_files'] for file in files}
    for pattern in ('launch/*.launch.py', 'config/*', 'robots/*/params.yaml'):
        found = {str(path.relative_to(ROOT)) for path in ROOT.glob(pattern)}
        assert found and found - installed == set(), pattern


def test_executables_exist(package: dict) -> None:
    scripts = dict(line.split(' = ') for line in package['entry_points']['console_scripts'])
    assert set(scripts) == {'rpent', 'driver', 'vla', 'segmenter', 'agent', 'recorder'}
    for target in scripts.values():
        module, function = target.split(':')
        tree = ast.parse((ROOT / f'{module.replace(".", "/")}.py').read_text())
        assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_imported_ros_package_is_declared() -> None:
    used = set()
    for path in (ROOT / 'rpent_ros' / 'nodes').rglob('*.py'):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                used.update(alias.name.split('.')[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                used.add(node.module.split('.')[0])
    ros = {name for name in used if name == 'rclpy' or name.endswith(ROS_SUFFIXES)}
    declared = {node.text for node in MANIFEST if node.tag.endswith('depend')}
    assert 'rclpy' in ros
    assert ros - declared == set()


def test_colcon_sees_both_packages() -> None:
    settings = yaml.safe_load((ROOT / 'colcon_defaults.yaml').read_text())
    for verb in ('build', 'test', 'list'):
        paths = settings[verb]['base-paths']
        manifests = [ET.parse(ROOT / path / 'package.xml').findtext('name') for path in paths]
        assert manifests == ['rpent_ros', 'rpent_msgs'], verb
