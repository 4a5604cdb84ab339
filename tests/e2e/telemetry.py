#!/usr/bin/env python3
"""Telemetry of a sweep: taken, stored, shown, exported, and switched off; with a stand-in for NVIDIA's library."""
import array
import csv
import io
import os

from lab_case import LabCase, main

STUB = os.path.join(os.environ['BATCHLAB_BUILD_ROOT'], 'tests', 'telemetry', 'libstub_nvml_present.so')


class Telemetry(LabCase):
    def test_a_sweep_that_looks(self):
        self.env.update(BATCHLAB_NVML=STUB)
        out, _ = self.lab('sweep', '-q', '-b', '8', '-n', '2', '--telemetry', '100Hz', *self.train(200))
        self.assertIn('Telemetry of the warm steps', out)
        self.assertIn('device busy', out)
        experiment = self.export()
        case = experiment['cases'][0]['telemetry']
        self.assertGreater(case['cpu_cores'], 0)
        self.assertEqual((case['device_busy'], case['hottest_c'], case['throttled']), (0.25, 60, 0.5))
        self.assertIsNone(case['joules_per_sample'])  # the window is too short for a device's power
        for trial in experiment['trials']:
            t = trial['telemetry']
            self.assertEqual(t['pace_hz'], 100)
            self.assertEqual(t['looks_ns'], sorted(t['looks_ns']))
            self.assertEqual(t['gate_s'], 0)
            self.assertIn('degrees', t['gate_note'])
            for series in t['series']:
                if series['values'] is None:
                    self.assertTrue(series['reason'], series)
                else:
                    self.assertEqual(len(series['values']), len(t['looks_ns']))
            memory = [s for s in t['series'] if s['source'] == 'process tree' and s['metric'] == 'memory'][0]
            self.assertGreater(max(v for v in memory['values'] if v is not None), 1 << 20)
            self.assertTrue([s for s in t['series'] if s['source'] == 'amdgpu' and s['metric'] is None])
        rows = list(csv.DictReader(io.StringIO(self.lab('export', '1', '--telemetry')[0])))
        temperatures = {float(r['value']) for r in rows if r['source'] == 'NVML' and r['metric'] == 'temperature'}
        self.assertEqual(temperatures, {60.0, 40.0})
        looks, samples = self.query("SELECT looks_ns, samples FROM telemetry JOIN telemetry_series USING (trial_id) "
                                    "WHERE metric = 'cpu_time' AND source = 'process tree'")[0]
        self.assertEqual(len(array.array('q', looks)), len(array.array('d', samples)))
        self.check_integrity()
        self.lab('delete', '1', '--yes')
        self.assertEqual(self.query('SELECT count(*) FROM telemetry_series'), [(0,)])

    def test_off_and_wrong_words(self):
        self.lab('sweep', '-q', '-b', '8', '-n', '1', '--telemetry', 'off', *self.train())
        self.assertIsNone(self.export()['trials'][0]['telemetry'])
        self.assertEqual(self.query("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'telemetry%'"), [(0,)])
        for words in (['--telemetry', '0'], ['--telemetry', 'often'], ['--telemetry', '99999Hz'], ['--max-temperature', '7'],
                      ['--telemetry', 'off', '--max-temperature', '60']):
            self.lab('sweep', '-q', '-b', '8', *words, *self.train(), status=2)

    def test_the_gate_lets_go_by_an_interrupt(self):
        """The stand-in stays at 60 degrees: the gate waits, says so, and Ctrl-C ends the wait with no trial lost."""
        self.env.update(BATCHLAB_NVML=STUB)
        process = self.start('sweep', '-b', '8', '-n', '1', '--max-temperature', '50', *self.train())
        for line in process.stderr:
            if 'waiting until 60 degrees have become 50' in line:
                process.send_signal(2)
                break
        else:
            self.fail('it did not wait')
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1)
        self.check_integrity()


if __name__ == '__main__':
    main()
