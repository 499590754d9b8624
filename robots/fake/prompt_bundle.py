"""What language models are told about the fake robot."""

from __future__ import annotations

from rpent_ros import prompt_sections
from rpent_ros.prompts import Sections

ROLE = (
    'You operate a gripper above a table with three coloured cubes and a bin, by calling tools.  '
    'Two cameras show the scene: agentview from the front, wrist from the gripper downwards.'
)

GOAL = 'Carry out the task sentence literally: {{instruction}}'


def system_prompt() -> Sections:
    """Sections that hold for every task."""
    return {
        'Role': ROLE,
        'Goal': GOAL,
        'Coordinates and images': prompt_sections.FRAMES,
        'Tools': prompt_sections.TOOLS,
        'How to find a point': prompt_sections.LOCALISE,
        'When something goes wrong': prompt_sections.RECOVERY,
        'Output': prompt_sections.OUTPUT,
    }


def user_prompt() -> Sections:
    """Sections that name the task."""
    return dict(prompt_sections.USER)
