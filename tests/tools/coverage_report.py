#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Coverage by file, from gcov's counts: coverage_report.py BUILD OUT (see tests/coverage.sh).

A file's lines and branches are those of its code in whatever object they were compiled; a branch counts as taken when a
run took it. What nothing reached is listed by function; a stretch of lines counts as an error's when it returns, jumps or
says something about a failure.
"""
import glob
import json
import os
import re
import subprocess
import sys

FOLDERS = ('common', 'master', 'chunkserver', 'client', 'iobench')
ERROR = re.compile(r'return (-|rc|status|error|false|NULL|EXIT_|fail|refuse|problem|wrong|-?errno)|\bgoto\b|errno|-E[A-Z]{3,}'
                   r'|log_(error|warning)|\bfail|refus|damag|_exit\(|WIRE_(?!OK)[A-Z_]+\b.*;|\bperror|warn\(')


class Source:
    def __init__(self):
        self.counts, self.branches, self.owner, self.functions = {}, {}, {}, {}

    def take(self, data):
        for f in data['functions']:
            known = self.functions.setdefault(f['name'], [f['start_line'], 0])
            known[1] += f['execution_count']
        for line in data['lines']:
            number = line['line_number']
            self.counts[number] = self.counts.get(number, 0) + line['count']
            self.owner[number] = line.get('function_name', '')
            taken = [b['count'] for b in line['branches'] if not b.get('throw')]
            known = self.branches.setdefault(number, [0] * len(taken))
            if len(known) < len(taken):
                known += [0] * (len(taken) - len(known))
            for i, count in enumerate(taken):
                known[i] += count

    def stretches(self):
        """[first line, last line, function] of lines one after another that nothing reached, in functions that were called."""
        found, open_one = [], None
        for number in sorted(self.counts):
            function = self.owner[number]
            if self.counts[number] or not self.functions.get(function, [0, 1])[1]:
                open_one = None
            elif open_one and open_one[2] == function:
                open_one[1] = number
            else:
                open_one = [number, number, function]
                found.append(open_one)
        return found


def read_counts(build):
    sources = {}
    notes = [n for folder in FOLDERS for n in sorted(glob.glob(os.path.join(build, folder, '*.gcno')))]
    if not notes:
        sys.exit(f'coverage_report.py: no counts in {build}: make MODE=cov, and run something')
    for note in notes:
        output = subprocess.run(['gcov', '--json-format', '--stdout', '--branch-probabilities', note], check=True,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        for text in output.splitlines():
            for data in json.loads(text)['files']:
                if data['file'].split('/')[0] in FOLDERS:
                    sources.setdefault(data['file'], Source()).take(data)
    return sources


def percent(part, whole):
    return '    -' if not whole else f'{100.0 * part / whole:5.1f}'


def totals(sources):
    lines = [c for s in sources for c in s.counts.values()]
    taken = [b for s in sources for line in s.branches.values() for b in line]
    return (sum(1 for c in lines if c), len(lines), sum(1 for b in taken if b), len(taken))


def places(stretches):
    """"function 10, 12-14; other 20"."""
    groups = {}
    for first, last, function in stretches:
        groups.setdefault(function, []).append(str(first) if first == last else f'{first}-{last}')
    return '; '.join(f'{function} {", ".join(at)}' for function, at in groups.items())


def some_of(names, most):
    return ', '.join(names[:most]) + (f' and {len(names) - most} more' if len(names) > most else '')


def is_error(text, stretch):
    return any(ERROR.search(line) for line in text[stretch[0] - 1:stretch[1]])


def main():
    build, out = sys.argv[1:]
    sources = read_counts(build)
    wide, short = [], []
    for path in sorted(sources):
        source = sources[path]
        with open(path, encoding='utf-8') as f:
            text = f.read().splitlines()
        run, lines, taken, branches = totals([source])
        stretches = source.stretches()
        errors = [s for s in stretches if is_error(text, s)]
        others = [s for s in stretches if s not in errors]
        uncalled = [name for name, (_, count) in sorted(source.functions.items()) if not count]
        row = f'{path:40} {percent(run, lines)} {percent(taken, branches)}'
        wide.append(row)
        for label, what in (('errors', places(errors)), ('others', places(others)), ('never called', some_of(uncalled, 40))):
            if what:
                wide.append(f'    {label}: {what}')
        missing = '; '.join(x for x in (places(errors), 'never called: ' + some_of(uncalled, 6) if uncalled else '') if x)
        short.append(f'| {path} | {percent(run, lines).strip()} | {percent(taken, branches).strip()} | {missing} |')
    run, lines, taken, branches = totals(sources.values())
    last = f'{lines} lines, {percent(run, lines).strip()}% reached; {branches} branches, {percent(taken, branches).strip()}% taken'
    with open(os.path.join(out, 'summary.txt'), 'w', encoding='utf-8') as f:
        f.write(f'{"file":40} lines% branches%\n' + '\n'.join(wide) + f'\n{last}\n')
    with open(os.path.join(out, 'coverage.md'), 'w', encoding='utf-8') as f:
        f.write('| file | lines % | branches % | error branches that nothing reached (function and lines) |\n|---|---|---|---|\n')
        f.write('\n'.join(short) + f'\n\n{last}.\n')
    print(last)


main()
