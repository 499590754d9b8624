"""The SAM 3 segmenter: refusals, and answers of a stand-in with the package's shapes.

The shapes are those of sam3 0.1.4: text gives masks (N, 1, H, W) bool and scores (N,) as tensors,
a point gives masks (3, H, W), scores (3,) and logits as arrays.  The real model needs a GPU.
"""

import sys
import types

import numpy as np
import pytest

from rpent_ros.contracts.observation import CameraFrame
from rpent_ros.contracts.segmentation import SegmentRequest
from rpent_ros.errors import InvalidRequest, ModelNotLoaded
from rpent_ros.geometry import Pose
from rpent_ros.segmentation.registry import make_segmenter
from rpent_ros.segmentation.sam3 import Sam3Segmenter

HEIGHT, WIDTH = 6, 8


class Tensor:
    """As much of a torch tensor as is used."""

    def __init__(self, value):
        self.value = np.asarray(value)

    def float(self):
        return Tensor(self.value.astype(np.float32))

    def cpu(self):
        return self

    def numpy(self):
        return self.value


@pytest.fixture
def frame():
    rgb = np.arange(HEIGHT * WIDTH * 3, dtype=np.uint8).reshape(HEIGHT, WIDTH, 3)
    return CameraFrame(
        'wrist', frame_id='wrist_optical', rgb=rgb, depth=None, intrinsics=np.eye(3),
        pose=Pose(np.zeros(3)),
    )  # fmt: skip


@pytest.fixture
def package(monkeypatch):
    """A package sam3, and torch, that record how they are used."""
    calls = {}
    masks = np.zeros((3, HEIGHT, WIDTH), bool)
    masks[0, 0], masks[1, 1:3] = True, True

    class Model:
        def predict_inst(self, state, **kwargs):
            calls['point'] = kwargs
            return masks.astype(np.float32), np.array([0.3, 0.8, 0.9]), None

    def build(**kwargs):
        calls['build'] = kwargs
        if kwargs['bpe_path'] is None:
            raise FileNotFoundError(2, 'No such file', 'assets/bpe_simple_vocab_16e6.txt.gz')
        return Model()

    class Processor:
        def __init__(self, model, device, confidence_threshold):
            calls['processor'] = (device, confidence_threshold)

        def set_image(self, image):
            calls['size'] = image.size
            return {}

        def set_text_prompt(self, prompt, state):
            calls['text'] = prompt
            scores = Tensor([0.4, 0.7, 0.95])
            return {'masks': Tensor(masks[:, None]), 'scores': scores}

    modules = {
        'torch': types.SimpleNamespace(
            cuda=types.SimpleNamespace(is_available=lambda: False), autocast=None, bfloat16=None
        ),
        'sam3': types.ModuleType('sam3'),
        'sam3.model': types.ModuleType('sam3.model'),
        'sam3.model.sam3_image_processor': types.SimpleNamespace(Sam3Processor=Processor),
        'sam3.model_builder': types.SimpleNamespace(build_sam3_image_model=build),
    }
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    return calls


@pytest.fixture
def vocabulary(tmp_path):
    path = tmp_path / 'bpe_simple_vocab_16e6.txt.gz'
    path.write_bytes(b'')
    return str(path)


def loaded(**parameters):
    segmenter = Sam3Segmenter(device='cpu', **parameters)
    segmenter.load()
    return segmenter


def test_by_words_best_first(package, vocabulary, frame):
    found = loaded(vocabulary=vocabulary).segment(
        SegmentRequest(frame, text='the milk', min_score=0.5)
    )
    assert package['text'] == 'the milk'
    assert package['size'] == (WIDTH, HEIGHT)
    assert package['processor'] == ('cpu', 0.0)
    # The best score has an empty mask, and the lowest is below the threshold.
    (instance,) = found
    assert (instance.label, instance.score) == ('the milk', pytest.approx(0.7))
    assert instance.box == (1, 2, 0, WIDTH - 1)


def test_at_a_point_x_comes_first(package, vocabulary, frame):
    package_point = SegmentRequest(frame, point=(2, 5))
    assert loaded(vocabulary=vocabulary).segment(package_point) == ()
    np.testing.assert_array_equal(package['point']['point_coords'], [[5, 2]])
    np.testing.assert_array_equal(package['point']['point_labels'], [1])
    assert package['build']['enable_inst_interactivity'] is True


def test_weights_from_a_file_or_from_the_hub(package, vocabulary, tmp_path):
    loaded(vocabulary=vocabulary)
    assert (package['build']['checkpoint_path'], package['build']['load_from_HF']) == (None, True)
    weights = tmp_path / 'sam3.pt'
    weights.write_bytes(b'')
    loaded(vocabulary=vocabulary, checkpoint=str(weights))
    assert package['build']['checkpoint_path'] == str(weights)
    assert package['build']['load_from_HF'] is False


def refusal(segmenter):
    with pytest.raises(ModelNotLoaded) as error:
        segmenter.load()
    return str(error.value)


def test_what_is_missing_is_said(package, tmp_path):
    gone = str(tmp_path / 'gone.pt')
    assert refusal(Sam3Segmenter(checkpoint=gone)) == (
        f'segmenter sam3: checkpoint {gone}: no such file'
    )
    assert refusal(Sam3Segmenter()) == (
        'segmenter sam3: expected a CUDA device, found none, and the package builds its model on '
        'nothing else; choose another segmenter'
    )
    assert refusal(Sam3Segmenter(device='cpu')) == (
        'segmenter sam3: assets/bpe_simple_vocab_16e6.txt.gz is missing; name the file '
        'bpe_simple_vocab_16e6.txt.gz with the parameter vocabulary (it is part of the package '
        'open_clip_torch, too)'
    )


def test_without_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, 'sam3', None)
    monkeypatch.setitem(sys.modules, 'torch', types.ModuleType('torch'))
    message = refusal(Sam3Segmenter())
    assert message.startswith('segmenter sam3: the package sam3 is not installed (')
    assert message.endswith(
        'install it with "pip install sam3 torch torchvision psutil", or choose another segmenter'
    )


def test_it_looks_for_something(package, vocabulary, frame):
    with pytest.raises(InvalidRequest, match='sam3 looks for a text or a point, got neither'):
        loaded(vocabulary=vocabulary).segment(SegmentRequest(frame))
    with pytest.raises(ModelNotLoaded, match='segmenter sam3 has not been loaded'):
        Sam3Segmenter().segment(SegmentRequest(frame, text='x'))


def test_it_is_found_by_name():
    made = make_segmenter('sam3', {'checkpoint': '', 'vocabulary': '', 'device': 'cuda'})
    assert made.spec.name == 'sam3'
