#!/usr/bin/python3
"""make_fixtures.py DIR [CORPUS]: writes the ONNX files of this folder, each with what PyTorch computes,
and the seeds of the fuzz target to CORPUS, tests/fuzz/corpus/onnx.

Networks are small and untrained: weights and batch normalization statistics are random. NAME.onnx is
exported by torch.onnx, or put together by onnx.helper as tf2onnx writes it; NAME.npy holds the outputs
for as many examples as it has rows, of inputs that a formula gives, see inputs(). Needs Debian's
python3-torch and python3-onnx; made with torch 1.13 and onnx 1.12.
"""
import sys

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn
from torch.nn import functional as F

EXAMPLES = 16


def inputs(shape):
    """Element i of the whole batch, in the file's order, is i * 7919 % 2017 / 1008 - 1."""
    i = np.arange(int(np.prod(shape)), dtype=np.int64)
    return ((i * 7919 % 2017).astype(np.float32) / np.float32(1008) - np.float32(1)).reshape(shape)


def randomise(model, seed):
    generator = torch.Generator().manual_seed(seed)
    for module in model.modules():
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d)):
            for tensor, low, high in ((module.weight, 0.5, 1.5), (module.bias, -0.3, 0.3),
                                      (module.running_mean, -0.3, 0.3),
                                      (module.running_var, 0.3, 1.5)):
                tensor.data.uniform_(low, high, generator=generator)
        elif hasattr(module, 'weight') and module.weight is not None:
            fan_in = module.weight[0].numel()
            module.weight.data.normal_(0, (2 / fan_in) ** 0.5, generator=generator)
            if module.bias is not None:
                module.bias.data.uniform_(-0.2, 0.2, generator=generator)
    return model.eval()


class LeNet5(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 5, padding=2)
        self.conv2 = nn.Conv2d(4, 8, 5)
        self.fc1 = nn.Linear(8 * 5 * 5, 24)
        self.fc2 = nn.Linear(24, 16)
        self.fc3 = nn.Linear(16, 10)

    def forward(self, x):
        x = F.max_pool2d(torch.tanh(self.conv1(x)), 2)
        x = F.avg_pool2d(torch.tanh(self.conv2(x)), 2)
        x = x.view(x.size(0), -1)
        return self.fc3(torch.tanh(self.fc2(torch.tanh(self.fc1(x)))))


def mlp():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 16), nn.ReLU(), nn.Dropout(0.2),
                         nn.Linear(16, 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Linear(12, 10),
                         nn.Softmax(dim=1))


def conv_bn(inputs, outputs, size, stride=1, groups=1, relu=True):
    layers = [nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False),
              nn.BatchNorm2d(outputs)]
    return nn.Sequential(*layers, nn.ReLU()) if relu else nn.Sequential(*layers)


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = conv_bn(inputs, outputs, 3, stride)
        self.conv2 = conv_bn(outputs, outputs, 3, relu=False)
        self.shortcut = (nn.Identity() if stride == 1 else
                         nn.Conv2d(inputs, outputs, 1, stride))

    def forward(self, x):
        return F.relu(self.conv2(self.conv1(x)) + self.shortcut(x))


def resnet8():
    return nn.Sequential(conv_bn(3, 4, 3), Block(4, 4, 1), Block(4, 8, 2), Block(8, 16, 2),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))


def separable(inputs, outputs, stride):
    return nn.Sequential(conv_bn(inputs, inputs, 3, stride, groups=inputs),
                         conv_bn(inputs, outputs, 1))


def ds_cnn():
    first = nn.Sequential(nn.ZeroPad2d((1, 1, 4, 5)), nn.Conv2d(1, 16, (10, 4), 2),
                          nn.BatchNorm2d(16), nn.ReLU())
    return nn.Sequential(first, nn.Dropout(0.2), *[separable(16, 16, 1) for _ in range(4)],
                         nn.AvgPool2d((25, 5)), nn.Flatten(), nn.Linear(16, 12),
                         nn.Softmax(dim=1))


