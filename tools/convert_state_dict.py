#!/usr/bin/env python3
"""Converts a PyTorch state dict (.pt, .pth) to a safetensors file that batchlab-train --weights reads, and back.

usage: convert_state_dict.py FROM TO     FROM or TO ends in .safetensors, the other one does not

Names, shapes and numbers stay as they are. A state dict that lies in a dictionary under "state_dict", "model_state_dict" or
"model" is found there; "module." before every name (of torch's data parallelism) is dropped. bfloat16 becomes float32, which
holds it exactly. Of a checkpoint of batchlab-train the weights are converted, its other state is not.
Exit status: 0 done, 2 usage or a file that is no state dict, 3 PyTorch or numpy is missing.
"""
import inspect
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
try:
    import torch

    import safetensors_py
except ImportError as e:
    print(f'convert_state_dict: error: {e}\n  try: apt-get install python3-torch python3-numpy', file=sys.stderr)
    sys.exit(3)


def fail(message, remedy):
    print(f'convert_state_dict: error: {message}\n  try: {remedy}', file=sys.stderr)
    sys.exit(2)


def load(path):
    if 'weights_only' in inspect.signature(torch.load).parameters:
        return torch.load(path, map_location='cpu', weights_only=True)
    print('convert_state_dict: warning: this PyTorch cannot load weights only: a file from a stranger may run code',
          file=sys.stderr)
    return torch.load(path, map_location='cpu')


def state_dict_of(loaded, path):
    for key in ('state_dict', 'model_state_dict', 'model'):
        if isinstance(loaded, dict) and isinstance(loaded.get(key), dict):
            loaded = loaded[key]
    if not isinstance(loaded, dict) or not loaded or not all(isinstance(v, torch.Tensor) for v in loaded.values()):
        fail(f'{path} holds no state dict', 'save one: torch.save(model.state_dict(), FILE)')
    if all(name.startswith('module.') for name in loaded):
        loaded = {name[len('module.'):]: value for name, value in loaded.items()}
    return loaded


def to_safetensors(source, target):
    arrays = {}
    for name, value in state_dict_of(load(source), source).items():
        value = value.detach().float() if value.dtype == torch.bfloat16 else value.detach()
        arrays[name] = value.contiguous().numpy()
    safetensors_py.write(target, arrays, {'format': 'pt'})
    return len(arrays)


def from_safetensors(source, target):
    tensors, _ = safetensors_py.read(source)
    tensors = {name: torch.from_numpy(array.copy()) for name, array in tensors.items()
               if not name.startswith('batchlab/')}
    torch.save(tensors, target)
    return len(tensors)


def main():
    if len(sys.argv) != 3 or len({name.endswith('.safetensors') for name in sys.argv[1:]}) != 2:
        fail('it wants two files, one of which ends in .safetensors', 'convert_state_dict.py in.pth out.safetensors')
    source, target = sys.argv[1:]
    try:
        convert = from_safetensors if source.endswith('.safetensors') else to_safetensors
        print(f'{convert(source, target)} tensors in {target}')
    except (OSError, ValueError, KeyError, RuntimeError) as e:
        fail(f'{source} cannot be converted: {e}', 'is it whole? fetch or write it again')
    except Exception as e:  # torch raises pickle's own errors for what is no tensor
        fail(f'{source} cannot be loaded: {type(e).__name__}: {e}', 'a file made by torch.save(model.state_dict(), FILE)')


if __name__ == '__main__':
    main()
