#!/usr/bin/env python3
"""The page of batchlab report in a real browser: it draws without a complaint, says the right number under the pointer, obeys its
buttons and keys, fits a phone, and takes no text for anything but text."""
import array
import os
import shutil
import sqlite3
import sys
import tempfile

try:
    from selenium import webdriver
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.chrome.service import Service
except ImportError:
    print('skipped: wants python3-selenium')
    sys.exit(77)
from lab_case import LabCase, main
from tune import QUADRATIC

if not shutil.which('chromium') or not shutil.which('chromedriver'):
    print('skipped: wants chromium and chromedriver')
    sys.exit(77)

HOSTILE = '</script><script>window.owned=1</script><img src=x onerror=owned=1><!--\u2028"\\\'&amp;'
FIGURES = ['throughput', 'step_time', 'residuals', 'memory', 'differences', 'timeline', 'steps']
ALL = ['throughput', 'step_time', 'residuals', 'memory', 'utilisation', 'energy', 'temperature', 'noise_scale', 'steps_to_target',
       'time_to_target', 'differences', 'timeline', 'steps', 'trial_cpu', 'trial_memory', 'trial_busy', 'trial_clock',
       'trial_temperature', 'trial_power']
STUB = os.path.join(os.environ['BATCHLAB_BUILD_ROOT'], 'tests', 'telemetry', 'libstub_nvml_present.so')
# Where a plot's point lies on the screen: [x, y, its note].
POINT = '''const p = document.getElementById(arguments[0]).plot, k = arguments[1], q = p.all_points()[k], u = p.u;
u.over.scrollIntoView({block: 'center'});
const r = u.over.getBoundingClientRect();
return [r.left + u.valToPos(q.x, 'x'), r.top + u.valToPos(q.y, 'y'), typeof q.s.notes === 'function' ? q.s.notes(q.i) :
        q.s.notes[q.i]];'''


def make_browser(folder):
    options = webdriver.ChromeOptions()
    for word in ('headless=new', 'no-sandbox', 'disable-gpu', 'disable-dev-shm-usage', f'user-data-dir={folder}'):
        options.add_argument('--' + word)
    options.set_capability('goog:loggingPrefs', {'browser': 'ALL'})
    return webdriver.Chrome(service=Service(shutil.which('chromedriver')), options=options)


