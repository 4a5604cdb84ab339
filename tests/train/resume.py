#!/usr/bin/env python3
"""A training that was stopped, killed or ended goes on from its checkpoint bit for bit, and a checkpoint is always whole.

usage: resume.py [slow]    slow: more kills, and a large network"""
import csv
import json
import os
import random
import re
import signal
import sys
import time
import unittest

from trainer_case import TrainerCase, read_safetensors

SLOW = 'slow' in sys.argv[1:]
# Epochs of six steps, the last of which is not full: step 7 lies within the second.
SMALL = ['tiny_cnn', '-q', '--threads', '1', '-b', '8', '--train-samples', '42', '--test-samples', '16', '--no-drop-last']


class Resume(TrainerCase):
    def state(self, name):
        """All that a checkpoint holds, but for how long it took."""
        tensors, texts = read_safetensors(self.path(name))
        return tensors, {key: value for key, value in texts.items() if key != 'seconds'}

    def step(self, name):
        return int(self.state(name)[1]['step'])

    def kill_after(self, steps, name, args):
        """Until the checkpoint is the one of step `steps`: a kill may come late."""
        for _ in range(20):
            if os.path.exists(self.path(name)):
                os.remove(self.path(name))
            process, marks = self.start_marked(*args, '--checkpoint', name, '--checkpoint-every', str(steps))
            phases = (json.loads(line).get('name') for line in marks if '"phase"' in line)
            while next(phases, 'checkpoint') != 'checkpoint':
                pass
            next(phases, None)  # back to train: it is written
            process.kill()
            process.communicate(timeout=60)
            marks.close()
            if os.path.exists(self.path(name)) and self.step(name) == steps:
                return
        self.fail('every kill came too late')

    def continues(self, *args, steps=(7, 12)):
        first, last = steps
        args = [*args, '--steps', str(last)]
        self.train(*args, '--checkpoint', 'whole', '--workers', '0')
        self.kill_after(first, 'parts', args)
        self.train(*args, '--checkpoint', 'parts', '--checkpoint-every', str(first), '--resume', '--workers', '2')
        whole, parts = self.state('whole'), self.state('parts')
        self.assertEqual(whole[1], parts[1])
        self.assertEqual(whole[0].keys(), parts[0].keys())
        self.assertEqual([name for name in whole[0] if whole[0][name] != parts[0][name]], [])
        return whole

    def test_in_the_middle_of_an_epoch(self):
        tensors, texts = self.continues(*SMALL, '--threads', '2', '--augment', 'crop', '--image-size', '64')
        self.assertEqual((texts['step'], texts['epoch'], texts['batch']), ('12', '2', '0'))
        self.assertIn('batchlab/momentum_buffer/head.weight', tensors)
        # What would not be seen if the comparison saw nothing.
        self.train(*SMALL, '--augment', 'crop', '--image-size', '64', '--steps', '12', '--checkpoint', 'other',
                   '--seed', '2')
        self.assertNotEqual(self.state('other')[0], tensors)

    def test_at_the_end_of_an_epoch(self):
        self.continues(*SMALL, '--image-size', '64', '--log', 'log.csv', steps=(6, 12))

    def test_adam_with_a_schedule_on_a_folder(self):
        self.put_images(21)
        tensors, _ = self.continues('tiny_cnn', '-q', '-d', 'data', '-b', '8', '--no-drop-last', '--image-size', '64',
                                    '--optimizer', 'adamw', '--weight-decay', '0.01', '--schedule', 'cosine',
                                    '--warmup-steps', '3', '--label-smoothing', '0.1')
        self.assertIn('batchlab/exp_avg_sq/conv1.weight', tensors)

    def test_an_average_mixed_images_and_steps_of_several_batches(self):
        # Three steps an epoch, the last of a full batch and one that is not.
        words = ['--accumulate', '2', '--ema', '0.9', '--ema-ramp', '4', '--mixup', '0.4', '--cutmix', '1', '--clip-norm', '0.5',
                 '--schedule', 'step', '--lr-milestones', '1']
        tensors, texts = self.continues(*SMALL, *words, '--save', 'averaged', steps=(4, 8))
        self.assertEqual((texts['step'], texts['epoch'], texts['batch'], texts['ema_updates']), ('8', '2', '4', '8'))
        # What is saved are the averages, and they are not the last weights.
        averaged, _ = read_safetensors(self.path('averaged'))
        self.assertNotEqual(averaged['conv1.weight'], tensors['conv1.weight'])
        for name in averaged:
            self.assertEqual(averaged[name], tensors['batchlab/ema/' + name])
        self.train(*SMALL, *words, '--steps', '3', '--checkpoint', 'first', '--save-best', 'best')
        best, tensors = read_safetensors(self.path('best'))[0], self.state('first')[0]
        self.assertEqual(best['head.weight'], tensors['batchlab/ema/head.weight'])
        self.assertNotEqual(best['head.weight'], tensors['head.weight'])

    def test_dropout(self):
        self.continues('mobilenet_v3_small', '-q', '-b', '4', '--train-samples', '22', '--image-size', '32',
                       '--no-eval', '--no-drop-last', '--augment', 'flip')

    @unittest.skipUnless(SLOW, 'large')
    def test_drop_path(self):
        self.continues('convnext_tiny', '-q', '-b', '2', '--train-samples', '8', '--image-size', '32', '--no-eval',
                       '--optimizer', 'adamw')

    def test_a_signal_writes_a_last_checkpoint(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            args = [*SMALL, '--no-eval', '--checkpoint', f'stopped{number}']
            process, marks = self.start_marked(*args, '--epochs', '100000', '--checkpoint-every', '1000000000')
            for _ in range(12):
                next(line for line in marks if '"step"' in line)
            process.send_signal(number)
            while marks.read(4096):
                pass
            _, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 1, err)
            step = self.step(f'stopped{number}')
            self.assertGreaterEqual(step, 12)
            self.train(*args, '--steps', str(step + 9), '--resume')
            self.train(*SMALL, '--no-eval', '--checkpoint', f'straight{number}', '--steps', str(step + 9))
            self.assertEqual(self.state(f'stopped{number}'), self.state(f'straight{number}'))

    def test_killed_at_any_moment(self):
        rng, step, kills, wanted = random.Random(3), 0, 0, 200 if SLOW else 25
        while kills < wanted or (step < 10 and kills < 20 * wanted):  # where a disk is slow, few are written in time
            process, marks = self.start_marked(*SMALL, '--epochs', '100000', '--eval-every', '7', '--checkpoint', 'killed',
                                               '--checkpoint-every', '1', '--resume')
            kills += 1
            if kills % 5 != 0:  # else it is still setting up, most likely
                next(line for line in marks if '"ready"' in line)
            time.sleep(rng.uniform(0, 0.2))
            self.assertIsNone(process.poll(), process)
            process.kill()
            process.communicate(timeout=60)
            marks.close()
            if os.path.exists(self.path('killed')):
                now = self.step('killed')  # reads all of it
                self.assertGreaterEqual(now, step)
                step = now
        self.assertGreaterEqual(step, 10)
        print(f'{kills} kills by step {step}')
        self.train(*SMALL, '--eval-every', '7', '--steps', str(step + 5), '--checkpoint', 'killed', '--resume')
        self.train(*SMALL, '--eval-every', '7', '--steps', str(step + 5), '--checkpoint', 'straight')
        self.assertEqual(self.state('killed'), self.state('straight'))

    def test_the_log_goes_on(self):
        args = [*SMALL, '--log', 'log.csv']
        self.kill_after(8, 'run', [*args, '--steps', '9'])
        self.train(*args, '--epochs', '3', '--checkpoint', 'run', '--resume')
        with open(self.path('log.csv'), encoding='utf-8', newline='') as f:
            rows = list(csv.DictReader(f))
        self.assertEqual([(row['epoch'], row['step']) for row in rows], [('1', '6'), ('2', '12'), ('3', '18')])
        self.assertEqual(sorted(float(row['seconds']) for row in rows), [float(row['seconds']) for row in rows])
        self.train(*SMALL, '--epochs', '3', '--checkpoint', 'straight', '--log', 'straight.csv')
        with open(self.path('straight.csv'), encoding='utf-8', newline='') as f:
            straight = list(csv.DictReader(f))
        for key in ('train_loss', 'test_loss', 'test_top1'):
            self.assertEqual([row[key] for row in rows], [row[key] for row in straight])

    def test_a_run_that_is_over(self):
        args = [*SMALL, '--steps', '8', '--checkpoint', 'run', '--log', 'log.csv']
        self.train(*args, '--save', 'first')
        with open(self.path('log.csv'), 'rb') as f:
            log = f.read()
        before = os.stat(self.path('run')).st_mtime_ns
        out, err = self.train(*[a for a in args if a != '-q'], '--resume', '--save', 'second')
        self.assertEqual(out, '')
        self.assertIn('nothing is left to do', err)
        self.assertEqual(read_safetensors(self.path('first')), read_safetensors(self.path('second')))
        self.assertEqual(os.stat(self.path('run')).st_mtime_ns, before)
        with open(self.path('log.csv'), 'rb') as f:
            self.assertEqual(f.read(), log)

    def test_checkpoints_are_marked_and_left_alone(self):
        process, marks = self.start_marked(*SMALL, '--no-eval', '--epochs', '3', '--checkpoint', 'run')
        phases = [m['name'] for m in map(json.loads, marks) if m['type'] == 'phase']
        process.communicate(timeout=60)
        self.assertEqual(phases, ['checkpoint', 'train'] * 3)
        _, err = self.train(*SMALL, '--checkpoint', 'run', status=2)
        self.assertIn('already', err)
        self.assertIn('--resume', err)
        self.assertEqual(self.step('run'), 18)

    def test_the_start_of_a_job_script(self):
        _, err = self.train(*SMALL, '--steps', '3', '--checkpoint', 'run', '--resume')
        self.assertIn("no checkpoint 'run' yet", err)
        self.assertEqual(self.step('run'), 3)

    def test_other_options(self):
        self.train(*SMALL, '--steps', '3', '--checkpoint', 'run')
        whole = self.state('run')
        for words, told in ((['-b', '9'], '--batch-size was 8, is 9'), (['--seed', '7'], '--seed was 1, is 7'),
                            (['--train-samples', '43'], 'training images was 42, is 43'),
                            (['--classes', '5'], 'classes was 10, is 5'), (['--drop-last'], '--drop-last was no, is yes'),
                            (['--image-size', '40'], '--image-size was 32, is 40'),
                            (['--optimizer', 'adam'], '--optimizer was sgd, is adam'),
                            (['--accumulate', '2'], '--accumulate was 1, is 2'),
                            (['--ema', '0.9'], '--ema was not given, is 0.9')):
            out, err = self.train(*SMALL, *words, '--steps', '5', '--checkpoint', 'run', '--resume', status=2)
            self.assertEqual((out, self.state('run')), ('', whole))
            self.assertIn(told, err)
        _, err = self.train('resnet18', *SMALL[1:], '--image-size', '32', '--checkpoint', 'run', '--resume', status=2)
        self.assertIn('model was tiny_cnn, is resnet18', err)
        _, err = self.train(*SMALL, '--momentum', '0', '--steps', '5', '--checkpoint', 'run', '--resume', status=2)
        self.assertIn("checkpoint 'run'", err)
        _, err = self.train(*SMALL, '--optimizer', 'sgd', '--schedule', 'constant', '--workers', '0', '--eval-every', '3',
                            '--steps', '4', '--checkpoint', 'run', '--resume')
        self.assertEqual(err, '')
        _, err = self.train(*SMALL, '--lr', '0.01', '--augment', 'flip', '--mixup', '0.2', '--steps', '5',
                            '--checkpoint', 'run', '--resume')
        self.assertIn('warning: resumed otherwise than it began', err)
        self.assertIn('--lr was 0.05, is 0.01', err)
        self.assertIn('--augment was none, is flip', err)
        self.assertIn('--mixup was not given, is 0.2', err)

    def test_words_that_need_others(self):
        for words, told in ((['--resume'], '--checkpoint'), (['--checkpoint-every', '3'], '--checkpoint'),
                            (['--checkpoint', 'no/such/folder/run'], 'no/such/folder/run'),
                            (['--checkpoint', '.'], "'.'"), (['--save', 'none/w'], 'none/w'),
                            (['--save-best', '/dev/null'], '/dev/null'), (['--checkpoint', 'a', '--checkpoint-every', '0'], '0')):
            with self.subTest(words):
                process = self.start(*SMALL, *words)
                out, err = process.communicate(timeout=60)
                self.assertIn(process.returncode, (2, 3))
                self.assertEqual(out, '')
                self.assertIn(told, err)

    def test_files_that_are_no_checkpoints(self):
        self.train(*SMALL, '--steps', '2', '--save', 'weights', '--checkpoint', 'run')
        with open(self.path('run'), 'rb') as f:
            whole = f.read()
        for name, data in (('weights', None), ('text', b'some text, and more'), ('cut', whole[:-1]), ('empty', b'')):
            if data is not None:
                self.put('bad/' + name, data)
            path = name if data is None else 'bad/' + name
            _, err = self.train(*SMALL, '--steps', '4', '--checkpoint', path, '--resume', status=2)
            self.assertIn(f"'{path}'", err)
            self.assertIn('try: ', err)
        # Numbers that no training writes.
        for key, value in (('step', '99999'), ('epoch', '9223372036854775807'), ('batch', '7'), ('step', '-1'),
                           ('loss_sum', 'nan'), ('optimizer_steps', ''), ('batchlab_checkpoint', '2')):
            bad = re.sub(f'"{key}":"[^"]*"'.encode(), f'"{key}":"{value}"'.encode(), whole)
            length = int.from_bytes(whole[:8], 'little') + len(bad) - len(whole)
            self.put('bad/numbers', length.to_bytes(8, 'little') + bad[8:])
            _, err = self.train(*SMALL, '--steps', '4', '--checkpoint', 'bad/numbers', '--resume', status=2)
            self.assertIn("'bad/numbers'", err)


if __name__ == '__main__':
    unittest.main(verbosity=2, argv=sys.argv[:1])