def mobilenet_v1():
    widths = [(2, 4, 1), (4, 8, 2), (8, 8, 1), (8, 16, 2), (16, 16, 1), (16, 32, 2)]
    widths += [(32, 32, 1)] * 5 + [(32, 48, 2), (48, 48, 1)]
    blocks = [separable(*width) for width in widths]
    return nn.Sequential(conv_bn(3, 2, 3, 2), *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(48, 10))


class Operators(nn.Module):
    """What the networks leave out."""

    def __init__(self):
        super().__init__()
        self.grouped = nn.Conv2d(4, 8, 3, padding=2, dilation=2, groups=2)
        self.several = nn.Conv2d(8, 16, 3, stride=2, padding=1, groups=8)
        self.squeeze = nn.Conv2d(16, 16, 1)
        self.norm = nn.BatchNorm1d(24 * 4 * 3)
        self.last = nn.Linear(24 * 4 * 3, 8)

    def forward(self, x):
        x = F.leaky_relu(self.grouped(x), 0.1)
        x = F.hardswish(self.several(x))
        gate = torch.sigmoid(self.squeeze(x.mean((2, 3), keepdim=True)))
        x = F.relu6(x * gate)
        pooled = F.max_pool2d(x, 3, stride=1, padding=1)
        mean = F.avg_pool2d(x, 3, stride=1, padding=1)
        x = torch.cat([pooled + mean, pooled[:, :, :, :]], 1)[:, :, :, :]
        x = F.max_pool2d(x, 2, ceil_mode=True)
        x = torch.cat([F.adaptive_avg_pool2d(x, 1) * x], 1)
        return x


class Tail(Operators):
    def __init__(self):
        super().__init__()
        self.point = nn.Conv2d(32, 24, 1)

    def forward(self, x):
        x = self.point(super().forward(x))
        x = F.relu(self.norm(torch.flatten(x, 1)))
        return F.softmax(self.last(x), dim=-1)