class Browser(LabCase):
    @classmethod
    def setUpClass(cls):
        cls.profile = tempfile.mkdtemp()
        cls.swept = {}
        cls.driver = make_browser(cls.profile)

    @classmethod
    def tearDownClass(cls):
        cls.driver.quit()
        shutil.rmtree(cls.profile, ignore_errors=True)

    def setUp(self):
        super().setUp()
        self.screen(1200, 900)
        self.driver.execute_cdp_cmd('Emulation.setEmulatedMedia',
                                    {'media': '', 'features': [{'name': 'prefers-color-scheme', 'value': 'light'}]})
        self.driver.execute_cdp_cmd('Emulation.setScriptExecutionDisabled', {'value': False})

    def screen(self, width, height):
        self.driver.execute_cdp_cmd('Emulation.setDeviceMetricsOverride',
                                    {'width': width, 'height': height, 'deviceScaleFactor': 1, 'mobile': False})

    def js(self, script, *args):
        return self.driver.execute_script(script, *args)

    def sweep(self, *options, batches='15,16,17', words=(), telemetry='off'):
        what = (options, batches, words, telemetry)
        if what in self.swept and not os.path.exists(self.db):
            shutil.copy(self.swept[what], self.db)
            return
        self.lab('sweep', '-q', '-b', batches, '-n', '6', '-w', '1', '--telemetry', telemetry, *options,
                 *self.train(5, *words))  # so few that no trial is ever unsteady
        if self.query('SELECT count(*) FROM experiment') == [(1,)]:  # for the next test that wants the same
            self.swept[what] = os.path.join(self.profile, f'{len(self.swept)}.db')
            self.query(f"VACUUM INTO '{self.swept[what]}'")

    def open(self, *ids, figures=FIGURES):
        path = os.path.join(self.folder, 'page.html')
        self.lab('report', *ids, '-o', path)
        with open(path, encoding='utf-8') as f:
            if '<script>' not in f.read():
                self.driver.quit()
                print('skipped: the build had no uPlot (npm ci in web/)')
                sys.stdout.flush()
                os._exit(77)
        self.driver.get('file://' + path)
        self.js('try { sessionStorage.clear(); } catch (e) {}')
        self.driver.refresh()
        if figures:
            self.assertEqual(self.js('return [...document.querySelectorAll("figure")].map(f => f.id)'), figures)
        self.quiet()

    def quiet(self):
        self.assertEqual([m['message'] for m in self.driver.get_log('browser')], [])
        self.assertEqual(self.js('return performance.getEntriesByType("resource").length'), 0)

    def point_at(self, figure, k):
        """Moves the pointer onto a point; returns what the page says, and the point's note."""
        x, y, note = self.js(POINT, figure, k)
        chain = ActionChains(self.driver, duration=0)
        chain.w3c_actions.pointer_action.move_to_location(round(x), round(y))
        chain.perform()
        return self.js('const t = document.getElementById(arguments[0]).plot.tip; return t.hidden ? "" : t.textContent',
                       figure), note

    def press(self, figure, *keys):
        area = self.driver.find_element(By.CSS_SELECTOR, f'#{figure} .area')
        area.send_keys(*keys)

    def scale(self, figure, axis):
        return self.js('const s = document.getElementById(arguments[0]).plot.u.scales[arguments[1]];'
                       'return [s.min, s.max, s.distr]', figure, axis)

    def shown(self, selector):
        return self.js('return [...document.querySelectorAll(arguments[0])].map(e => e.offsetParent !== null ||'
                       ' e.getClientRects().length > 0)', selector)

    def test_the_pointer_is_told_the_right_number(self):
        self.sweep()
        self.open()
        self.assertEqual(self.shown('figure canvas'), [True] * len(FIGURES))
        self.assertEqual(set(self.shown('figure .static')), {False})
        for k, case in enumerate(self.export()['cases']):
            told, note = self.point_at('throughput', k)
            rate = case['samples_per_s']
            self.assertEqual(told, note)
            label, numbers = told.split(': ')
            self.assertEqual(label, f'batch={case["batch"]}')
            estimate, low, high = (float(w.strip('[],')) for w in numbers.replace('samples/s', '').split())
            for got, wanted in ((estimate, rate['estimate']), (low, rate['low']), (high, rate['high'])):
                self.assertAlmostEqual(got, wanted, delta=wanted / 500)
        for figure in FIGURES:  # each first point, told as it is noted
            told, note = self.point_at(figure, 0)
            self.assertTrue(note and told.endswith(note), (figure, told, note))
        step = self.export()['trials'][0]['steps'][2]['time_ns'] / 1e6
        self.js('document.querySelector("#steps select").value = 0;'
                'document.querySelector("#steps select").dispatchEvent(new Event("change"))')
        self.assertAlmostEqual(float(self.point_at('steps', 2)[0].split(': ')[1].split()[0]), step, delta=step / 500)
        self.assertIn('not counted', self.point_at('steps', 0)[0])
        self.assertNotIn('not counted', self.point_at('steps', 3)[0])
        self.quiet()

    def test_buttons_and_keys(self):
        self.sweep(batches='4,16,64')
        self.open()
        button = self.driver.find_element(By.CSS_SELECTOR, '#throughput button[data-axis=x]')
        self.assertEqual(self.scale('throughput', 'x')[2], 3)  # sixteenfold: logarithmic by itself
        button.click()
        self.assertEqual((self.scale('throughput', 'x')[2], button.get_attribute('aria-pressed')), (1, 'false'))
        self.driver.find_element(By.CSS_SELECTOR, '#throughput button[data-axis=y]').click()
        self.assertEqual(self.scale('throughput', 'y')[2], 3)
        self.driver.refresh()  # as a live page does
        self.assertEqual(self.scale('throughput', 'x')[2], 1)
        # Keys: from point to point, nearer, all again.
        low, high, _ = self.scale('throughput', 'x')
        self.press('throughput', Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
        self.assertTrue(self.js('return document.querySelector("#throughput .tip").textContent').startswith('batch=16: '))
        self.press('throughput', '+')
        nearer = self.scale('throughput', 'x')
        self.assertTrue(low < nearer[0] < 16 < nearer[1] < high, (low, nearer, high))
        self.press('throughput', '0')
        self.assertEqual(self.scale('throughput', 'x')[:2], [low, high])
        # A dragged rectangle is zoomed into; a double click ends it.
        over = self.driver.find_element(By.CSS_SELECTOR, '#throughput .u-over')
        self.js('arguments[0].scrollIntoView({block: "center"})', over)
        ActionChains(self.driver).move_to_element(over).click_and_hold().move_by_offset(120, 70).release().perform()
        zoomed = self.scale('throughput', 'x')
        self.assertLess(zoomed[1] - zoomed[0], (high - low) / 2)
        ActionChains(self.driver).double_click(over).perform()
        self.assertEqual(self.scale('throughput', 'x')[:2], [low, high])
        # Another trial's steps.
        select = self.driver.find_element(By.CSS_SELECTOR, '#steps select')
        before = select.get_attribute('selectedIndex')
        self.driver.find_element(By.CSS_SELECTOR, '#steps button[title="the next trial"]').click()
        self.assertEqual(int(select.get_attribute('selectedIndex')), int(before) + 1)
        self.quiet()

    def test_light_dark_print_and_without_script(self):
        self.sweep()
        self.open()
        back = 'return getComputedStyle(document.body).backgroundColor'
        self.assertEqual(self.js(back), 'rgb(255, 255, 255)')
        self.driver.find_element(By.ID, 'theme').click()
        self.assertEqual(self.js(back), 'rgb(22, 22, 22)')
        self.driver.find_element(By.ID, 'theme').click()
        self.assertEqual(self.js(back), 'rgb(255, 255, 255)')
        self.js('sessionStorage.clear()')
        dark = {'media': '', 'features': [{'name': 'prefers-color-scheme', 'value': 'dark'}]}
        self.driver.execute_cdp_cmd('Emulation.setEmulatedMedia', dark)
        self.driver.refresh()
        self.assertEqual(self.js(back), 'rgb(22, 22, 22)')
        self.driver.execute_cdp_cmd('Emulation.setEmulatedMedia', {**dark, 'media': 'print'})
        self.assertEqual(self.js(back), 'rgb(255, 255, 255)')
        self.assertEqual((set(self.shown('figure .static')), set(self.shown('figure .live'))), ({True}, {False}))
        self.driver.execute_cdp_cmd('Emulation.setEmulatedMedia', {'media': '', 'features': []})
        self.driver.execute_cdp_cmd('Emulation.setScriptExecutionDisabled', {'value': True})
        self.driver.refresh()
        self.assertEqual(len(self.driver.find_elements(By.CSS_SELECTOR, 'figure .live')), 0)
        self.assertTrue(all(e.is_displayed() for e in self.driver.find_elements(By.CSS_SELECTOR, 'figure svg')))

    def test_a_phone_need_not_scroll_sideways(self):
        self.sweep('--param', 'a_rather_long_factor=0.000000001,0.000000002', batches='15,16',
                   words=('{a_rather_long_factor}',))
        for disabled in (False, True):
            self.screen(360, 740)
            self.open(figures=[f for f in FIGURES if f != 'residuals'])
            self.driver.execute_cdp_cmd('Emulation.setScriptExecutionDisabled', {'value': disabled})
            self.driver.refresh()
            self.assertLessEqual(self.js('return document.documentElement.scrollWidth'), 360)
            for e in self.driver.find_elements(By.CSS_SELECTOR, 'figure .static svg' if disabled else 'figure canvas'):
                self.assertTrue(e.is_displayed() and e.rect['x'] >= 0 and e.rect['x'] + e.rect['width'] <= 360, e.rect)
            self.driver.execute_cdp_cmd('Emulation.setScriptExecutionDisabled', {'value': False})
        self.driver.refresh()
        self.screen(900, 740)  # turned round
        self.js('return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))')
        self.assertGreater(self.js('return document.querySelector("figure canvas").clientWidth'), 600)

    def measure_all(self):
        """A sweep of which everything is known: telemetry, with a stand-in for NVIDIA's library, noise, a target."""
        self.env.update(BATCHLAB_NVML=STUB)
        trainer = self.write('quadratic.py', QUADRATIC)
        self.lab('sweep', '-q', '-b', '16,64,256', '-p', 'lr=1,0.5', '-n', '2', '--until', 'loss=0.12', '--telemetry', '100Hz',
                 '--', sys.executable, trainer, '{batch}', '{lr}', '150', 'slowly', 'noise')
        # What the machine gives or not is written in, so that it is the same everywhere.
        looks = self.query('SELECT trial_id, looks_ns FROM telemetry')
        with sqlite3.connect(self.db) as db:
            db.execute('UPDATE step SET time_ns = 3000000')  # steady, however busy the machine is
            db.execute("DELETE FROM telemetry_series WHERE source IN ('RAPL', 'processors')")
            for trial, times in looks:
                times = array.array('q', times)
                for position, (source, metric, unit, counter, value) in enumerate((
                        ('RAPL', 'energy', 'J', 1, lambda s: 25 * s), ('processors', 'frequency', 'Hz', 0, lambda s: 3e9)), 900):
                    values = array.array('d', [value((t - times[0]) / 1e9) for t in times])
                    db.execute('INSERT INTO telemetry_series (trial_id, position, source, metric, unit, scope, counter, samples) '
                               'VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
                               (trial, position, source, metric, unit, HOSTILE, counter, values.tobytes()))

    def test_what_the_machine_did(self):
        self.measure_all()
        self.open(figures=ALL)
        e = self.export()
        for figure in ('utilisation', 'energy', 'noise_scale', 'steps_to_target', 'time_to_target', 'temperature'):
            told, note = self.point_at(figure, 0)
            notes = self.js('return document.getElementById(arguments[0]).plot.all_points().map(p => p.s.notes[p.i])', figure)
            self.assertTrue(note and any(told.endswith(n) for n in notes), (figure, told))  # several lie upon one another
        case = [c for c in e['cases'] if c['factors'] == {'batch': '16', 'lr': '1'}][0]
        told = self.js('return document.getElementById("energy").plot.all_points().map(p => p.s.notes[p.i])')
        told = [t for t in told if t.startswith('batch=16 lr=1: ')][0]
        self.assertAlmostEqual(float(told.split(': ')[1].split()[0]), case['telemetry']['joules_per_sample'],
                               delta=0.5 * case['telemetry']['joules_per_sample'])  # one is a mean, the other a middle
        mine = ('return document.getElementById(arguments[0]).plot.all_points().findIndex(p => p.s.name.includes("script") &&'
                ' p.x > 0)')
        told = self.point_at('trial_power', self.js(mine, 'trial_power'))[0]
        self.assertAlmostEqual(float(told.split(' s: ')[1].split()[0]), 25, delta=0.1)
        self.assertIn('</script><script>', told)  # a scope's name
        self.assertAlmostEqual(float(self.point_at('trial_clock', self.js(mine, 'trial_clock'))[0].split(' s: ')[1].split()[0]), 3)
        told = self.point_at('steps_to_target', 0)[0]
        number = int(told.split('trial ')[1].split(',')[0])
        reached = [t for t in e['trials'] if t['factors']['batch'] == '16']
        self.assertIn(e['trials'][number - 1], reached)
        self.assertEqual(int(float(told.split(': ')[-1].split()[0])), e['trials'][number - 1]['n_steps'])  # it ended there
        # All panels follow one choice, and say which trial they show.
        for figure in [f for f in ALL if f.startswith('trial_')]:
            self.assertEqual(self.js('return document.querySelector(`#${arguments[0]} select`).value', figure), '0')
        self.driver.find_element(By.CSS_SELECTOR, '#trial_memory button[title="the next trial"]').click()
        chosen = self.js('return document.querySelector("#trial_memory select").selectedOptions[0].textContent')
        for figure in [f for f in ALL if f.startswith('trial_')]:
            self.assertEqual(self.js('return document.querySelector(`#${arguments[0]} select`).selectedOptions[0].textContent',
                                     figure), chosen)
            self.assertIn(chosen.split(',')[0] + ',', self.js('return document.getElementById(arguments[0]).plot.chart.x', figure))
        # Switches: a logarithm, a series away and back.
        button = self.driver.find_element(By.CSS_SELECTOR, '#steps_to_target button[data-axis=y]')
        button.click()
        self.assertEqual(self.scale('steps_to_target', 'y')[2], 3)
        points = 'return document.getElementById("utilisation").plot.all_points().length'
        before = self.js(points)
        name = self.driver.find_elements(By.CSS_SELECTOR, '#utilisation .legend button')[0]
        name.click()
        self.assertLess(self.js(points), before)
        name.click()
        self.assertEqual(self.js(points), before)
        self.assertEqual(self.js('return [typeof owned, document.images.length, document.scripts.length]'), ['undefined', 0, 2])
        self.screen(360, 740)
        self.driver.refresh()
        self.assertLessEqual(self.js('return document.documentElement.scrollWidth'), 360)
        self.quiet()

    def test_texts_stay_texts(self):
        trainer = self.write('hostile.py', f'print({HOSTILE!r})\nraise SystemExit({HOSTILE!r})\n')
        self.sweep('--name', HOSTILE, '--param', 'x=' + HOSTILE.replace(',', '\\,') + ',plain', words=('{x}',))
        self.lab('sweep', '-q', '-b', '1,2', '-n', '2', '--name', HOSTILE, '--telemetry', 'off', '--', 'python3', trainer, '{batch}',
                 status=1)
        self.open('1')
        self.assertIn('owned', self.point_at('throughput', 0)[0])
        self.assertIn('</script><script>', self.js('return document.querySelector("#throughput .legend").textContent'))
        self.open('1', '2', figures=['throughput', 'step_time', 'residuals', 'memory'])
        self.open('2', figures=['timeline'])
        self.assertIn('crashed', self.point_at('timeline', 0)[0])
        for number in ('1', '2'):
            self.lab('report', number, '-o', os.path.join(self.folder, 'page.html'))
            self.driver.refresh()
            self.assertEqual(self.js('return [typeof owned, document.images.length, document.scripts.length]'),
                             ['undefined', 0, 2])
            self.assertIn('window.owned=1', self.driver.title)
        self.quiet()

    def test_experiments_overlay(self):
        self.sweep('--name', 'one')
        self.sweep('--name', 'two')
        self.open('1', '2', figures=['throughput', 'step_time', 'residuals', 'memory'])
        names = self.driver.find_elements(By.CSS_SELECTOR, '#throughput .legend button')
        self.assertEqual([b.text for b in names], ['1 one', '2 two'])
        self.assertEqual(self.js('return document.getElementById("throughput").plot.all_points().length'), 6)
        names[0].click()
        self.assertEqual(names[0].get_attribute('aria-pressed'), 'false')
        self.assertEqual(self.js('return document.getElementById("throughput").plot.all_points().length'), 3)
        self.assertTrue(self.point_at('throughput', 0)[0].startswith('2 two: batch='))
        self.quiet()

    def test_two_thousand_trials(self):
        self.sweep(batches='15,16', telemetry='100Hz')
        self.query("DELETE FROM telemetry_series WHERE metric IN ('temperature', 'frequency', 'energy')")  # not on all machines
        self.multiply(6, 1000)
        self.open(figures=None)
        self.assertLess(os.path.getsize(os.path.join(self.folder, 'page.html')), 1_500_000)
        self.assertEqual(self.js('return document.querySelector("#steps select").options.length'), 2000)
        self.assertGreater(self.js('return document.querySelector("#trial_memory select").options.length'), 50)
        self.assertIn('is kept here', self.js('return document.querySelector("#trial_cpu figcaption").textContent'))
        self.assertEqual(self.js('return document.getElementById("timeline").plot.all_points().length'), 2000)
        self.assertIn('trial 2000, block 1000', self.js(POINT, 'timeline', 1999)[2])
        self.assertGreater(self.js('return performance.getEntriesByName("batchlab")[0].duration'), 0)


if __name__ == '__main__':
    main()
