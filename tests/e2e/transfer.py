#!/usr/bin/env python3
"""batchlab import and merge: what went out comes in again as it was, what other programs wrote becomes the trials it tells of, and
what makes no sense is refused with a reason and leaves nothing behind."""
import csv
import json
import os
import sys
import unittest

from lab_case import LabCase, ROOT, main

METRICS = '''
import os, sys, time
sys.path.insert(0, os.path.join(os.environ['BATCHLAB_SOURCE_ROOT'], 'python'))
from batchlab_marker import Marker
batch = int(sys.argv[1])
with Marker(program='metrics.py', batch=batch) as marker:
    marker.ready()
    for i in range(8):
        time.sleep(0.0001 * batch * (1 + 2 * (batch == 16)))
        marker.step(batch, loss=1 / (i + 1))
    marker.metric('top1', 0.5)
    marker.noise(1, 11, 17, 2.5)
'''
RESULTS = os.path.join(ROOT, 'docs', 'results')


class Transfer(LabCase):
    def sweep(self, *options, db='batchlab.db', batches='15,16,17', blocks='3', words=()):
        self.lab('sweep', '-q', '-b', batches, '-n', blocks, '-w', '1', '--db', db, *options, *self.train(5, *words))

    def export_of(self, number='1', db='batchlab.db'):
        return json.loads(self.lab('export', number, '--format', 'json', '--db', db)[0])

    def same(self, a, b):
        """Two exports of one experiment, numbers apart that a database gives."""
        for export in (a, b):
            export['experiment'].pop('id')
            for part in export['trials'] + [export['confirmation'] or {}]:
                for name in ('id', 'experiment', 'of'):
                    part.pop(name, None)
        self.assertEqual(a, b)

    def test_json_comes_in_as_it_went_out(self):
        self.sweep('--param', "w=1,it's \"2\"", '--name', 'na\u00efve \u2028 name', words=['{w}'])
        self.lab('export', '1', '--format', 'json', '-o', 'one.json')
        self.lab('import', 'one.json', '--db', 'other.db')
        self.same(self.export_of(), self.export_of('1', 'other.db'))
        self.lab('sweep', '-q', '-b', '1,2', '-n', '1', '--db', 'crash.db', '--samples', '{batch}*2', '--', 'sh', '-c',
                 'exit $(({batch} - 1))', status=1)
        self.lab('export', '1', '--format', 'json', '--db', 'crash.db', '-o', 'crash.json')
        self.lab('import', 'crash.json', '--db', 'other.db')
        self.same(self.export_of('1', 'crash.db'), self.export_of('2', 'other.db'))
        self.start('compare', '-q', '-b', '15,16', '--budget', '1s', '--db', 'compare.db',
                   *self.train(5)).communicate(timeout=60)  # whatever it finds
        self.lab('export', '1', '--format', 'json', '--db', 'compare.db', '-o', 'compare.json')
        self.lab('import', 'compare.json', '--db', 'other.db')
        self.same(self.export_of('1', 'compare.db'), self.export_of('3', 'other.db'))

    def look_at_a_sweep(self):
        """Measures one with telemetry, metrics that were told at a moment, and noise."""
        stub = os.path.join(os.environ['BATCHLAB_BUILD_ROOT'], 'tests', 'telemetry', 'libstub_nvml_present.so')
        self.env.update(BATCHLAB_NVML=stub)
        trainer = self.write('metrics.py', METRICS)
        self.lab('sweep', '-q', '-b', '15,16', '-n', '6', '--telemetry', '100Hz', '--', sys.executable, trainer, '{batch}')
        sweep = self.export_of('1')
        self.assertEqual(set(sweep['trials'][0]['metric_times_ns']), {'top1'})
        self.assertTrue(any(s['counter'] and s['values'] for s in sweep['trials'][0]['telemetry']['series']))
        return sweep

    def confirm(self):
        """Exports of the sweep and of its confirmation."""
        self.lab('compare', '-q', '--confirm', '1', '--margin', '50%', '--telemetry', 'off')
        sweep, confirmation = self.export_of('1'), self.export_of('2')
        for e, link in ((sweep, confirmation['experiment']['comparison']['confirms']),
                        (confirmation, sweep['experiment']['confirmed_by'])):
            self.assertEqual(link, {k: e['experiment'][k] for k in ('created_ns', 'seed')})
        return sweep, confirmation

    def test_nothing_is_lost_on_the_way(self):
        """Out, in, out again: equal, telemetry and moments and the link of a confirmation too; likewise a merge; in either order."""
        self.look_at_a_sweep()
        sweep, confirmation = self.confirm()
        for number in ('1', '2'):
            self.lab('export', number, '--format', 'json', '-o', f'{number}.json')
        for db, order in (('forth.db', ('1', '2')), ('back.db', ('2', '1'))):
            for at, number in enumerate(order, 1):
                self.lab('import', f'{number}.json', '--db', db)
            for at, number in enumerate(order, 1):
                again = self.export_of(str(at), db)
                self.same(json.loads(json.dumps(sweep if number == '1' else confirmation)), again)
            at = str(order.index('1') + 1)
            self.assertIn('(Experiment', self.lab('show', at, '--db', db)[0])
        self.lab('merge', 'all.db', 'batchlab.db')
        self.same(json.loads(json.dumps(sweep)), self.export_of('1', 'all.db'))
        self.same(json.loads(json.dumps(confirmation)), self.export_of('2', 'all.db'))
        # A sweep alone has no link; its confirmation brings it.
        self.lab('import', '1.json', '--db', 'alone.db')
        self.assertIsNone(self.export_of('1', 'alone.db')['experiment']['confirmed_by'])
        self.lab('merge', 'alone.db', 'batchlab.db')
        self.assertEqual(self.export_of('1', 'alone.db')['experiment']['confirmed_by'], sweep['experiment']['confirmed_by'])

    def test_the_first_format_is_still_read(self):
        """Without what the second one added: no moments, no links; which series count up is known by their names."""
        sweep = self.look_at_a_sweep()
        old = json.loads(json.dumps(sweep))
        old['format_version'] = 1
        del old['experiment']['confirmed_by']
        for trial in old['trials']:
            del trial['metric_times_ns']
            for series in trial['telemetry']['series']:
                del series['counter']
        self.lab('import', self.write('old.json', json.dumps(old)), '--db', 'old.db')
        new = self.export_of('1', 'old.db')
        for trial in sweep['trials']:
            trial['metric_times_ns'] = {}
        self.same(sweep, new)

    def test_a_merge_adds_extends_and_repeats_nothing(self):
        self.sweep(db='a.db')
        self.sweep(db='b.db', batches='4,8')
        self.assertEqual(self.lab('merge', 'all.db', 'a.db', 'b.db')[0], '2 added, 0 extended, 0 there already\n')
        self.same(self.export_of('1', 'a.db'), self.export_of('1', 'all.db'))
        self.same(self.export_of('1', 'b.db'), self.export_of('2', 'all.db'))
        self.assertEqual(self.lab('merge', 'all.db', 'b.db')[0], '0 added, 0 extended, 1 there already\n')
        self.lab('sweep', '-q', '--resume', '1', '--blocks', '4', '--db', 'b.db')
        self.assertEqual(self.lab('merge', 'all.db', 'b.db')[0], '0 added, 1 extended, 0 there already\n')
        self.same(self.export_of('1', 'b.db'), self.export_of('2', 'all.db'))
        self.assertEqual(self.lab('merge', 'all.db', 'a.db', 'b.db')[0], '0 added, 0 extended, 2 there already\n')
        # Both go on apart: refused as a whole.
        self.lab('sweep', '-q', '--resume', '2', '--blocks', '5', '--db', 'all.db')
        self.lab('sweep', '-q', '--resume', '1', '--blocks', '5', '--db', 'b.db')
        before = self.export_of('2', 'all.db')
        self.assertIn('went on apart', self.lab('merge', 'all.db', 'b.db', status=2)[1])
        self.assertEqual(before, self.export_of('2', 'all.db'))
        self.assertIn('are one database', self.lab('merge', 'a.db', './a.db', status=2)[1])
        self.lab('merge', 'a.db', status=2)
        self.lab('merge', 'a.db', 'nowhere.db', status=3)

    def test_the_study_comes_in_from_its_csv(self):
        self.lab('import', os.path.join(RESULTS, 'study.csv'), '--steps', os.path.join(RESULTS, 'study-steps.csv'), '-w', '3')
        out = self.lab('export', '1')[0]
        with open(os.path.join(RESULTS, 'study.csv'), encoding='utf-8', newline='') as f:
            self.assertEqual(list(csv.reader(out.splitlines())), list(csv.reader(f)))
        out = self.lab('export', '1', '--steps')[0]
        with open(os.path.join(RESULTS, 'study-steps.csv'), encoding='utf-8', newline='') as f:
            self.assertEqual(list(csv.reader(out.splitlines())), list(csv.reader(f)))
        shown = self.lab('show', '1')[0]
        self.assertIn('    100      39.34  [34.95, 42.08]       2468  -2.25 %', shown)
        # The README's picture is made of it.
        self.lab('report', '1', '--picture', 'throughput', '-o', 'throughput.svg')
        with open(os.path.join(self.folder, 'throughput.svg'), 'rb') as f, open(os.path.join(RESULTS, 'study.svg'), 'rb') as g:
            self.assertEqual(f.read(), g.read())
        err = self.lab('import', os.path.join(RESULTS, 'study.csv'), status=2)[1]
        self.assertIn('--steps FILE', err)
        self.lab('import', os.path.join(RESULTS, 'silent.csv'))  # a program timed whole has no steps
        self.assertAlmostEqual(self.export_of('2')['trials'][0]['seconds_per_sample'], 0.1136835620234375)

    def test_hyperfine(self):
        def result(batch, times, **more):
            return {'command': f'./t {batch}', 'mean': 1, 'times': times, 'exit_codes': [0] * len(times),
                    'memory_usage_byte': [1 << 20] * len(times), 'parameters': {'bs': str(batch), **more}}
        results = [result(b, [b / 10 + i / 100 for i in range(6)]) for b in (30, 32, 34)]
        results[0]['exit_codes'][2] = 3
        results[1]['exit_codes'][4] = None
        path = self.write('h.json', json.dumps({'results': results}))
        self.lab('import', path, '--samples', '{batch}*10')
        e = self.export()
        self.assertEqual([f['name'] for f in e['experiment']['factors']], ['batch'])
        self.assertEqual(len(e['trials']), 18)
        self.assertEqual([t['outcome'] for t in e['trials']].count('crashed'), 2)
        self.assertAlmostEqual(e['trials'][0]['seconds_per_sample'], 3 / 300)
        self.assertEqual(e['trials'][0]['peak_memory_b'], 1 << 20)
        self.assertIn('not in shuffled blocks', e['environment'][0]['value'])
        self.assertIn('not in shuffled blocks', self.lab('show', '1')[0].replace('\n  ', ' '))
        self.assertIn('is not one that', self.lab('sweep', '--resume', '1', '--blocks', '9', status=2)[1])
        self.lab('report', '1')
        with open(os.path.join(self.folder, 'report.html'), encoding='utf-8') as f:
            self.assertIn('not in shuffled blocks', f.read())
        for bad, told in (([result(32, [1]), result(32, [2])], 'the same parameters'),
                          ([result('x', [1])], 'is no batch size'),
                          ([result(32, [])], 'has no times'),
                          ([dict(result(32, [1]), parameters={'size': '32'})], '--batch-name'),
                          ([result(32, [1], w='1'), result(64, [1])], 'lacks the parameter w'),
                          ([result(32, [-1])], 'is not above 0'), ([], 'no results')):
            err = self.lab('import', self.write('bad.json', json.dumps({'results': bad})), status=2)[1]
            self.assertIn(told, err)
        self.lab('import', self.write('s.json', json.dumps({'results': [dict(result(32, [1]), parameters={'size': '32'})]})),
                 '--batch-name', 'size')

    def test_logs(self):
        lightning = ('device/batches_per_sec,device/samples_per_sec,epoch,step,train_loss\n'
                     ',,0,49,2.5\n3.5,112.0,0,99,\n3.25,104.0,0,149,2.25\n4,128,0,199,\n')
        a, b = self.write('a.csv', lightning), self.write('b.csv', lightning)
        self.lab('import', f'32={a}', f'32={b}', f'64={a}')
        e = self.export()
        self.assertEqual([(t['factors']['batch'], t['block']) for t in e['trials']], [('32', 1), ('32', 2), ('64', 1)])
        steps = e['trials'][0]['steps']
        self.assertEqual([s['samples'] for s in steps], [50 * 32 + 49 * 32, 50 * 32, 50 * 32])
        self.assertEqual(steps[1]['time_ns'], round(1e9 * 50 * 32 / 104))
        self.assertEqual(steps[1]['loss'], 2.25)
        # An epoch a line, with a clock: Ultralytics' results.csv, padded as it is; and our own trainer's log.
        yolo = self.write('results.csv', '   epoch,   time,  train/box_loss\n  1,  10,  0.5\n  2,  18,  0.4\n 3, 26, 0.3\n')
        self.assertIn('--row-samples', self.lab('import', f'16={yolo}', status=2)[1])
        self.lab('import', f'16={yolo}', '--row-samples', '4000', '--name', 'yolo')
        e = self.export('2')
        self.assertEqual([s['time_ns'] for s in e['trials'][0]['steps']], [10 ** 10, 8 * 10 ** 9, 8 * 10 ** 9])
        self.assertAlmostEqual(e['cases'][0]['samples_per_s']['estimate'], 500)
        self.lab('import', '100=' + os.path.join(RESULTS, 'cifar10.csv'))
        e = self.export('3')
        self.assertEqual([s['samples'] for s in e['trials'][0]['steps']][:2], [39000, 39000])
        self.assertAlmostEqual(e['trials'][0]['steps'][0]['time_ns'] / 1e9, 39000 / 127.40, places=6)
        for text, told in (('a,b\n1,2\n', 'no column tells'), ('time\n', 'neither JSON nor CSV'),
                           ('samples/s,x\n1\n', 'log.csv:2: 1 fields under 2 names'),
                           ('samples/s,x\n"1,2\n', 'a quote does not end'), ('samples/s,x\nfast,2\n', 'is no number'),
                           ('samples/s,x\n0,2\n', 'no time above 0'), ('samples/s,x\n,2\n', 'no line tells a time'),
                           ('time,samples\n5,10\n4,20\n', 'no time above 0'),
                           ('samples/s,batch\n1,64\n', 'batch size 64, and 32 before')):
            self.assertIn(told, self.lab('import', '32=' + self.write('log.csv', text), status=2)[1])
        self.assertIn('32=', self.lab('import', a, status=2)[1])
        self.assertEqual(len(json.loads(self.lab('list', '--json')[0])), 3)

    def test_what_makes_no_sense_is_refused(self):
        self.sweep(blocks='1')
        good = self.export()

        def refused(change, told):
            bad = json.loads(json.dumps(good))
            change(bad)
            path = self.write('bad.json', json.dumps(bad))
            out, err = self.lab('import', path, '--db', 'bad.db', status=2)
            self.assertEqual(out, '')
            self.assertIn(told, err)
            self.assertNotIn('Traceback', err)

        def trial(**what):
            return lambda e: e['trials'][1].update(what)

        def experiment(**what):
            return lambda e: e['experiment'].update(what)
        refused(lambda e: e.update(format='other'), '"format"')
        def look(**what):
            return lambda e: e['trials'][1]['telemetry'].update(what)
        refused(look(looks_ns=[2, 1]), 'trial 2: "looks_ns"')
        refused(look(looks_ns=[1]), 'trial 2: "values" are not one a look')
        refused(look(pace_hz=None), 'trial 2: "pace_hz, cost_s" are missing')
        refused(lambda e: e['trials'][1]['telemetry']['series'][0].pop('counter'), 'trial 2: "counter" is missing')
        refused(trial(metric_times_ns={'m': 'noon'}, metrics={'m': 1}), 'trial 2: "m" is no whole number')
        refused(experiment(confirmed_by={'created_ns': 0, 'seed': 0}), '"created_ns"')
        refused(lambda e: e.update(format_version=3), '"format_version"')
        refused(experiment(factors=[]), 'factors')
        refused(experiment(factors=[{'name': 'b', 'values': ['1']}]), 'not batch')
        refused(experiment(factors=[{'name': 'batch', 'values': [str(i) for i in range(5000)]}]), 'no case, or more')
        refused(experiment(blocks=0), 'blocks')
        refused(experiment(margin=None), 'margin')
        refused(experiment(workload=7), '"workload" is no text')
        refused(trial(outcome='splendid'), 'trial 2: its outcome')
        refused(trial(step_source='dreams'), 'trial 2: its steps')
        refused(trial(block=9), 'trial 2: "block"')
        refused(trial(factors={'batch': '99'}), 'trial 2: "factors"')
        refused(trial(steps=[]), 'trial 2: "steps" are not all there')
        refused(trial(wall_s='long'), 'trial 2: "wall_s" is no number')
        refused(lambda e: e['trials'][1]['steps'][0].update(samples=0), 'trial 2: "samples"')
        refused(lambda e: e['trials'].append(e['trials'][0]), 'trial 4: its case and block')
        self.assertIn('bad.json:1:', self.lab('import', self.write('bad.json', '{"format": '), status=2)[1])
        self.assertIn('it is no text', self.lab('import', self.write('bad.json', '{\0}'), status=2)[1])
        self.lab('import', '/nowhere/x.json', status=3)
        self.lab('import', status=2)
        self.assertFalse(os.path.exists(os.path.join(self.folder, 'bad.db')))


if __name__ == '__main__':
    main()