class Sequence(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv1d(3, 8, 5, stride=2)
        self.conv2 = nn.Conv1d(8, 8, 3, padding=1, groups=2)
        self.last = nn.Linear(8 * 14, 4)

    def forward(self, x):
        return self.last(torch.relu(self.conv2(torch.relu(self.conv1(x)))).flatten(1))


class Recurrent(nn.Module):
    """A recurrent network, and a classifier of its last step."""

    def __init__(self, kind, layers=1, both=False):
        super().__init__()
        self.cells = kind(6, 8, layers, batch_first=True, bidirectional=both)
        self.last = nn.Linear(16 if both else 8, 4)

    def forward(self, x):
        return self.last(self.cells(x)[0][:, -1])


class EveryStep(Recurrent):
    def forward(self, x):
        return torch.tanh(self.last(self.cells(x)[0]))


class LastState(Recurrent):
    def forward(self, x):
        state = self.cells(x)[1]
        return self.last(state[0][-1] if isinstance(state, tuple) else state[-1])


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = nn.MultiheadAttention(8, 2, batch_first=True)
        self.last = nn.Linear(8, 4)

    def forward(self, x):
        return self.last((x + self.mix(x, x, x, need_weights=False)[0]).mean(1))


class Encoder(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.encode = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, **options)
        self.last = nn.Linear(8, 4)

    def forward(self, x):
        return self.last(self.encode(x).mean(1))


def seeded(make, seed):
    """Also where randomise() leaves weights as PyTorch draws them."""
    torch.manual_seed(seed)
    return randomise(make(), seed)


def sequences(folder):
    steps, words = (7, 6), (5, 8)
    networks = [('lstm_14', lambda: Recurrent(nn.LSTM, 2, both=True), steps, 14, True),
                ('lstm_state_9', lambda: LastState(nn.LSTM), steps, 9, False),
                ('gru_17', lambda: EveryStep(nn.GRU), steps, 17, False),
                ('gru_state_11', lambda: LastState(nn.GRU, 2), steps, 11, True),
                ('attention_13', Attention, words, 13, True),
                ('attention_17', Attention, words, 17, False),
                ('encoder_14', Encoder, words, 14, True),
                ('encoder_17', lambda: Encoder(norm_first=True, activation='gelu'), words, 17, True)]
    for seed, (name, make, shape, opset, dynamic) in enumerate(networks, 13):
        export(folder, name, seeded(make, seed), shape, opset, dynamic=dynamic)


def export(folder, name, model, shape, opset, keep_bn=False, fold=True, dynamic=True):
    x = torch.from_numpy(inputs((EXAMPLES, *shape)))
    with torch.no_grad():
        np.save(f'{folder}/{name}.npy', model(x).numpy())
    training = torch.onnx.TrainingMode.PRESERVE if keep_bn else torch.onnx.TrainingMode.EVAL
    axes = {'input': {0: 'batch'}, 'output': {0: 'batch'}} if dynamic else None
    torch.onnx.export(model, x[:1], f'{folder}/{name}.onnx', opset_version=opset,
                      training=training, do_constant_folding=fold, input_names=['input'],
                      output_names=['output'], dynamic_axes=axes)
    onnx.checker.check_model(f'{folder}/{name}.onnx')


def tf2onnx_style(folder):
    """An NHWC network as tf2onnx writes it: Transposes around what ONNX computes in NCHW."""
    rng = np.random.default_rng(7)

    def constant(name, *shape):
        values = (rng.standard_normal(shape) * 0.3).astype(np.float32)
        return numpy_helper.from_array(values, name)

    # tf2onnx names weights after the variables of TensorFlow.
    weights = [constant('conv/Conv2D/ReadVariableOp', 6, 3, 3, 3),
               constant('conv/BiasAdd/ReadVariableOp', 1, 6, 1, 1),
               constant('dw/depthwise/ReadVariableOp', 6, 1, 3, 3),
               constant('dense/MatMul/ReadVariableOp', 4 * 4 * 6, 10),
               constant('dense/BiasAdd/ReadVariableOp', 10),
               numpy_helper.from_array(np.array([-1, 4 * 4 * 6], np.int64), 'flat')]
    node = helper.make_node
    nodes = [
        node('Transpose', ['x'], ['a'], perm=[0, 3, 1, 2]),
        node('Conv', ['a', 'conv/Conv2D/ReadVariableOp'], ['b'], auto_pad='SAME_UPPER',
             strides=[2, 2], kernel_shape=[3, 3], name='conv/Conv2D'),
        node('Add', ['b', 'conv/BiasAdd/ReadVariableOp'], ['c'], name='conv/BiasAdd'),
        node('Relu', ['c'], ['d']),
        node('Transpose', ['d'], ['e'], perm=[0, 2, 3, 1]),
        node('Transpose', ['e'], ['f'], perm=[0, 3, 1, 2]),
        node('Conv', ['f', 'dw/depthwise/ReadVariableOp'], ['g'], group=6, auto_pad='SAME_UPPER',
             kernel_shape=[3, 3], name='dw/depthwise'),
        node('Transpose', ['g'], ['h'], perm=[0, 2, 3, 1]),
        node('Relu', ['h'], ['i']),
        node('Transpose', ['i'], ['j'], perm=[0, 3, 1, 2]),
        node('MaxPool', ['j'], ['k'], kernel_shape=[2, 2], strides=[2, 2]),
        node('Transpose', ['k'], ['l'], perm=[0, 2, 3, 1]),
        node('Reshape', ['l', 'flat'], ['m']),
        node('MatMul', ['m', 'dense/MatMul/ReadVariableOp'], ['n'], name='dense/MatMul'),
        node('Add', ['n', 'dense/BiasAdd/ReadVariableOp'], ['o'], name='dense/BiasAdd'),
        node('Softmax', ['o'], ['y'], axis=-1)]
    graph = helper.make_graph(
        nodes, 'tf2onnx', [helper.make_tensor_value_info('x', TensorProto.FLOAT, [None, 16, 16, 3])],
        [helper.make_tensor_value_info('y', TensorProto.FLOAT, [None, 10])], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 13)],
                              producer_name='tf2onnx')
    model.ir_version = 7
    onnx.checker.check_model(model)
    onnx.save(model, f'{folder}/tf2onnx_13.onnx')

    w = {t.name: torch.from_numpy(numpy_helper.to_array(t).copy()) for t in weights}
    x = torch.from_numpy(inputs((EXAMPLES, 16, 16, 3))).permute(0, 3, 1, 2)
    # SAME of TensorFlow pads the end alone here: 16 pixels, 3 taps, stride 2.
    x = F.conv2d(F.pad(x, (0, 1, 0, 1)), w['conv/Conv2D/ReadVariableOp'], stride=2)
    x = F.relu(x + w['conv/BiasAdd/ReadVariableOp'])
    x = F.relu(F.conv2d(x, w['dw/depthwise/ReadVariableOp'], padding=1, groups=6))
    x = F.max_pool2d(x, 2).permute(0, 2, 3, 1).reshape(EXAMPLES, -1)
    x = x @ w['dense/MatMul/ReadVariableOp'] + w['dense/BiasAdd/ReadVariableOp']
    np.save(f'{folder}/tf2onnx_13.npy', F.softmax(x, dim=1).numpy())


