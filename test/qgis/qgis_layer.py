# Provides what check.py and traps.py share: relations as layers of QGIS, SQL queries, and "ok" lines.
import os

from qgis.core import (QgsDataSourceUri, QgsProviderRegistry, QgsVectorLayer)

tests = failed = 0


def ok(good, what, *details):
    global tests, failed
    tests += 1
    failed += not good
    print('ok' if good else 'not ok', tests, '-', what)
    if not good:
        for line in details:
            print('#  ', line)


def same(got, wanted, what):
    ok(got == wanted, what, 'got    %r' % (got,), 'wanted %r' % (wanted,))


def uri(table, key='', wkb_type=None, srid=None, estimated=True):
    """table: a relation of the schema public, or a query in parentheses"""
    u = QgsDataSourceUri()
    u.setConnection(os.environ['PGHOST'], os.environ['PGPORT'], os.environ['PGDATABASE'], os.environ['PGUSER'], '')
    u.setDataSource('' if table.startswith('(') else 'public', table, 'geom', '', key)
    u.setUseEstimatedMetadata(estimated)
    if wkb_type is not None:
        u.setWkbType(wkb_type)
    if srid is not None:
        u.setSrid(str(srid))
    return u


def layer(table, *args, **options):
    return QgsVectorLayer(uri(table, *args, **options).uri(False), table, 'postgres')


def key_of(made):
    return [made.fields()[i].name() for i in made.primaryKeyAttributes()]


def connection():
    return QgsProviderRegistry.instance().providerMetadata('postgres').createConnection(uri('').uri(False), {})


def sql(text):
    return connection().executeSql(text)


def tables():
    return connection().tables('public')
