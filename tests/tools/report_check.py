#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens a report in headless Chromium, as a reader would, and says what is wrong with it.

For each width (1280 and 390 pixels, light and dark): no console error and no request to anywhere, every chart has content, no
text overlaps another or is cut off, the page is no wider than the screen, the first screen answers the reader's questions.
Once: tables sort, details behind charts open, and every figure in a chart equals what results.json says, computed here anew.
Chromium is driven over a pipe, so there is no port. Screenshots of the first screens go to a directory, with SECTIONS=1 also of
every section.

usage: report_check.py REPORT.html SCREENSHOTS [results.json]
"""
import base64
import json
import math
import os
import subprocess
import sys
import tempfile

HOOK = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'report_check.js'), encoding='utf-8').read()


class Browser:
    """Chromium with its debugging protocol on two pipes; messages end with a zero byte."""

    def __init__(self, profile):
        to_browser, self.out = os.pipe()
        self.inp, from_browser = os.pipe()
        arguments = ['chromium', '--headless=new', '--no-sandbox', '--disable-gpu', '--remote-debugging-pipe', '--hide-scrollbars',
                     '--disable-dev-shm-usage', '--no-first-run', '--disable-background-networking', '--disable-sync', '--mute-audio',
                     '--disable-component-update', '--user-data-dir=' + profile, 'about:blank']

        def pipes():
            first, second = os.dup(to_browser), os.dup(from_browser)
            os.dup2(first, 3)
            os.dup2(second, 4)
        self.process = subprocess.Popen(arguments, preexec_fn=pipes, close_fds=False, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer, self.number, self.session, self.events = b'', 0, None, []

    def receive(self):
        while b'\0' not in self.buffer:
            data = os.read(self.inp, 1 << 20)
            if not data:
                sys.exit('report_check: chromium ended')
            self.buffer += data
        message, self.buffer = self.buffer.split(b'\0', 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        message = {'id': self.number, 'method': method, 'params': parameters}
        if self.session:
            message['sessionId'] = self.session
        os.write(self.out, json.dumps(message).encode() + b'\0')
        while True:
            answer = self.receive()
            if answer.get('id') == self.number:
                if 'error' in answer:
                    sys.exit(f'report_check: {method}: {answer["error"]}')
                return answer['result']
            self.events.append(answer)

    def wait_event(self, name):
        while not any(event.get('method') == name for event in self.events):
            self.events.append(self.receive())

    def attach(self):
        target = self.call('Target.createTarget', url='about:blank')['targetId']
        self.session = self.call('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
        for domain in ('Page', 'Runtime', 'Network', 'Log'):
            self.call(domain + '.enable')
        self.call('Page.addScriptToEvaluateOnNewDocument', source=HOOK)

    def evaluate(self, expression):
        answer = self.call('Runtime.evaluate', expression=expression, returnByValue=True, awaitPromise=True)
        if 'exceptionDetails' in answer:
            sys.exit(f'report_check: {expression[:60]}: {answer["exceptionDetails"]}')
        return answer['result'].get('value')

    def screenshot(self, path, clip):
        more = {'clip': clip, 'captureBeyondViewport': True} if clip else {}
        data = self.call('Page.captureScreenshot', format='png', **more)
        with open(path, 'wb') as out:
            out.write(base64.b64decode(data['data']))

    def end(self):
        self.session = None
        self.call('Browser.close')
        self.process.wait(20)


def console_findings(events):
    for event in events:
        what, parameters = event.get('method'), event.get('params', {})
        if what == 'Runtime.exceptionThrown':
            yield 'exception: ' + json.dumps(parameters['exceptionDetails'])[:400]
        elif what == 'Runtime.consoleAPICalled' and parameters['type'] in ('error', 'warning'):
            yield 'console: ' + json.dumps(parameters['args'])[:400]
        elif what == 'Log.entryAdded' and parameters['entry']['level'] in ('error', 'warning'):
            yield 'log: ' + parameters['entry']['text'][:400]
        elif what == 'Network.requestWillBeSent' and not parameters['request']['url'].startswith('file:'):
            yield 'request to ' + parameters['request']['url'][:200]


def settle(browser):
    browser.evaluate('new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50)))')


def shoot_sections(browser, shots, name):
    for part, x, y, width, height in browser.evaluate("""[...document.querySelectorAll('section')].map((section) => {
            const box = section.getBoundingClientRect();
            return [section.id, box.left + scrollX, box.top + scrollY, box.width, box.height];
        })"""):
        browser.screenshot(os.path.join(shots, f'{name}-{part}.png'), dict(x=x, y=y, width=width, height=min(height, 3000), scale=1))


def look(browser, url, width, height, schemes, shots):
    """Loads the page in the first colour scheme, then switches to the other ones, as a reader's system may."""
    browser.events, findings = [], []
    browser.call('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
    for scheme in schemes:
        browser.call('Emulation.setEmulatedMedia', media='', features=[{'name': 'prefers-color-scheme', 'value': scheme}])
        if scheme == schemes[0]:
            browser.call('Page.navigate', url=url)
            browser.wait_event('Page.loadEventFired')
        settle(browser)
        name = f'{width}-{scheme}'
        findings += [f'{name}: {finding}' for finding in browser.evaluate('checkPage()')]
        browser.screenshot(os.path.join(shots, name + '-first.png'), None)
        if os.environ.get('SECTIONS'):
            shoot_sections(browser, shots, name)
    return findings + [f'{width}: {finding}' for finding in console_findings(browser.events)]


def median(values):
    values = sorted(values)
    half = len(values) // 2
    return values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2


def walsh(logs):
    return median([(logs[i] + logs[j]) / 2 for i in range(len(logs)) for j in range(i, len(logs))])


class Truth:
    """What results.json says, computed here from the samples alone."""

    def __init__(self, path):
        with open(path, encoding='utf-8') as text:
            self.result = json.load(text)
        self.runs = {}
        for sample in self.result['samples']:
            if not sample.get('failed') and not sample.get('mark'):
                key = (sample['scenario'], sample['test'], sample['block_bytes'], sample['threads'])
                self.runs.setdefault(key, {})[sample['round']] = sample

    @staticmethod
    def rate(sample):
        return sample['bytes'] / sample['elapsed_ns'] * 1e3

    def median_rate(self, *key):
        return median([self.rate(s) for s in self.runs[key].values()])

    def ratio(self, arm, *cell):
        ours, theirs = self.runs[(arm,) + cell], self.runs[(0,) + cell]
        return 100 * math.exp(walsh([math.log(self.rate(ours[r]) / self.rate(theirs[r])) for r in ours if r in theirs]))

    def latency(self, place, *key):
        name = ('p50', 'p90', 'p99', 'p999', 'p9999', 'max')[place]
        return median([s['latency_ns'][name] for s in self.runs[key].values()]) / 1e3

    def cpu(self, arm, test):
        logs = [math.log(median([s['cpu_ns']['machine_busy'] / 1e9 / (s['bytes'] / 2**30) for s in runs.values()]))
                for key, runs in self.runs.items() if key[0] == arm and test in ('overall', key[1]) and
                # A run shorter than a tick of the machine's clock has no CPU time, and its cell none either.
                all(s['cpu_ns']['machine_busy'] for s in runs.values())]
        return math.exp(sum(logs) / len(logs))

    def spread(self, arm, block):
        spreads = []
        for key, runs in self.runs.items():
            if key[0] == arm and key[2] == block and len(runs) > 1:
                logs = [math.log(self.rate(s)) for s in runs.values()]
                spreads.append(100 * math.expm1(median([abs(x - median(logs)) for x in logs])))
        return sorted(spreads)[(len(spreads) - 1) // 2]


def expected(truth, kind, point):
    key = (point.get('test'), point.get('block'), point.get('threads'))
    arm = point['arm']
    if kind == 'percent' or (kind == 'noise' and 'test' in point):
        return truth.ratio(arm, *key)
    if kind == 'rate':
        return truth.median_rate(arm, *key)
    if kind == 'latency':
        return truth.latency(point['at'], arm, *key)
    if kind == 'noise':
        return truth.spread(arm, truth.result['block_bytes'][point['at']])
    if kind == 'cpu':
        return truth.cpu(arm, point['mean'])
    return None


def values_findings(browser, path):
    truth, counts = Truth(path), {}
    for point in browser.evaluate('chartPoints()'):
        kind = point['chart'].split('-')[0]
        counts[kind] = counts.get(kind, 0) + 1
        if kind == 'time':
            runs = truth.runs[(point['arm'], point['test'], point['block'], point['threads'])].values()
            if not any(math.isclose(point['rate'], truth.rate(s), rel_tol=1e-8) for s in runs):
                yield f'{point}: no such run'
            continue
        wanted = expected(truth, kind, point)
        tolerance = 1e-3 if kind == 'noise' else 1e-7
        if wanted is not None and not math.isclose(point['y'], wanted, rel_tol=tolerance, abs_tol=1e-9):
            yield f'{point["chart"]}: a chart says {point["y"]}, results.json {wanted}: {point}'
    for kind in ('percent', 'rate', 'latency', 'cpu', 'noise', 'time'):
        if not counts.get(kind):
            yield f'no figures in the charts "{kind}"'
    print('report_check: figures compared: ' + ', '.join(f'{kind} {count}' for kind, count in sorted(counts.items())))


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    report, shots = os.path.abspath(sys.argv[1]), sys.argv[2]
    os.makedirs(shots, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix='calf.chromium.') as profile:
        browser = Browser(profile)
        browser.attach()
        findings = look(browser, 'file://' + report, 1280, 800, ('light', 'dark'), shots)
        findings += look(browser, 'file://' + report, 390, 844, ('dark', 'light'), shots)
        findings += browser.evaluate('checkTables()')
        findings += browser.evaluate('checkPrint()')
        if len(sys.argv) == 4:
            findings += values_findings(browser, sys.argv[3])
        browser.end()
    for finding in findings[:40]:
        print('report_check: ' + finding)
    print(f'report_check: {len(findings)} findings')
    return 1 if findings else 0


sys.exit(main())