def external_data(folder):
    """The MLP with its weights in a file of its own."""
    model = onnx.load(f'{folder}/mlp_9.onnx')
    onnx.save_model(model, f'{folder}/mlp_external.onnx', save_as_external_data=True,
                    all_tensors_to_one_file=True, location='mlp_external.data', size_threshold=0)
    np.save(f'{folder}/mlp_external.npy', np.load(f'{folder}/mlp_9.npy'))


def seeds(corpus):
    """Files of a few hundred bytes: every byte of them is damaged once."""
    rng = np.random.default_rng(3)
    number = TensorProto.FLOAT

    def save(name, nodes, shape, units, weights, opset):
        tensors = [numpy_helper.from_array(np.asarray(v), n) for n, v in weights.items()]
        graph = helper.make_graph(nodes, 'g', [helper.make_tensor_value_info('x', number, shape)],
                                  [helper.make_tensor_value_info('y', number, [None, units])],
                                  tensors)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', opset)])
        onnx.checker.check_model(model)
        onnx.save(model, f'{corpus}/seed_{name}')

    def random(*shape):
        return rng.standard_normal(shape).astype(np.float32)

    node = helper.make_node
    save('small', [node('Conv', ['x', 'w'], ['a'], pads=[1, 1, 1, 1], strides=[2, 2]),
                   node('BatchNormalization', ['a', 'n', 'n', 'n', 'n'], ['b']),
                   node('Relu', ['b'], ['c']), node('Flatten', ['c'], ['d']),
                   node('Gemm', ['d', 'v', 'o'], ['y'], transB=1)],
         [None, 1, 3, 3], 2,
         {'w': random(2, 1, 2, 2), 'n': np.abs(random(2)), 'v': random(2, 8), 'o': random(2)}, 13)
    save('shapes', [node('Shape', ['x'], ['s']), node('Gather', ['s', 'zero'], ['b']),
                    node('Unsqueeze', ['b'], ['u'], axes=[0]),
                    node('Concat', ['u', 'rest'], ['t'], axis=0), node('Reshape', ['x', 't'], ['f']),
                    node('Transpose', ['v'], ['r'], perm=[1, 0]), node('MatMul', ['f', 'r'], ['m']),
                    node('Add', ['m', 'o'], ['e']), node('Clip', ['e'], ['y'], min=0.0, max=6.0)],
         [None, 2, 3], 2, {'zero': np.int64(0), 'rest': np.array([-1]), 'v': random(2, 6),
                           'o': random(2)}, 9)
    save('joins', [node('MaxPool', ['x'], ['p'], kernel_shape=[2, 2], strides=[1, 1],
                        auto_pad='SAME_UPPER'),
                   node('Sigmoid', ['p'], ['q']), node('Mul', ['p', 'q'], ['m']),
                   node('Concat', ['m', 'x'], ['c'], axis=1),
                   node('Pad', ['c', 'pads'], ['d']),
                   node('AveragePool', ['d'], ['e'], kernel_shape=[2, 2]),
                   node('ReduceMean', ['e'], ['f'], axes=[2, 3], keepdims=1),
                   node('Squeeze', ['f', 'axes'], ['y'])],
         [1, 1, 3, 4], 2, {'pads': np.array([0, 0, 1, 0, 0, 0, 0, 1]), 'axes': np.array([2, 3])}, 13)
    save('heads', [node('Transpose', ['x'], ['a'], perm=[1, 0, 2]),
                   node('Reshape', ['a', 'heads'], ['b']),
                   node('Transpose', ['b'], ['q'], perm=[1, 0, 2]),
                   node('Transpose', ['b'], ['k'], perm=[1, 2, 0]),
                   node('MatMul', ['q', 'k'], ['s']), node('Softmax', ['s'], ['p']),
                   node('MatMul', ['p', 'q'], ['c']),
                   node('Transpose', ['c'], ['d'], perm=[1, 0, 2]),
                   node('Reshape', ['d', 'rows'], ['e']), node('Gemm', ['e', 'w'], ['f']),
                   node('Reshape', ['f', 'steps'], ['g']),
                   node('ReduceMean', ['g'], ['y'], axes=[0], keepdims=0)],
         [None, 2, 2], 2, {'heads': np.array([2, -1, 1]), 'rows': np.array([-1, 2]),
                           'w': random(2, 2), 'steps': np.array([2, -1, 2])}, 13)


