#!/usr/bin/env python3
"""docs/schema/experiment.json holds for what batchlab exports, and for nothing else; every number in it has a unit."""
import copy
import json
import os
import sys
import unittest

try:
    import jsonschema
except ImportError:
    print('skipped: wants python3-jsonschema')
    sys.exit(77)
from lab_case import LabCase, ROOT, main

with open(os.path.join(ROOT, 'docs', 'schema', 'experiment.json'), encoding='utf-8') as schema_file:
    SCHEMA = json.load(schema_file)

NOISY = '''
import os, sys, time
sys.path.insert(0, os.path.join(os.environ['BATCHLAB_SOURCE_ROOT'], 'python'))
from batchlab_marker import Marker
with Marker(program='noisy', batch=int(sys.argv[1])) as marker:
    marker.ready()
    for i in range(4):
        time.sleep(0.002)
        marker.step(int(sys.argv[1]), loss=1.0, wait_ns=1000)
'''


def numbers(schema, path=''):
    """Every place of the schema that allows a number: (path, schema)."""
    if isinstance(schema, dict):
        kinds = schema.get('type', [])
        if {'number', 'integer'} & set([kinds] if isinstance(kinds, str) else kinds):
            yield path, schema
        for key, value in schema.items():
            yield from numbers(value, f'{path}/{key}')
    elif isinstance(schema, list):
        for i, value in enumerate(schema):
            yield from numbers(value, f'{path}/{i}')


class Schema(LabCase):
    def setUp(self):
        super().setUp()
        jsonschema.Draft202012Validator.check_schema(SCHEMA)
        self.validator = jsonschema.Draft202012Validator(SCHEMA)

    def valid(self, text):
        data = json.loads(text)
        errors = [f'{"/".join(map(str, e.absolute_path))}: {e.message[:200]}' for e in self.validator.iter_errors(data)]
        self.assertEqual(errors, [])
        return data

    def test_what_is_exported_follows_it(self):
        noisy = self.write('noisy.py', NOISY)
        good = self.valid(self.lab('sweep', '-q', '--json', '-b', '15,16,17', '-n', '2', '-w', '1', '--', sys.executable, noisy,
                                   '{batch}')[0])
        self.assertNotIn('steps', good['trials'][0])
        self.lab('sweep', '-q', '-b', '1,2', '-n', '1', '--', 'sh', '-c', 'exit $(({batch} - 1))', status=1)
        self.start('compare', '-q', '-b', '15,16', '--budget', '1s', *self.train(5)).communicate(timeout=60)  # whatever it finds
        results = os.path.join(ROOT, 'docs', 'results')
        self.lab('import', os.path.join(results, 'study.csv'), '--steps', os.path.join(results, 'study-steps.csv'))
        for number in ('1', '2', '3', '4'):
            self.valid(self.lab('show', number, '--json')[0])
            data = self.valid(self.lab('export', number, '--format', 'json')[0])
            self.assertIn('steps', data['trials'][0])
        # It is closed: a field that it does not name is an error wherever it stands.
        for place in ((), ('experiment',), ('cases', 0), ('trials', 0), ('trials', 0, 'steps', 0), ('environment', 0)):
            bad = copy.deepcopy(data)
            inside = bad
            for key in place:
                inside = inside[key]
            inside['more'] = 1
            self.assertFalse(self.validator.is_valid(bad), place)
        with open(os.path.join(ROOT, 'tests', 'golden', 'report', 'experiment.json'), encoding='utf-8') as f:
            self.valid(f.read())

    def test_every_number_has_a_unit(self):
        found = list(numbers(SCHEMA))
        self.assertGreater(len(found), 60)
        without = [path for path, schema in found if 'unit' not in schema and '/pairs/' not in path]
        self.assertEqual(without, [])


if __name__ == '__main__':
    main()
