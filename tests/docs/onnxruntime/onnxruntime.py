"""Stands in for ONNX Runtime's module of this name, which Debian does not have: the calls that
docs/howto/onnxruntime.md shows. ONNX Runtime for Node computes (run.mjs), from the packages in the folder
that OCTET_INTEROP_PACKAGES names."""
import collections
import os
import pathlib
import subprocess
import tempfile

import numpy

NodeArg = collections.namedtuple("NodeArg", "name")


def _run(*arguments):
    script = pathlib.Path(__file__).parent / "run.mjs"
    command = ["node", script, os.environ["OCTET_INTEROP_PACKAGES"], *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


class SessionOptions:
    def add_session_config_entry(self, key, value):
        os.environ["OCTET_ONNX_OPTION"] = f"{key}={value}"


class InferenceSession:
    def __init__(self, path, _options=None):
        self._path = path
        self._input, self._output = _run(path).split()

    def get_inputs(self):
        return [NodeArg(self._input)]

    def run(self, output_names, input_feed):
        if output_names is not None:
            raise NotImplementedError("the stand-in gives all outputs: output_names has to be None")
        if list(input_feed) != [self._input]:
            raise ValueError(f"expected the input {self._input}, found {list(input_feed)}")
        values = input_feed[self._input]
        if values.dtype != numpy.float32:
            raise ValueError(f"expected float32, found {values.dtype}")
        with tempfile.TemporaryDirectory() as folder:
            given, found = os.path.join(folder, "in"), os.path.join(folder, "out")
            values.tofile(given)
            _run(self._path, given, ",".join(map(str, values.shape)), found)
            return [numpy.fromfile(found, numpy.float32).reshape(len(values), -1)]