def main(folder, corpus=None):
    if corpus:
        seeds(corpus)
    torch.set_num_threads(1)
    images, speech = (3, 32, 32), (1, 49, 10)
    export(folder, 'mlp_9', randomise(mlp(), 1), (1, 28, 28), 9)
    export(folder, 'mlp_17', randomise(mlp(), 2), (1, 28, 28), 17, keep_bn=True, fold=False)
    export(folder, 'lenet5_9', randomise(LeNet5(), 3), (1, 28, 28), 9, fold=False)
    export(folder, 'lenet5_13', randomise(LeNet5(), 4), (1, 28, 28), 13, dynamic=False)
    export(folder, 'resnet8_11', randomise(resnet8(), 5), images, 11)
    export(folder, 'resnet8_16', randomise(resnet8(), 6), images, 16, keep_bn=True, fold=False)
    export(folder, 'ds_cnn_13', randomise(ds_cnn(), 7), speech, 13, fold=False)
    export(folder, 'ds_cnn_17', randomise(ds_cnn(), 8), speech, 17, keep_bn=True)
    export(folder, 'mobilenet_v1_9', randomise(mobilenet_v1(), 9), images, 9, keep_bn=True)
    export(folder, 'mobilenet_v1_17', randomise(mobilenet_v1(), 10), images, 17, dynamic=False)
    for opset in (9, 13, 17):
        export(folder, f'operators_{opset}', randomise(Tail(), 11), (4, 15, 11), opset,
               keep_bn=True, fold=opset != 13)
    export(folder, 'sequence_13', randomise(Sequence(), 12), (3, 32), 13)
    sequences(folder)
    tf2onnx_style(folder)
    external_data(folder)


if __name__ == '__main__':
    main(*sys.argv[1:])
