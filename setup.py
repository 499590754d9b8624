"""Package description for colcon (ament_python); ./rpent runs from the checkout instead."""

from glob import glob
from os.path import dirname

from setuptools import find_packages, setup

NAME = 'rpent_ros'
NODES = ('driver', 'vla', 'segmenter', 'agent', 'recorder')

setup(
    name=NAME,
    version='0.1.0',
    description='Language models drive robots through a graph of ROS 2 nodes',
    maintainer='rpent_ros maintainers',
    maintainer_email='maintainers@rpent-ros.dev',
    license='Apache-2.0',
    packages=find_packages(include=['rpent_ros', 'rpent_ros.*', 'robots', 'robots.*']),
    package_data={'': ['*.json', '*.xml', '*.yaml', 'py.typed']},
    data_files=[
        ('share/ament_index/resource_index/packages', [f'resource/{NAME}']),
        (f'share/{NAME}', ['package.xml']),
        (f'share/{NAME}/launch', glob('launch/*.launch.py')),
        (f'share/{NAME}/config', glob('config/*')),
        *((f'share/{NAME}/{dirname(file)}', [file]) for file in glob('robots/*/params.yaml')),
    ],
    python_requires='>=3.10',
    install_requires=['setuptools'],
    zip_safe=False,
    entry_points={
        'console_scripts': [
            'rpent = rpent_ros.cli.main:main',
            *(f'{node} = rpent_ros.nodes.{node}:main' for node in NODES),
        ],
    },
)
