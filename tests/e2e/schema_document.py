#!/usr/bin/env python3
"""docs/database-schema.md names every table and column of the schema, its examples run, and the version is right."""
import os
import re
import sqlite3
import sys

root = os.environ['BATCHLAB_SOURCE_ROOT']


def read(path):
    with open(os.path.join(root, path), encoding='utf-8') as f:
        return f.read()


schema = ''.join(bytes(t, 'ascii').decode('unicode_escape')
                 for t in re.findall(r'"((?:[^"\\]|\\.)*)"', read('src/store/schema.c').split('schema[] =')[1]))
document = read('docs/database-schema.md')
version = re.search(r'SCHEMA_VERSION (\d+)', read('src/store/store.h')).group(1)
database = sqlite3.connect(':memory:')
database.executescript(schema)
problems = []
if f'`PRAGMA user_version` ({version})' not in document:
    problems.append(f'the document does not say that the version is {version}')

sections = {}  # a heading may name several tables
for heading, body in re.findall(r'^## (.*)\n((?:(?!## ).*\n)*)', document, re.M):
    for table in heading.split(', '):
        sections[table] = set(re.findall(r'`([^`]*)`', body)) | sections.get(table, set())
tables = [r[0] for r in database.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'")]
for table in tables:
    if table not in sections:
        problems.append(f'no section on table {table}')
        continue
    for column in database.execute(f'PRAGMA table_info({table})'):
        if column[1] not in sections[table]:
            problems.append(f'{table}.{column[1]} is not explained')
for table in sections:
    if table not in tables and table != 'Example':
        problems.append(f'there is no table {table}')
for statement in re.findall(r'```sql\n(.*?)```', document, re.S):
    database.execute(statement)
print('\n'.join(problems) or f'{len(tables)} tables')
sys.exit(1 if problems else 0)
