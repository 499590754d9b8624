"""Conversations: what is left out, when, and that they stay valid."""

import pytest
from PIL import Image
from pydantic_ai.messages import (
    BinaryContent,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from rpent_ros.cerebrums.api import pictures
from rpent_ros.cerebrums.api.history import History
from rpent_ros.cerebrums.api.pictures import Picture
from rpent_ros.tools.result import ToolImage


def picture(call, camera='agentview', size=100):
    return Picture(
        camera, call, f'{camera}, 8 x 8 px:', BinaryContent(bytes(size), media_type='image/png')
    )


def history(in_results=True, images_kept=4, image_bytes_kept=10_000):
    return History(
        'system', 'task', in_results=in_results, images_kept=images_kept,
        image_bytes_kept=image_bytes_kept,
    )  # fmt: skip


def step(conversation, call, *cameras, size=100):
    """An answer with one call, and its result."""
    part = ToolCallPart('look', {}, tool_call_id=f'c{call}')
    conversation.add_answer(ModelResponse([part]))
    shown = [picture(call, camera, size) for camera in cameras]
    conversation.add_result(part, {'ok': True}, shown)


def contents(conversation):
    """What follows the results of each request, pictures as their sizes."""
    out = []
    for message in conversation.messages:
        if isinstance(message, ModelRequest):
            for part in message.parts:
                if isinstance(part, (ToolReturnPart, UserPromptPart)):
                    items = part.content if isinstance(part.content, list) else [part.content]
                    out += [len(i.data) if isinstance(i, BinaryContent) else i for i in items]
    return out


@pytest.mark.parametrize('in_results', [True, False])
def test_the_oldest_pictures_give_way_to_a_line(in_results):
    talk = history(in_results)
    for call in range(1, 5):
        step(talk, call, 'agentview')
        assert talk.prune() == 0
    step(talk, 5, 'agentview')
    # Down to half at once, so that the next turns find the conversation unchanged.
    assert talk.prune() == 3
    assert talk.pictures == 2
    absent = [f'[picture agentview of call {n} was left out to save room]' for n in (1, 2, 3)]
    told = contents(talk)
    assert [item for item in told if str(item).startswith('[')] == absent
    assert told.count('agentview, 8 x 8 px:') == told.count(100) == 2
    step(talk, 6, 'agentview')
    step(talk, 7, 'agentview')
    assert talk.prune() == 0
    assert contents(talk)[: len(told)] == told


def test_room_is_counted_in_bytes_too():
    talk = history(images_kept=50, image_bytes_kept=1000)
    for call in range(1, 4):
        step(talk, call, 'agentview', size=400)
    assert talk.prune() == 2
    assert talk.pictures == 1


def test_the_newest_result_keeps_its_pictures_whatever_the_limit():
    talk = history(images_kept=1, image_bytes_kept=1)
    step(talk, 1, 'agentview', 'wrist')
    step(talk, 2, 'agentview', 'wrist')
    assert talk.prune() == 2
    assert talk.prune() == 0
    assert contents(talk)[-2:] == ['wrist, 8 x 8 px:', 100]


def test_calls_made_together_keep_their_pictures_until_the_model_has_seen_them():
    talk = history(images_kept=2)
    calls = [ToolCallPart('look', {}, tool_call_id=f'c{n}') for n in range(3)]
    talk.add_answer(ModelResponse(list(calls)))
    for number, call in enumerate(calls):
        talk.add_result(call, {'ok': True}, [picture(number)])
    assert talk.prune() == 0
    assert talk.prune_hard() == 2
    talk.add_answer(ModelResponse([TextPart('seen')]))
    assert (talk.prune(), talk.pictures) == (0, 1)


def test_pruning_hard_leaves_the_last_result():
    talk = history()
    assert talk.prune_hard() == 0
    step(talk, 1, 'agentview')
    step(talk, 2, 'agentview', 'wrist')
    assert talk.prune_hard() == 1
    assert talk.prune_hard() == 0


def test_words_follow_the_results_in_one_message():
    talk = history(in_results=False)
    calls = [ToolCallPart('look', {}, tool_call_id=f'c{n}') for n in range(2)]
    talk.add_answer(ModelResponse(list(calls)))
    talk.add_text('early')
    for number, call in enumerate(calls):
        talk.add_result(call, {'n': number}, [picture(number)])
    talk.add_text('late')
    request = talk.messages[-1]
    kinds = [type(part).__name__ for part in request.parts]
    assert kinds == ['ToolReturnPart', 'ToolReturnPart', 'UserPromptPart']
    assert [part.content for part in request.parts[:2]] == [{'n': 0}, {'n': 1}]
    said = request.parts[2].content
    assert [i for i in said if isinstance(i, str)] == [
        'early', 'agentview, 8 x 8 px:', 'agentview, 8 x 8 px:', 'late',
    ]  # fmt: skip


def test_an_empty_answer_leaves_no_trace():
    talk = history()
    talk.add_answer(ModelResponse([]))
    talk.add_text('well?')
    assert len(talk.messages) == 1
    assert contents(talk) == ['task', 'well?']


def test_pictures_are_sent_as_they_are(tmp_path):
    path = tmp_path / 'a.png'
    Image.new('RGB', (8, 6)).save(path)
    loaded = pictures.load(ToolImage('wrist', path, 8, 6), 3)
    assert loaded.label == 'wrist, 8 x 6 px:'
    assert loaded.content.data == path.read_bytes()
    assert loaded.content.media_type == 'image/png'


def test_pictures_that_are_too_large_are_shrunk(tmp_path):
    path = tmp_path / 'a.png'
    Image.new('RGB', (4000, 20)).save(path)
    loaded = pictures.load(ToolImage('wrist', path, 4000, 20), 3)
    assert loaded.label == 'wrist, 4000 x 20 px, shown at 2000 x 10 px:'
    assert loaded.content.media_type == 'image/jpeg'


def test_a_missing_file_is_told(tmp_path):
    loaded = pictures.load(ToolImage('wrist', tmp_path / 'gone.png', 8, 6), 3)
    assert loaded == 'wrist, 8 x 6 px: the picture cannot be read: No such file or directory'
