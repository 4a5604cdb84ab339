#!/usr/bin/env python3
"""batchlab doctor: on this machine, on copies of others, and with a stand-in for NVIDIA's library."""
import json
import os

from lab_case import LabCase, main

STUB = os.path.join(os.environ['BATCHLAB_BUILD_ROOT'], 'tests', 'telemetry', 'libstub_nvml_present.so')


class Doctor(LabCase):
    def put(self, path, text):
        full = os.path.join(self.folder, 'root', path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, 'w', encoding='utf-8') as f:
            f.write(text)

    def ask(self, *args):
        answer = json.loads(self.lab('doctor', '--json', *args)[0])
        return ({s['name']: s for s in answer['telemetry']}, {c['name']: c for c in answer['machine']})

    def test_here(self):
        sources, machine = self.ask()
        self.assertTrue(sources['process tree']['available'])
        self.assertTrue(sources['machine']['available'])
        for source in sources.values():
            self.assertEqual(source['available'], source['reason'] is None, source)
            self.assertEqual(bool(source['series']), source['available'], source)
        for check in machine.values():
            self.assertIn(check['state'], ('good', 'doubtful', 'unknown'))
            self.assertTrue(check['why'])
            self.assertEqual(check['state'] == 'unknown', check['value'] is None, check)
        text, err = self.lab('doctor')
        self.assertEqual(err, '')
        for name in [*sources, *machine]:
            self.assertIn(f'\n  {name} ', text)

    def test_a_machine_with_everything(self):
        self.put('proc/self/cgroup', '0::/user\n')
        self.put('proc/stat', 'cpu  1 2 3 4 5 6 7 8\n')
        self.put('proc/loadavg', '7.25 3 2 1/100 77\n')
        self.put('proc/cpuinfo', 'flags\t: fpu hypervisor sse\n')
        self.put('proc/meminfo', 'MemAvailable: 1024 kB\nSwapTotal: 2097152 kB\n')
        self.put('proc/sys/kernel/perf_event_paranoid', '1\n')
        self.put('sys/fs/cgroup/user/cgroup.controllers', 'cpu memory\n')
        self.put('sys/fs/cgroup/user/memory.current', '4096\n')
        cpu = 'sys/devices/system/cpu/'
        self.put(cpu + 'cpu0/cpufreq/scaling_governor', 'powersave\n')
        self.put(cpu + 'cpu0/cpufreq/scaling_cur_freq', '2000000\n')
        self.put(cpu + 'intel_pstate/no_turbo', '1\n')
        self.put(cpu + 'smt/active', '1\n')
        self.put('sys/kernel/mm/transparent_hugepage/enabled', 'always [madvise] never\n')
        self.put('sys/class/powercap/intel-rapl:0/name', 'package-0\n')
        self.put('sys/class/powercap/intel-rapl:0/energy_uj', '5\n')
        self.put('sys/class/powercap/intel-rapl:0/max_energy_range_uj', '65532610987\n')
        self.env['BATCHLAB_NVML'] = STUB
        self.env['CUDA_VISIBLE_DEVICES'] = '0'
        sources, machine = self.ask('--root', os.path.join(self.folder, 'root'))
        for name in ['machine', 'cgroup', 'processors', 'RAPL', 'NVML']:
            self.assertTrue(sources[name]['available'], sources[name])
        for name in ['pressure', 'amdgpu']:
            self.assertFalse(sources[name]['available'])
            self.assertTrue(sources[name]['reason'])
        self.assertIn('1 of 2 devices', sources['NVML']['found'])
        values = {s['metric']: s['value'] for s in sources['NVML']['series']}
        self.assertEqual((values['busy'], values['power'], values['temperature']), (0.5, 120, 60))
        expected = {'governor': ('doubtful', 'powersave'), 'turbo': ('good', 'off'),
                    'hardware threads': ('doubtful', 'several a core'), 'virtual machine': ('doubtful', 'yes'),
                    'huge pages': ('good', 'madvise'), 'swap': ('doubtful', '2.0 GiB'),
                    'control groups': ('good', 'delegated')}
        for name, state_and_value in expected.items():
            self.assertEqual((machine[name]['state'], machine[name]['value']), state_and_value)
        self.assertEqual(machine['load']['state'], 'doubtful')
        for name in ['governor', 'hardware threads', 'load', 'swap']:
            self.assertTrue(machine[name]['remedy'])

    def test_nothing_is_a_reason_too(self):
        os.mkdir(os.path.join(self.folder, 'root'))
        self.env['BATCHLAB_NVML'] = '/no/such/library.so'
        sources, machine = self.ask('--root', os.path.join(self.folder, 'root'))
        for source in sources.values():
            self.assertFalse(source['available'], source)
            self.assertTrue(source['reason'])
        self.assertEqual(machine['governor']['state'], 'unknown')

    def test_wrong_words(self):
        self.assertIn('no folder', self.lab('doctor', '--root', '/no/such/root', status=3)[1])
        self.assertIn("'now'", self.lab('doctor', 'now', status=2)[1])


if __name__ == '__main__':
    main()
