"""Reads and writes safetensors files with nothing but numpy: written from the format's description
(https://huggingface.co/docs/safetensors/index#format), for the conversion beside it, and for tests that want a reader
and a writer other than the trainer's.

usage: safetensors_py.py FILE...    lists the tensors and metadata of each
"""
import json
import struct
import sys

import numpy as np

# The format's element types. numpy has no BF16: such tensors are given as float32, exactly.
TYPES = {'BOOL': '?', 'U8': 'u1', 'I8': 'i1', 'I16': '<i2', 'U16': '<u2', 'F16': '<f2', 'BF16': '<u2', 'I32': '<i4',
         'U32': '<u4', 'F32': '<f4', 'F64': '<f8', 'I64': '<i8', 'U64': '<u8'}
HEADER_MAX_B = 100_000_000


def _no_duplicates(pairs):
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names):
        raise ValueError('a name comes twice')
    return dict(pairs)


def read(path):
    """({name: array}, {key: text}), in the order of the data. ValueError for what the format does not allow."""
    with open(path, 'rb') as f:
        raw = f.read()
    if len(raw) < 8:
        raise ValueError('too short')
    length = struct.unpack('<Q', raw[:8])[0]
    if length > min(HEADER_MAX_B, len(raw) - 8) or raw[8:9] != b'{':
        raise ValueError('no header')
    header = json.loads(raw[8:8 + length].decode('utf-8'), object_pairs_hook=_no_duplicates)
    data, metadata, at = raw[8 + length:], header.pop('__metadata__', {}), 0
    if not all(isinstance(text, str) for text in metadata.values()):
        raise ValueError('metadata other than texts')
    tensors = {}
    for name, entry in sorted(header.items(), key=lambda item: item[1]['data_offsets']):
        begin, end = entry['data_offsets']
        kind, shape = np.dtype(TYPES[entry['dtype']]), entry['shape']
        if begin != at or end > len(data) or end - begin != kind.itemsize * int(np.prod(shape, dtype=object)):
            raise ValueError(f'{name}: its bytes')
        array = np.frombuffer(data[begin:end], kind).reshape(shape)
        if entry['dtype'] == 'BF16':
            array = (array.astype('<u4') << 16).view('<f4')
        tensors[name], at = array, end
    if at != len(data):
        raise ValueError('bytes that belong to no tensor')
    return tensors, metadata


def write(path, tensors, metadata=None):
    """tensors: {name: array}. Larger elements come first, so that each tensor is aligned."""
    names = {np.dtype(code).str: name for name, code in TYPES.items() if name != 'BF16'}
    header, at = {}, 0
    if metadata:
        header['__metadata__'] = metadata
    arrays = {name: np.asarray(array, order='C') for name, array in tensors.items()}
    arrays = dict(sorted(arrays.items(), key=lambda item: -item[1].dtype.itemsize))
    for name, array in arrays.items():
        header[name] = {'dtype': names[array.dtype.newbyteorder('<').str], 'shape': list(array.shape),
                        'data_offsets': [at, at + array.nbytes]}
        at += array.nbytes
    text = json.dumps(header, separators=(',', ':'), ensure_ascii=False).encode()
    text += b' ' * (-len(text) % 8)
    with open(path, 'wb') as f:
        f.write(struct.pack('<Q', len(text)) + text)
        for array in arrays.values():
            f.write(array.astype(array.dtype.newbyteorder('<'), copy=False).tobytes())


if __name__ == '__main__':
    for file in sys.argv[1:]:
        found, texts = read(file)
        print(f'{file}: {len(found)} tensors, {sum(a.size for a in found.values())} elements')
        for key, value in texts.items():
            print(f'  {key} = {value}')
        for tensor_name, tensor in found.items():
            print(f'  {tensor_name}: {tensor.dtype} {tensor.shape}')
